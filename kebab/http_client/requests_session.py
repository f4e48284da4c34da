"""Sessions of the library `requests` with the deadline, limits and address checks of other requests."""

import time
from collections.abc import Collection, Mapping
from typing import Any

import requests
from requests.adapters import BaseAdapter

from kebab.http_client.connections import RequestFailed, TimedOut
from kebab.http_client.endpoint import Fetcher


class LimitedSession(requests.Session):
    """A session whose requests end by `ends_at`, of the monotonic clock, all together.

    An answer has at most `limit_bytes`; redirects are not followed, proxies of the environment not used.
    `private_hosts` are the names whose addresses may be private.
    """

    def __init__(self, *, ends_at: float, limit_bytes: int, private_hosts: Collection[str]) -> None:
        super().__init__()
        self.trust_env = False
        self.max_redirects = 0
        adapter = _FetcherAdapter(Fetcher(headers={}, private_hosts=private_hosts), ends_at, limit_bytes)
        for scheme in ("https://", "http://"):
            self.mount(scheme, adapter)


class _FetcherAdapter(BaseAdapter):
    def __init__(self, fetcher: Fetcher, ends_at: float, limit_bytes: int) -> None:
        super().__init__()
        self._fetcher = fetcher
        self._ends_at = ends_at
        self._limit_bytes = limit_bytes

    def send(self, request: requests.PreparedRequest, *_: object, **__: object) -> requests.Response:
        """Send a request and read its answer. Raises `requests.ConnectionError`, `requests.Timeout`."""
        try:
            return self._send(request)
        except TimedOut as error:
            raise requests.Timeout(str(error), request=request) from error
        except RequestFailed as error:
            raise requests.ConnectionError(str(error), request=request) from error

    def _send(self, request: requests.PreparedRequest) -> requests.Response:
        left_s = self._ends_at - time.monotonic()
        if left_s <= 0:
            raise TimedOut("did not answer in time")
        content = request.body.encode() if isinstance(request.body, str) else request.body
        with self._fetcher.send(
            str(request.url),
            limit_s=left_s,
            headers=_sendable(request.headers),
            method=str(request.method),
            content=content,  # type: ignore[arg-type]  # files are not sent
        ) as streamed:
            answer: Any = requests.Response()
            answer.status_code = streamed.status
            for name in ("content-type", "location"):
                answer.headers[name] = streamed.header(name)
            answer._content = streamed.read(self._limit_bytes)
        answer.encoding = "utf-8"  # guessing takes seconds
        answer.url, answer.request = str(request.url), request
        return answer  # type: ignore[no-any-return]  # its content can't be set but so

    def close(self) -> None:
        """Close the connections."""
        self._fetcher.close()


def _sendable(headers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the headers without that of the library's decompression; the client has its own."""
    return {name: value for name, value in headers.items() if name.lower() != "accept-encoding"}
