"""Requests of record connectors to one HTTP server, with retries."""

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from django.conf import settings

from ingest.connectors.errors import ListingFailed, SourceAway
from ingest.connectors.web.addresses import Address
from ingest.connectors.web.requests import user_agent
from kebab.http_client.download import Fetcher
from kebab.http_client.errors import AddressRefused, RequestFailed, ResponseTooLarge, TimedOut

#: Limit of a listing's page.
MAX_LISTING_BYTES: Final = 32 * 1024**2
#: Pauses before a request is repeated, longer if the server asks for it.
PAUSES_S: Final = (1.0, 4.0, 16.0)
_MAX_PAUSE_S: Final = 120.0
_POLL_S: Final = 0.25
_UNAVAILABLE: Final = frozenset({408, 429, 500, 502, 503, 504})
_BROKEN: Final = 500
# After so many documents in a row that the server fails at, it is away.
_BROKEN_IN_A_ROW: Final = 3
_REFUSALS: Final = frozenset({401, 403})
_NOT_FOUND: Final = frozenset({404, 410})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole response; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _RequestBroken(SourceAway):
    """The server fails at this request, but perhaps not at others."""


class ServerRequests:
    """Requests to one server, whose host must be a permitted one at every connection."""

    def __init__(self, server: Address, while_waiting: Callable[[], None]) -> None:
        self._server = server
        self._while_waiting = while_waiting
        self._broken_in_a_row = 0
        self._fetcher = Fetcher(
            headers={"User-Agent": user_agent()}, private_hosts=settings.KEBAB_PRIVATE_HOSTS
        )

    def request(
        self,
        method: str,
        key: str,
        *,
        limit_bytes: int = MAX_LISTING_BYTES,
        headers: Callable[[], Mapping[str, str]] = dict,
        content: bytes | None = None,
    ) -> Answer:
        """Return the response for a path and query, after retries. Raises SourceAway, ResponseTooLarge.

        `headers` is called for each try, because a signature holds for a time.
        """
        for pause_s in (*PAUSES_S, None):
            try:
                answer = self._send(method, key, limit_bytes, headers(), content)
            except ResponseTooLarge:
                raise
            except RequestFailed as error:
                reason, after_s, is_own_fault = str(error), "", isinstance(error, TimedOut)
                pause_s = None if isinstance(error, AddressRefused) else pause_s
            else:
                if answer.status not in _UNAVAILABLE:
                    return answer
                reason, after_s = f"answers {answer.status}", answer.headers.get("retry-after", "")
                is_own_fault = answer.status == _BROKEN
            if pause_s is None:
                raise (_RequestBroken if is_own_fault else SourceAway)(f"{self._server.host} {reason}.")
            pause(max(pause_s, _seconds(after_s)), self._while_waiting)
        raise AssertionError

    def fetch(self, key: str, *, limit_bytes: int, headers: Callable[[], Mapping[str, str]] = dict) -> bytes:
        """Return the bytes of a document. Raises FileNotFoundError, OSError, SourceAway."""
        try:
            answer = self.request("GET", key, limit_bytes=limit_bytes, headers=headers)
        except ResponseTooLarge as error:
            raise OSError(f"It {error}.") from error
        except _RequestBroken as error:
            self._broken_in_a_row += 1
            if self._broken_in_a_row >= _BROKEN_IN_A_ROW:
                raise
            raise OSError(str(error)) from error
        self._broken_in_a_row = 0
        if answer.status in _NOT_FOUND:
            raise FileNotFoundError(key)
        if answer.status == 401:
            raise SourceAway(f"{self._server.host} refuses the credentials (401).")
        if answer.status != 200:
            raise OSError(f"{self._server.host} answers {answer.status}.")
        return answer.body

    def fail_listing(self, answer: Answer, detail: str = "") -> NoReturn:
        """Raise ListingFailed for a response that is no listing."""
        host, remark = self._server.host, f" ({answer.status}{f', {detail}' if detail else ''})"
        if answer.status in _REFUSALS:
            raise ListingFailed(f"{host} refuses the credentials{remark}; check them and what they may read.")
        if answer.status in _NOT_FOUND:
            raise ListingFailed(f"{host} has nothing at this address{remark}; check it.")
        if location := answer.headers.get("location", "")[:200]:
            raise ListingFailed(f"{host} leads to {location}{remark}; give that address.")
        raise ListingFailed(f"{host} does not answer as expected{remark}.")

    def close(self) -> None:
        """Close the pooled connections."""
        self._fetcher.close()

    def _send(self, method: str, key: str, limit_bytes: int, headers: Any, content: bytes | None) -> Answer:
        with self._fetcher.send(
            self._server.with_key(key).url,
            method=method,
            content=content,
            limit_s=settings.KEBAB_CRAWL_LIMIT_S,
            headers=headers,
            on_wait=self._while_waiting,
        ) as response:
            names = ("etag", "last-modified", "location", "retry-after")
            return Answer(
                status=response.status,
                headers={name: response.header(name) for name in names},
                body=response.read(limit_bytes),
            )


def pause(seconds: float, while_waiting: Callable[[], None]) -> None:
    """Wait for about `seconds`, calling `while_waiting` repeatedly."""
    ends_at = time.monotonic() + seconds * random.uniform(0.75, 1.25)  # noqa: S311  # jitter, not a secret
    while (left_s := ends_at - time.monotonic()) > 0:
        while_waiting()
        time.sleep(min(left_s, _POLL_S))


def _seconds(retry_after: str) -> float:
    is_number = retry_after.isascii() and retry_after.isdecimal() and len(retry_after) < 6
    return min(float(retry_after), _MAX_PAUSE_S) if is_number else 0.0
