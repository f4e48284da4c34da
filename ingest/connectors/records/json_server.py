"""Requests to servers that answer JSON."""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import accumulate
from typing import Any, Final
from urllib.parse import urlencode

from ingest.connectors.errors import ListingFailed
from ingest.connectors.records.requests import Answer, ReaderSettings, ServerRequests
from ingest.connectors.web.addresses import Address

MAX_DEPTH: Final = 100
#: texts, brackets and commas, each with a value of up to 200 bytes of memory
MAX_MARKS: Final = 1_000_000
# A text may lack its end, or each quotation mark in it would be tried as a start.
_TEXT: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1, ord(","): 0}
_LEAVES: Final = bytes(set(range(256)) - _STEPS.keys())


def parse_json(content: bytes) -> Any:
    """Return the value of a text in UTF-8. Raises ValueError, also for one that is over the limits."""
    # Quotation marks inside of texts are escaped.
    if content.count(b'"') - content.count(b'\\"') > 2 * MAX_MARKS:
        raise ValueError(f"it has more than {MAX_MARKS:,} texts")
    structure = _TEXT.sub(b"", content).translate(None, _LEAVES)
    if len(structure) > MAX_MARKS:
        raise ValueError(f"it has more than {MAX_MARKS:,} brackets and commas")
    if max(accumulate(map(_STEPS.__getitem__, structure)), default=0) > MAX_DEPTH:
        raise ValueError(f"it has more than {MAX_DEPTH} levels")
    return json.loads(content.decode("utf-8-sig", "surrogatepass"))


# RFC 8288, as GitHub writes it.
_NEXT: Final = re.compile(r'<[^>]{0,2000}>;[^,]{0,500}\brel="?next\b')


class JsonServer:
    """A server below one address, whose answers are JSON."""

    def __init__(
        self, address: Address, settings: ReaderSettings, headers: Callable[[], Mapping[str, str]]
    ) -> None:
        self.host = address.host
        self._base = address.key.rstrip("/")
        self._requests = ServerRequests(address, settings)
        self._headers = headers
        #: Issues of a page.
        self.page_items = settings.limits.page_items

    def get(
        self,
        path: str,
        query: Mapping[str, Any],
        *,
        limit_bytes: int | None = None,
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
        answer = self._send("POST", self._key(path, {}), None, content)
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
        with self._refused_json(OSError):
            return parse_json(answer.body), answer

    @contextmanager
    def expected_form(self, error_type: type[Exception] = ListingFailed) -> Iterator[None]:
        """Map the errors of reading JSON that has another form than documented to `error_type`."""
        try:
            yield
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise error_type(f"{self.host} answers JSON of another form than documented.") from error

    @contextmanager
    def _refused_json(self, error_type: type[Exception]) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            raise error_type(f"{self.host} answers no JSON that can be read: {error}.") from error

    def close(self) -> None:
        """Close the connections."""
        self._requests.close()

    def _key(self, path: str, query: Mapping[str, Any]) -> str:
        return f"{self._base}{path}" + (f"?{urlencode(query)}" if query else "")

    def _send(self, method: str, key: str, limit_bytes: int | None, content: bytes | None = None) -> Answer:
        form = {} if content is None else {"Content-Type": "application/x-www-form-urlencoded"}
        return self._requests.request(
            method,
            key,
            limit_bytes=limit_bytes,
            headers=lambda: {**self._headers(), **form},
            content=content,
        )

    def _parse(self, answer: Answer, form: type[Any]) -> Any:
        with self._refused_json(ListingFailed):
            found = parse_json(answer.body)
        with self.expected_form():
            # An empty list ends a listing; an empty answer of another kind must not.
            if answer.status == 200 and not isinstance(found, form):
                raise TypeError(form)
        return found


def has_next_page(answer: Answer) -> bool:
    """Return whether a page of GitHub (`Link`) or GitLab (`X-Next-Page`) is followed by another."""
    return bool(answer.headers["x-next-page"] or _NEXT.search(answer.headers["link"]))
