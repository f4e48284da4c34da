"""Chat model over HTTP: any endpoint that speaks OpenAI's `/v1/chat/completions`, streaming or not."""

import json
import re
import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, Final

import httpcore2
import httpx2
import openai

from kebab.http_client.connections import (
    AddressRefused,
    Deadline,
    DeadlineBackend,
    RequestFailed,
    ResponseTooLarge,
    TimedOut,
)
from kebab.http_client.decompress import ENCODINGS, Inflater, make_inflater
from search.answers.model.configured import AnswerOptions, ModelFailed
from search.answers.prompt import Message
from search.answers.types import AnswerReason, Usage
from search.endpoints.circuit_breaker import CircuitBreaker

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


#: Longer answers are of no use; the limit ends a model that doesn't stop.
MAX_ANSWER_CHARS: Final = 40_000
_NO_KEY = "none"


class EndpointModel:
    """Client of the model that `options` name; they must have no problems. Thread-safe."""

    def __init__(self, options: AnswerOptions, breaker: CircuitBreaker) -> None:
        self._options = options
        self._endpoint = options.endpoint
        self._breaker = breaker

    @property
    def name(self) -> str:
        """Return the model's name."""
        return self._endpoint.model

    @property
    def context_tokens(self) -> int:
        """Return the size of the context, prompt and answer together, in tokens."""
        return self._options.context_tokens

    def answer(self, messages: Sequence[Message], on_wait: Callable[[], None]) -> Generator[str | Usage]:
        """Yield the pieces of the text as they come, and the token usage if the endpoint reports it.

        `on_wait` is called about twice a second while waiting for the model; an exception from it ends the
        call, as closing the iterator does. Raises ModelFailed.
        """
        deadline = CallDeadline(self._endpoint.limit_s, on_wait)
        with (
            closing(CallTransport(deadline, self._endpoint.private_hosts)) as transport,
            closing(self._client(transport)) as client,
        ):
            with self._breaker.attempt(), _translate_failures(has_begun=False):
                answer = self._request_completion(client, messages)
            with closing(answer.http_response), _translate_failures(has_begun=True):
                yield from _limit_length(_read_answer(answer, transport))

    def _client(self, transport: CallTransport) -> openai.OpenAI:
        return openai.OpenAI(
            base_url=self._endpoint.url,
            api_key=self._endpoint.api_key or _NO_KEY,
            max_retries=0,
            timeout=self._endpoint.limit_s,
            http_client=httpx2.Client(transport=transport, trust_env=False, follow_redirects=False),
        )

    def _request_completion(self, client: openai.OpenAI, messages: Sequence[Message]) -> Any:
        create: Any = client.chat.completions.with_raw_response.create
        options: dict[str, Any] = {"stream": False}
        if self._options.streams:
            options = {"stream": True, "stream_options": {"include_usage": True}}
        if not self._endpoint.api_key:
            options["extra_headers"] = {"Authorization": openai.Omit()}
        return create(model=self._endpoint.model, messages=list(messages), **options)


def _read_answer(answer: Any, transport: CallTransport) -> Iterator[str | Usage]:
    """Read a stream or a whole answer; some endpoints send the one that wasn't requested."""
    if "event-stream" in answer.headers.get("content-type", ""):
        return _read_stream(answer.parse(), transport)
    body = answer.http_response.read()
    if len(body) > MAX_PARSED_BYTES:
        raise ResponseTooLarge(f"answered more than {MAX_PARSED_BYTES:,} bytes")
    return _read_document(json.loads(body))


def _read_stream(stream: Any, transport: CallTransport) -> Iterator[str | Usage]:
    is_finished = False
    for event in stream:
        for choice in event.choices or ():
            is_finished = is_finished or choice.finish_reason is not None
            if choice.delta is not None and choice.delta.content:
                yield choice.delta.content
        if event.usage is not None:
            yield Usage(
                prompt_tokens=event.usage.prompt_tokens, completion_tokens=event.usage.completion_tokens
            )
    if not is_finished and not (transport.body is not None and transport.body.is_done):
        raise RequestFailed("broke off its answer")


def _read_document(document: Any) -> Iterator[str | Usage]:
    content = document["choices"][0]["message"]["content"]
    if content is not None and not isinstance(content, str):
        raise TypeError("the content is not a text")
    yield content or ""
    counted = document.get("usage")
    if isinstance(counted, dict):
        numbers = {name: counted.get(name) for name in ("prompt_tokens", "completion_tokens")}
        yield Usage(**{name: n if isinstance(n, int) else None for name, n in numbers.items()})


def _limit_length(pieces: Iterator[str | Usage]) -> Iterator[str | Usage]:
    room = MAX_ANSWER_CHARS
    for piece in pieces:
        if isinstance(piece, str):
            room -= len(piece)
        if room < 0:
            raise RequestFailed(f"wrote more than {MAX_ANSWER_CHARS:,} characters")
        yield piece


@contextmanager
def _translate_failures(*, has_begun: bool) -> Iterator[None]:
    """Translate the errors of the SDK, the HTTP client and malformed answers to ModelFailed."""
    try:
        yield
    except openai.RateLimitError as error:
        raise ModelFailed(AnswerReason.RATE_LIMITED, "is asked too often", is_fault=False) from error
    except openai.APIStatusError as error:
        raise _status_failure(error.status_code) from error
    except openai.APIConnectionError as error:
        raise _connection_failure(error.__cause__ or error, has_begun) from error
    except (RequestFailed, TimeoutError, httpx2.HTTPError, httpcore2.TimeoutException) as error:
        raise _connection_failure(error, has_begun) from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.ConnectError) as error:
        raise _connection_failure(error, has_begun) from error
    except (openai.APIError, LookupError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ModelFailed(AnswerReason.MODEL_DIED, "did not answer a chat completion") from error


def _status_failure(status: int) -> ModelFailed:
    if status >= 500:
        return ModelFailed(AnswerReason.MODEL_UNAVAILABLE, f"answered {status}")
    remedy = (
        "Check KEBAB_ANSWER_API_KEY." if status in {401, 403} else "Check KEBAB_ANSWER_MODEL and its URL."
    )
    return ModelFailed(AnswerReason.MODEL_REFUSED, f"answered {status}", remedy=remedy, is_fault=False)


def _connection_failure(error: BaseException, has_begun: bool) -> ModelFailed:
    if isinstance(error, ModelFailed):  # raised by `on_wait`
        return error
    if isinstance(error, TimeoutError | TimedOut | httpx2.TimeoutException | httpcore2.TimeoutException):
        return ModelFailed(AnswerReason.MODEL_TIMEOUT, "did not answer in time")
    if has_begun:
        return ModelFailed(AnswerReason.MODEL_DIED, "broke off its answer")
    if isinstance(error, AddressRefused):
        remedy = "Name its host in KEBAB_PRIVATE_HOSTS if it is yours."
        return ModelFailed(AnswerReason.MODEL_UNAVAILABLE, str(error), remedy=remedy)
    remedy = "Check KEBAB_ANSWER_URL and that something answers there."
    return ModelFailed(AnswerReason.MODEL_UNAVAILABLE, "can't be reached", remedy=remedy)
