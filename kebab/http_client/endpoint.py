"""A client for one URL that accepts and returns JSON."""

import json
import time
from collections.abc import Collection, Iterable, Mapping
from email.utils import mktime_tz, parsedate_tz
from typing import Any

import httpcore2

from kebab.http_client.deadline import Deadline, DeadlineBackend
from kebab.http_client.errors import RequestFailed, StatusRefused, map_errors

MAX_RESPONSE_BYTES = 1_000_000
_CONNECT_LIMIT_S = 2.0
_CONNECTIONS = 16
# Servers close idle connections after a minute or more; one that is used as it closes costs a request.
_KEEPALIVE_S = 15.0
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
        all_headers = {"Content-Type": "application/json", "Accept": "application/json", **headers}
        self._headers = list(all_headers.items())
        self._deadline = Deadline()
        self._pool = httpcore2.ConnectionPool(
            max_connections=_CONNECTIONS,
            keepalive_expiry=_KEEPALIVE_S,
            network_backend=DeadlineBackend(self._deadline, private_hosts),
        )

    def post(self, document: object, *, limit_s: float, limit_bytes: int | None = None) -> Any:
        """POST `document` and return the response's JSON value. Raises RequestFailed.

        `limit_bytes` is a lower limit of this response.
        """
        content = json.dumps(document).encode()
        with map_errors(), self._deadline.within(limit_s):
            body = self._exchange(content, self._headers, limit_s, limit_bytes)
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise RequestFailed("did not answer JSON") from error

    def send(self, content: bytes, *, headers: Mapping[str, str], limit_s: float) -> bytes:
        """POST `content` with further headers and return the response's body. Raises RequestFailed."""
        with map_errors(), self._deadline.within(limit_s):
            return self._exchange(content, [*self._headers, *headers.items()], limit_s)

    def close(self) -> None:
        """Close the pooled connections; the next request opens one."""
        self._pool.close()

    def _exchange(
        self,
        content: bytes,
        headers: list[tuple[str, str]],
        limit_s: float,
        limit_bytes: int | None = None,
    ) -> bytes:
        limits = {"connect": min(_CONNECT_LIMIT_S, limit_s), "pool": limit_s}
        with self._pool.stream(
            "POST", self._url, headers=headers, content=content, extensions={"timeout": limits}
        ) as response:
            if response.status in _REDIRECTS:
                raise StatusRefused(
                    f"answered {response.status}; redirects are not followed", status=response.status
                )
            if not 200 <= response.status < 300:
                raise StatusRefused(
                    f"answered {response.status}",
                    status=response.status,
                    retry_after_s=_retry_after_s(response.headers),
                )
            return _read_bounded(response, limit_bytes or self._max_response_bytes)


def _read_bounded(response: httpcore2.Response, limit_bytes: int) -> bytes:
    body = bytearray()
    for piece in response.iter_stream():
        body += piece
        if len(body) > limit_bytes:
            raise RequestFailed(f"answered more than {limit_bytes:,} bytes")
    return bytes(body)


def _retry_after_s(headers: Iterable[tuple[bytes, bytes]]) -> float | None:
    """Return the seconds of `Retry-After`, a number or a date (RFC 9110, 10.2.3); None for anything else."""
    value = next((value for name, value in headers if name.lower() == b"retry-after"), b"")
    text = value.decode("latin-1").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    date = parsedate_tz(text)
    try:
        return None if date is None else max(0.0, mktime_tz(date) - time.time())
    except (ValueError, OverflowError):
        return None
