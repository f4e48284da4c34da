"""How the SDK's requests go out: to permitted addresses alone, and within one call's limit as a whole."""

import time
from collections.abc import Callable, Collection, Iterator

import httpcore2
import httpx2

from kebab.http_client.deadline import Deadline, DeadlineBackend
from kebab.http_client.errors import AnswerTooLarge

#: Of an answer as it travels, each token in some 200 bytes of JSON.
MAX_ANSWER_BYTES = 8_000_000
_CONNECT_LIMIT_S = 5.0
# How a stream of chat completions ends; the SDK keeps it to itself.
_DONE = b"[DONE]"


class CallDeadline(Deadline):
    """Until when one call may take, whichever thread does the next step of it."""

    def __init__(
        self, limit_s: float, on_wait: Callable[[], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(clock)
        self._until = clock() + limit_s
        self._on_wait = on_wait

    def remaining_s(self, at_most_s: float | None) -> float:
        """Return the seconds that are left, `at_most_s` at most. Raises TimeoutError when none are."""
        left = self._until - self._clock()
        if left <= 0:
            raise TimeoutError("the time for the answer is over")
        return left if at_most_s is None else min(left, at_most_s)

    def look(self) -> None:
        """Have whoever waits look whether it is still worth it; what that raises ends the call."""
        self._on_wait()


class CallTransport(httpx2.BaseTransport):
    """Carries one call. Redirects are not followed, proxies of the environment are not used."""

    def __init__(self, deadline: CallDeadline, private_hosts: Collection[str]) -> None:
        self._pool = httpcore2.ConnectionPool(
            max_connections=1, network_backend=DeadlineBackend(deadline, private_hosts)
        )
        self.body: CallBody | None = None

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request. Raises RequestFailed and what the HTTP client does."""
        response = self._pool.handle_request(
            httpcore2.Request(
                method=request.method,
                url=str(request.url),
                headers=request.headers.raw,
                content=request.read(),
                extensions={"timeout": {"connect": _CONNECT_LIMIT_S}},
            )
        )
        self.body = CallBody(response)
        return httpx2.Response(status_code=response.status, headers=response.headers, stream=self.body)

    def close(self) -> None:
        """Hang up."""
        self._pool.close()


class CallBody(httpx2.SyncByteStream):
    """The body of an answer, and whether it came to its end."""

    def __init__(self, response: httpcore2.Response) -> None:
        self._response = response
        self._tail = b""

    @property
    def is_done(self) -> bool:
        """Return whether the last event of a stream has come."""
        return _DONE in self._tail

    def __iter__(self) -> Iterator[bytes]:
        """Return the bytes as they come. Raises AnswerTooLarge and what the HTTP client does."""
        size = 0
        for piece in self._response.iter_stream():
            size += len(piece)
            if size > MAX_ANSWER_BYTES:
                raise AnswerTooLarge(f"answered more than {MAX_ANSWER_BYTES:,} bytes")
            self._tail = (self._tail + piece)[-64:]
            yield piece

    def close(self) -> None:
        """Let go of the connection."""
        self._response.close()
