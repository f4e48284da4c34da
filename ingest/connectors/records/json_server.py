"""Requests to servers that answer JSON."""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlencode

from ingest.connectors.errors import ListingFailed
from ingest.connectors.records.requests import MAX_LISTING_BYTES, Answer, ServerRequests
from ingest.connectors.records.settings import ReaderSettings
from ingest.connectors.web.addresses import Address

#: Items of a page; the most that GitHub and GitLab return.
PAGE_ITEMS: Final = 100
# RFC 8288, as GitHub writes it.
_NEXT: Final = re.compile(r'<[^>]*>;[^,]*\brel="?next\b')


class JsonServer:
    """A server below one address, whose answers are JSON."""

    def __init__(
        self, address: Address, settings: ReaderSettings, headers: Callable[[], Mapping[str, str]]
    ) -> None:
        self.host = address.host
        self._base = address.key.rstrip("/")
        self._requests = ServerRequests(address, settings.while_waiting)
        self._headers = headers

    def get(
        self,
        path: str,
        query: Mapping[str, Any],
        *,
        limit_bytes: int = MAX_LISTING_BYTES,
        form: type[Any] = dict,
        accepted: Collection[int] = (200,),
    ) -> tuple[Any, Answer]:
        """Return the parsed response of a listing, a value of type `form`, and the response.

        Raises ListingFailed, also for a status that is not accepted, SourceAway.
        """
        answer = self._send("GET", self._key(path, query), limit_bytes)
        if answer.status not in accepted:
            self._requests.fail_listing(answer)
        return self._parse(answer, form), answer

    def post(self, path: str, form: Mapping[str, str]) -> tuple[Any, Answer]:
        """Return the parsed response to a form, and the response. Raises ListingFailed, SourceAway."""
        content = urlencode(form).encode()
        answer = self._send("POST", self._key(path, {}), MAX_LISTING_BYTES, content)
        if answer.status != 200:
            self._requests.fail_listing(answer)
        return self._parse(answer, dict), answer

    def fetch(self, path: str, query: Mapping[str, Any], *, limit_bytes: int) -> tuple[Any, Answer]:
        """Return the parsed response of a document, and the response.

        Raises FileNotFoundError, OSError, SourceAway.
        """
        answer = self._requests.fetch_answer(
            self._key(path, query), limit_bytes=limit_bytes, headers=self._headers
        )
        try:
            return json.loads(answer.body), answer
        except ValueError as error:
            raise OSError(f"{self.host} answers something that is no JSON.") from error

    @contextmanager
    def expected_form(self, error_type: type[Exception] = ListingFailed) -> Iterator[None]:
        """Map the errors of reading JSON that has another form than documented to `error_type`."""
        try:
            yield
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise error_type(f"{self.host} answers JSON of another form than documented.") from error

    def close(self) -> None:
        """Close the connections."""
        self._requests.close()

    def _key(self, path: str, query: Mapping[str, Any]) -> str:
        return f"{self._base}{path}" + (f"?{urlencode(query)}" if query else "")

    def _send(self, method: str, key: str, limit_bytes: int, content: bytes | None = None) -> Answer:
        form = {} if content is None else {"Content-Type": "application/x-www-form-urlencoded"}
        return self._requests.request(
            method,
            key,
            limit_bytes=limit_bytes,
            headers=lambda: {**self._headers(), **form},
            content=content,
        )

    def _parse(self, answer: Answer, form: type[Any]) -> Any:
        with self.expected_form():
            found = json.loads(answer.body)
            # An empty list ends a listing; an empty answer of another kind must not.
            if answer.status == 200 and not isinstance(found, form):
                raise TypeError(form)
        return found


def has_next_page(answer: Answer) -> bool:
    """Return whether a page of GitHub (`Link`) or GitLab (`X-Next-Page`) is followed by another."""
    return bool(answer.headers["x-next-page"] or _NEXT.search(answer.headers["link"]))
