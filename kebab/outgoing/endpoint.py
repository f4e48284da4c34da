"""An address that takes JSON and answers JSON."""

import json
from collections.abc import Collection, Mapping
from typing import Any

import httpcore2

from kebab.outgoing.deadline import Deadline, DeadlineBackend
from kebab.outgoing.errors import OutOfTime, RequestFailed, StatusRefused

MAX_ANSWER_BYTES = 1_000_000
_CONNECT_LIMIT_S = 2.0
_CONNECTIONS = 16
# Servers close idle connections after a minute or more; one that is used as it closes costs a request.
_KEEPALIVE_S = 15.0
_REDIRECTS = range(300, 400)


class JsonEndpoint:
    """Sends JSON to one address by POST and keeps the connection for a while; threads may share it.

    Redirects are not followed, proxies of the environment are not used, and an answer is read up to a
    million bytes. `private_hosts` are the names whose addresses may be private.
    """

    def __init__(
        self, url: str, *, headers: Mapping[str, str], private_hosts: Collection[str] = frozenset()
    ) -> None:
        self._url = url
        sent = {"Content-Type": "application/json", "Accept": "application/json", **headers}
        self._headers = list(sent.items())
        self._deadline = Deadline()
        self._pool = httpcore2.ConnectionPool(
            max_connections=_CONNECTIONS,
            keepalive_expiry=_KEEPALIVE_S,
            network_backend=DeadlineBackend(self._deadline, private_hosts),
        )

    def post(self, document: object, *, limit_s: float) -> Any:
        """Give what the address answers to `document`. Raises RequestFailed."""
        content = json.dumps(document).encode()
        try:
            with self._deadline.within(limit_s):
                body = self._exchange(content, limit_s)
        except (TimeoutError, httpcore2.TimeoutException) as error:
            raise OutOfTime("did not answer in time") from error
        except httpcore2.ConnectError as error:
            raise RequestFailed("can't be reached") from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            raise RequestFailed("broke off its answer, or did not speak HTTP") from error
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise RequestFailed("did not answer JSON") from error

    def close(self) -> None:
        """Close the kept connections; the next request opens one."""
        self._pool.close()

    def _exchange(self, content: bytes, limit_s: float) -> bytes:
        limits = {"connect": min(_CONNECT_LIMIT_S, limit_s), "pool": limit_s}
        with self._pool.stream(
            "POST", self._url, headers=self._headers, content=content, extensions={"timeout": limits}
        ) as response:
            if response.status in _REDIRECTS:
                raise StatusRefused(
                    f"answered {response.status}; redirects are not followed", status=response.status
                )
            if not 200 <= response.status < 300:
                raise StatusRefused(f"answered {response.status}", status=response.status)
            return _bounded(response)


def _bounded(response: httpcore2.Response) -> bytes:
    body = bytearray()
    for piece in response.iter_stream():
        body += piece
        if len(body) > MAX_ANSWER_BYTES:
            raise RequestFailed(f"answered more than {MAX_ANSWER_BYTES:,} bytes")
    return bytes(body)
