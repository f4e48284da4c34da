"""HTTP transport of the SDK: permitted addresses only, and one time limit for a whole call."""

import re
import time
from collections.abc import Callable, Collection, Iterator

import httpcore2
import httpx2

from kebab.http_client.connections import Deadline, DeadlineBackend, ResponseTooLarge
from kebab.http_client.decompress import ENCODINGS, Inflater, make_inflater

#: Size limit of a response body; each token of a stream takes some 200 bytes of JSON.
MAX_ANSWER_BYTES = 8_000_000
#: Size limit of what is parsed at once, a whole answer or an event; parsed, it takes thirty times its size.
MAX_PARSED_BYTES = 1_000_000
_CONNECT_LIMIT_S = 5.0
# The last event of a stream of chat completions, which the SDK doesn't expose.
_DONE = b"[DONE]"
_EVENT_END = re.compile(rb"\r?\n\r?\n|\r\r")


class CallDeadline(Deadline):
    """Time limit of one call, across all threads that take part in it."""

    def __init__(
        self, limit_s: float, on_wait: Callable[[], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(clock)
        self._until = clock() + limit_s
        self._on_wait = on_wait

    def remaining_s(self, at_most_s: float | None) -> float:
        """Return the remaining seconds, at most `at_most_s`. Raises TimeoutError when none remain."""
        remaining = self._until - self._clock()
        if remaining <= 0:
            raise TimeoutError("the time for the answer is over")
        return remaining if at_most_s is None else min(remaining, at_most_s)

    def run_on_wait(self) -> None:
        """Call `on_wait`, whose exception ends the call."""
        self._on_wait()


class CallTransport(httpx2.BaseTransport):
    """Transport of one call. It follows no redirects and ignores proxies of the environment."""

    def __init__(self, deadline: CallDeadline, private_hosts: Collection[str]) -> None:
        self._pool = httpcore2.ConnectionPool(
            max_connections=1, network_backend=DeadlineBackend(deadline, private_hosts)
        )
        self.body: CallBody | None = None

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request. Raises RequestFailed and the errors of the HTTP client."""
        request.headers["Accept-Encoding"] = ENCODINGS
        response = self._pool.handle_request(
            httpcore2.Request(
                method=request.method,
                url=str(request.url),
                headers=request.headers.raw,
                content=request.read(),
                extensions={"timeout": {"connect": _CONNECT_LIMIT_S}},
            )
        )
        headers = httpx2.Headers(response.headers)
        # The client would unpack a piece as a whole, to a thousand times its size.
        inflater = make_inflater(headers.pop("content-encoding", ""), MAX_ANSWER_BYTES)
        self.body = CallBody(response, inflater)
        return httpx2.Response(status_code=response.status, headers=headers, stream=self.body)

    def close(self) -> None:
        """Close the connection."""
        self._pool.close()


class CallBody(httpx2.SyncByteStream):
    """The unpacked body of a response, with the knowledge whether its stream was complete."""

    def __init__(self, response: httpcore2.Response, inflater: Inflater | None) -> None:
        self._response = response
        self._inflater = inflater
        self._tail = b""

    @property
    def is_done(self) -> bool:
        """Return whether the last event of the stream has arrived."""
        return _DONE in self._tail

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes as they come. Raises RequestFailed and the errors of the HTTP client."""
        size = event_size = 0
        for piece in self._response.iter_stream():
            if self._inflater is not None:
                piece = self._inflater.feed(piece)
            size += len(piece)
            first, *more = map(len, _EVENT_END.split(self._tail[-3:] + piece))
            event_sizes = event_size + first, *more
            event_size = event_sizes[-1]
            for received, limit in ((size, MAX_ANSWER_BYTES), (max(event_sizes), MAX_PARSED_BYTES)):
                if received > limit:
                    raise ResponseTooLarge(f"answered more than {limit:,} bytes")
            self._tail = (self._tail + piece)[-64:]
            yield piece

    def close(self) -> None:
        """Release the connection."""
        self._response.close()
