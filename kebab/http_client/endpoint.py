"""A client for one URL that accepts and returns JSON."""

import json
import time
from collections.abc import Collection, Mapping
from email.utils import mktime_tz, parsedate_tz
from typing import Any

from kebab.http_client.download import Fetcher
from kebab.http_client.errors import RequestFailed, ResponseTooLarge, StatusRefused

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
