"""Downloads, and a client for one URL that accepts and returns JSON."""

import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from email.utils import mktime_tz, parsedate_tz
from typing import Any
from urllib.parse import urlsplit

import httpcore2

from kebab.http_client.connections import (
    Deadline,
    DeadlineBackend,
    RequestFailed,
    ResponseTooLarge,
    StatusRefused,
    do_nothing,
    ignore_size,
    map_errors,
)
from kebab.http_client.decompress import ENCODINGS, make_inflater

_DOWNLOAD_CONNECT_LIMIT_S = 10.0
# Servers close idle connections after a minute or more; one that is used as it closes costs a request.
_KEEPALIVE_S = 15.0


class StreamedResponse:
    """A response whose body has not been read yet."""

    def __init__(self, response: httpcore2.Response) -> None:
        self._response = response
        self.status: int = response.status
        #: bytes of the body as they came, compressed or not
        self.received_bytes = 0

    def headers(self, name: str) -> list[str]:
        """Return all values of a header, in order; `name` in lower case.

        They are decoded as UTF-8, or else as Latin-1.
        """
        wanted = name.encode("ascii")
        return [
            _decode(value).strip() for header, value in self._response.headers if header.lower() == wanted
        ]

    def header(self, name: str) -> str:
        """Return the first value of a header; '' without one."""
        return next(iter(self.headers(name)), "")

    def read(self, limit_bytes: int) -> bytes:
        """Return the decompressed body. Raises ResponseTooLarge as soon as that is known, RequestFailed."""
        announced = self.header("content-length")
        if announced.isdecimal() and len(announced) < 20 and int(announced) > limit_bytes:
            raise _too_large(limit_bytes)
        body = bytearray()
        inflater = make_inflater(self.header("content-encoding"), limit_bytes)
        for piece in self._response.iter_stream():
            self.received_bytes += len(piece)
            body += piece if inflater is None else inflater.feed(piece)
            if max(self.received_bytes, len(body)) > limit_bytes:
                raise _too_large(limit_bytes)
        if inflater is not None:
            inflater.finish()
        return bytes(body)


class Fetcher:
    """A client with a connection pool; threads may share it.

    Redirects are not followed, proxies of the environment are not used. `private_hosts` are the names whose
    addresses may be private; every new connection is checked. `on_bytes` is called with the number of bytes
    of each read, and may raise to end the request.
    """

    def __init__(
        self,
        *,
        headers: Mapping[str, str],
        private_hosts: Collection[str],
        connections: int = 2,
        connect_limit_s: float = _DOWNLOAD_CONNECT_LIMIT_S,
        on_bytes: Callable[[int], None] = ignore_size,
    ) -> None:
        self._headers = {"Accept-Encoding": ENCODINGS, **headers}
        self._connect_limit_s = connect_limit_s
        self._deadline = Deadline()
        self._pool = httpcore2.ConnectionPool(
            max_connections=connections,
            keepalive_expiry=_KEEPALIVE_S,
            network_backend=DeadlineBackend(self._deadline, private_hosts, on_bytes),
        )

    @contextmanager
    def send(
        self,
        url: str,
        *,
        limit_s: float,
        headers: Mapping[str, str],
        on_wait: Callable[[], None] = do_nothing,
        method: str = "GET",
        content: bytes | None = None,
    ) -> Iterator[StreamedResponse]:
        """Yield the response, to be read in the block, all within `limit_s`. Raises RequestFailed.

        `on_wait` is called about twice a second while bytes are awaited; an exception from it ends the
        request.
        """
        limits = {"connect": min(self._connect_limit_s, limit_s), "pool": limit_s}
        all_headers = list({**self._headers, **headers}.items())
        with (
            map_errors(),
            self._deadline.within(limit_s, on_wait),
            self._pool.stream(
                method, _parse_url(url), headers=all_headers, content=content, extensions={"timeout": limits}
            ) as response,
        ):
            yield StreamedResponse(response)

    def close(self) -> None:
        """Close the pooled connections."""
        self._pool.close()


def _parse_url(url: str) -> httpcore2.URL:
    """Return a URL with the `;` of its path, which httpcore would drop with what follows."""
    parsed, split = httpcore2.URL(url), urlsplit(url)
    parsed.target = ((split.path or "/") + (f"?{split.query}" if split.query else "")).encode("ascii")
    return parsed


def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _too_large(limit_bytes: int) -> ResponseTooLarge:
    return ResponseTooLarge(f"has more than {limit_bytes:,} bytes")


MAX_RESPONSE_BYTES = 1_000_000
_CONNECT_LIMIT_S = 2.0
_CONNECTIONS = 16
_REDIRECTS = range(300, 400)


class JsonEndpoint:
    """A client that POSTs JSON to one URL, with a connection pool; threads may share it.

    Redirects are not followed, proxies of the environment are not used, and a response is read up to
    `max_response_bytes`. `private_hosts` are the names whose addresses may be private.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        private_hosts: Collection[str] = frozenset(),
        max_response_bytes: int = MAX_RESPONSE_BYTES,
    ) -> None:
        self._url = url
        self._max_response_bytes = max_response_bytes
        self._fetcher = Fetcher(
            headers={"Content-Type": "application/json", "Accept": "application/json", **headers},
            private_hosts=private_hosts,
            connections=_CONNECTIONS,
            connect_limit_s=_CONNECT_LIMIT_S,
        )

    def post(self, document: object, *, limit_s: float, limit_bytes: int | None = None) -> Any:
        """POST `document` and return the response's JSON value. Raises RequestFailed.

        `limit_bytes` is a lower limit of this response.
        """
        body = self._exchange(json.dumps(document).encode(), {}, limit_s, limit_bytes)
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise RequestFailed("did not answer JSON") from error

    def send(self, content: bytes, *, headers: Mapping[str, str], limit_s: float) -> bytes:
        """POST `content` with further headers and return the response's body. Raises RequestFailed."""
        return self._exchange(content, headers, limit_s)

    def close(self) -> None:
        """Close the pooled connections; the next request opens one."""
        self._fetcher.close()

    def _exchange(
        self, content: bytes, headers: Mapping[str, str], limit_s: float, limit_bytes: int | None = None
    ) -> bytes:
        with self._fetcher.send(
            self._url, method="POST", content=content, headers=headers, limit_s=limit_s
        ) as response:
            if response.status in _REDIRECTS:
                raise StatusRefused(
                    f"answered {response.status}; redirects are not followed", status=response.status
                )
            if not 200 <= response.status < 300:
                raise StatusRefused(
                    f"answered {response.status}",
                    status=response.status,
                    retry_after_s=_retry_after_s(response.header("retry-after")),
                )
            try:
                return response.read(limit := limit_bytes or self._max_response_bytes)
            except ResponseTooLarge as error:
                raise ResponseTooLarge(f"answered more than {limit:,} bytes") from error


def _retry_after_s(text: str) -> float | None:
    """Return the seconds of `Retry-After`, a number or a date (RFC 9110, 10.2.3); None for anything else."""
    if text.isascii() and text.isdigit():
        return float(text[:9])
    date = parsedate_tz(text)
    try:
        return None if date is None else max(0.0, mktime_tz(date) - time.time())
    except (ValueError, OverflowError):
        return None
