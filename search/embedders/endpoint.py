"""An embedder over HTTP: any endpoint that speaks OpenAI's `/v1/embeddings`."""

import base64
import binascii
import logging
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np

from kebab.http_client.connections import AddressRefused, RequestFailed, StatusRefused, TimedOut
from kebab.http_client.endpoint import JsonEndpoint
from kebab.runtime.context_executor import ContextExecutor
from search.embedders.base import SpaceIdentity
from search.embedders.spec import USUAL_MAX_TOKENS, EmbedderSpec
from search.endpoints.circuit_breaker import CircuitBreaker
from search.endpoints.configured_endpoint import ConfiguredEndpoint, describe_problems
from search.retrieval.deadline import is_over, seconds_left
from search.retrieval.errors import EmbedderUnavailable

# A vector whose length differs from 1 by more than this was not normalised: float16 rounding is about 1e-3.
_TOLERANCE = 5e-3


class BadAnswer(Exception):
    """The response is invalid; the message completes a sentence about the embedder."""


class WrongDimension(BadAnswer):
    """The vectors have another number of components than configured."""


def parse_vectors(answer: Any, *, count: int, dim: int) -> tuple[np.ndarray, bool]:
    """Return the vectors, (count, dim) float32 of length 1, by text, and whether they were normalised.

    Raises BadAnswer unless each of `count` texts has a vector of `dim` finite numbers that are not all zero.
    """
    items = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(items, list):
        raise BadAnswer("answered without a list of vectors")
    if len(items) != count:
        raise BadAnswer(f"gave {len(items)} vectors for {count} texts")
    by_index = dict(map(_parse_item, items))
    if by_index.keys() != set(range(count)):
        raise BadAnswer("did not give each index once")
    found = np.stack([_parse_vector(by_index[index], dim) for index in range(count)])
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or (lengths == 0).any():
        raise BadAnswer("gave a vector that is not finite, or nought")
    is_normalised = bool((np.abs(lengths - 1) <= _TOLERANCE).all())
    return (found / lengths).astype(np.float32), is_normalised


def _parse_item(item: Any) -> tuple[int, Any]:
    index = item.get("index") if isinstance(item, dict) else None
    if not isinstance(index, int) or isinstance(index, bool):
        raise BadAnswer("gave a vector without an index")
    return index, item.get("embedding")


def _parse_vector(value: Any, dim: int) -> np.ndarray:
    vector = _from_base64(value) if isinstance(value, str) else _from_list(value)
    if vector.shape != (dim,):
        raise WrongDimension(
            f"gives vectors of {vector.size} components, not {dim}; say which with ?dim={vector.size}"
        )
    return vector


def _from_base64(value: str) -> np.ndarray:
    try:
        content = base64.b64decode(value, validate=True)
        return np.frombuffer(content, "<f4").astype(np.float64)
    except (binascii.Error, ValueError) as error:
        raise BadAnswer("gave a vector that is not base64 of numbers") from error


def _from_list(value: Any) -> np.ndarray:
    if not isinstance(value, list) or not all(type(number) in {int, float} for number in value):
        raise BadAnswer("gave a vector that is not a list of numbers")
    try:
        return np.array(value, np.float64)
    except OverflowError as error:
        raise BadAnswer("gave a vector that is not finite, or nought") from error


logger = logging.getLogger(__name__)

#: Tokens that OpenAI's models read of a text.
OPENAI_MAX_TOKENS: Final = 8_191

# Retries of a request end after this time; longer waits are up to the caller.
_PATIENCE_S = 10.0
_FIRST_WAIT_S = 0.5
# Refusals of the input: another, or a shorter, text may be accepted.
_ABOUT_THE_TEXT = frozenset({400, 413, 422})
_PASSING = frozenset({408, 409, 425, 429})
# As text, a vector of 4,000 components takes 90 KB, four times as much as in base64. Parsed, an answer takes
# up to thirty times its size, and a query's is parsed in a web process.
_BYTES_A_VECTOR = 100_000
_MAX_ANSWER_BYTES = 100_000_000
# A token has about four bytes of English, three of code, and one CJK character of three bytes.
_BYTES_A_TOKEN = 3
# A refused text of this length is not refused for its length.
_SHORTEST_CHARS = 64


def create_endpoint_embedder(
    spec: EmbedderSpec, configured: ConfiguredEndpoint, *, threads: int
) -> "EndpointEmbedder":
    """Create the embedder for the endpoint of `spec`. Raises: EmbedderUnavailable for an invalid one."""
    problems = configured.problems()
    if problems:
        raise EmbedderUnavailable(describe_problems(problems), is_lasting=True)
    endpoint = JsonEndpoint(
        configured.url_of("/embeddings"),
        headers=configured.headers,
        private_hosts=configured.private_hosts,
        max_response_bytes=_MAX_ANSWER_BYTES,
    )
    return EndpointEmbedder(endpoint, spec, identity_of(spec), threads=threads)


def identity_of(spec: EmbedderSpec) -> SpaceIdentity:
    """Return the space of an endpoint's vectors. Raises: EmbedderUnavailable when its dimension isn't known.

    The url is no part of it: a model may move.
    """
    dim = spec.dim or spec.traits.dim
    if dim is None:
        raise EmbedderUnavailable(
            f"How many components {spec.name} gives is not known; add ?dim=NUMBER to it.", is_lasting=True
        )
    traits = spec.traits
    return SpaceIdentity(
        model=spec.model,
        revision=spec.revision or "api",
        dim=dim,
        quantisation="unknown",
        query_prefix=traits.query_prefix if spec.query_prefix is None else spec.query_prefix,
        passage_prefix=traits.passage_prefix if spec.passage_prefix is None else spec.passage_prefix,
        languages=traits.languages if spec.languages is None else spec.languages,
    )


class EndpointEmbedder:
    """An embedder that calls an endpoint. The first call sends one short text, to check the vectors.

    Passages are sent in batches, retried with exponential backoff for about ten seconds. A query is sent
    once; a circuit breaker opens for half a minute after three failures in a row.
    """

    def __init__(
        self,
        endpoint: JsonEndpoint,
        spec: EmbedderSpec,
        space: SpaceIdentity,
        *,
        threads: int,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Create the embedder; `threads` batches are sent concurrently, at least 1."""
        self.space = space
        usual = OPENAI_MAX_TOKENS if spec.traits.can_shorten else USUAL_MAX_TOKENS
        self.max_tokens = spec.max_tokens or usual
        self._endpoint = endpoint
        self._spec = spec
        self._threads = threads
        self._clock = clock
        self._sleep = sleep
        self._check_lock = threading.Lock()
        self._is_checked = False
        self._breaker = CircuitBreaker("the embedder", EmbedderUnavailable, clock=clock)

    def embed_query(self, text: str) -> np.ndarray:
        """Return the vector of `text`, (dim,) float32 of length 1, in time. Raises: EmbedderUnavailable."""
        limit_s = min(self._spec.query_limit_s, seconds_left())
        with self._breaker.attempt():
            # A separate thread, which is not joined: the resolver has no timeout.
            executor = ContextExecutor(1, thread_name_prefix="embed-query")
            inputs = [self._truncate(self.space.query_prefix + text)]
            try:
                vector: np.ndarray = executor.submit(self._ask_once, inputs, limit_s).result(limit_s)[0]
                return vector
            except (TimeoutError, EmbedderUnavailable) as error:
                if limit_s < self._spec.query_limit_s and is_over():
                    raise EmbedderUnavailable("The time of the search was up.", is_fault=False) from error
                if isinstance(error, EmbedderUnavailable):
                    raise
                raise EmbedderUnavailable(f"The embedder did not answer within {limit_s:g} s.") from error
            finally:
                executor.shutdown(wait=False, cancel_futures=True)

    def embed_passages(self, texts: Sequence[str]) -> np.ndarray:
        """Return the texts' vectors, (n, dim) float32 of length 1, in order. Raises: EmbedderUnavailable."""
        if not texts:
            return np.empty((0, self.space.dim), np.float32)
        self._check()
        prepared = [self._truncate(self.space.passage_prefix + text) for text in texts]
        with ThreadPoolExecutor(self._threads, thread_name_prefix="embed") as threads:
            return np.concatenate(list(threads.map(self._embed_batch, self._batches(prepared))))

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.close()

    def _truncate(self, text: str) -> str:
        """Cut what the model would not read: no token has more than about sixteen characters."""
        encodable = text.encode("utf-8", "replace").decode()
        return encodable[: 16 * self.max_tokens] or " "

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        tokens = 0
        for text in texts:
            more = min(self.max_tokens, 1 + len(text.encode()) // _BYTES_A_TOKEN)
            if batch and (len(batch) == self._spec.batch or tokens + more > self._spec.batch_tokens):
                yield batch
                batch, tokens = [], 0
            batch.append(text)
            tokens += more
        yield batch

    def _check(self) -> None:
        """Check once with one text that the endpoint returns valid vectors, before many texts are sent."""
        with self._check_lock:
            if self._is_checked:
                return
            try:
                _vectors, is_normalised = self._ask_with_retries(["ready"])
            except (BadAnswer, _TextRefused) as error:
                remedy = (
                    "" if isinstance(error, WrongDimension) else f" Check url and model of {self._spec.name}."
                )
                raise EmbedderUnavailable(f"The embedder {error}.{remedy}", is_lasting=True) from error
            if not is_normalised:
                logger.info("%s gives vectors of other lengths than 1; they are scaled", self._spec.name)
            self._is_checked = True

    def _embed_batch(self, texts: list[str]) -> np.ndarray:
        try:
            return self._ask_with_retries(texts)[0]
        except WrongDimension as error:
            raise EmbedderUnavailable(f"The embedder {error}.", is_lasting=True) from error
        except (BadAnswer, _TextRefused) as error:
            # One text of the batch may be refused; split to embed the others.
            if len(texts) == 1:
                return self._embed_beginning(texts[0], error)
            half = len(texts) // 2
            return np.concatenate([self._embed_batch(texts[:half]), self._embed_batch(texts[half:])])

    def _embed_beginning(self, text: str, refusal: Exception) -> np.ndarray:
        """Embed the beginning of a text that is refused as a whole: half of it, a quarter, and so on."""
        chars = len(text) // 2
        while chars >= _SHORTEST_CHARS:
            try:
                return self._ask_with_retries([text[:chars]])[0]
            except (BadAnswer, _TextRefused):
                chars //= 2
        raise EmbedderUnavailable(
            f"The embedder {refusal} for one text of {len(text)} characters.", is_lasting=True
        ) from refusal

    def _ask_with_retries(self, texts: list[str]) -> tuple[np.ndarray, bool]:
        """Send a request, with retries for up to ten seconds.

        Raises: EmbedderUnavailable, BadAnswer, _TextRefused.
        """
        ends_at = self._clock() + _PATIENCE_S
        wait_s = _FIRST_WAIT_S
        while True:
            try:
                return self._ask(texts, self._spec.limit_s)
            except EmbedderUnavailable as error:
                # Jitter, so that workers don't retry at the same time.
                pause_s = max(error.retry_after_s or 0.0, wait_s * random.uniform(0.5, 1.0))  # noqa: S311
                if error.is_lasting or self._clock() + pause_s > ends_at:
                    raise
                self._sleep(pause_s)
                wait_s *= 2

    def _ask_once(self, texts: list[str], limit_s: float) -> np.ndarray:
        try:
            return self._ask(texts, limit_s)[0]
        except _TextRefused as error:
            raise EmbedderUnavailable(f"The embedder {error} to this query.", is_fault=False) from error
        except BadAnswer as error:
            raise EmbedderUnavailable(f"The embedder {error}.") from error

    def _ask(self, texts: list[str], limit_s: float) -> tuple[np.ndarray, bool]:
        try:
            limit_bytes = min((1 + len(texts)) * _BYTES_A_VECTOR, _MAX_ANSWER_BYTES)
            answer = self._endpoint.post(self._body(texts), limit_s=limit_s, limit_bytes=limit_bytes)
        except RequestFailed as error:
            raise _translate_error(error, self._spec) from error
        return parse_vectors(answer, count=len(texts), dim=self.space.dim)

    def _body(self, texts: list[str]) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._spec.model,
            "input": texts,
            "encoding_format": self._spec.encoding,
        }
        if self._spec.traits.can_shorten and self.space.dim != self._spec.traits.dim:
            body["dimensions"] = self.space.dim
        return body


class _TextRefused(Exception):
    """The endpoint refuses this input; it may accept another one."""


def _translate_error(error: RequestFailed, spec: EmbedderSpec) -> Exception:
    """Return the error to raise for a request that failed."""
    if isinstance(error, AddressRefused):
        return EmbedderUnavailable(
            f"The embedder {error}. Name its host there if it is yours.", is_lasting=True
        )
    if not isinstance(error, StatusRefused):
        remedy = "" if isinstance(error, TimedOut) else f" Check the url of {spec.name}."
        return EmbedderUnavailable(f"The embedder {error}.{remedy}")
    if error.status in _ABOUT_THE_TEXT:
        return _TextRefused(str(error))
    if error.status in _PASSING or error.status >= 500:
        return EmbedderUnavailable(f"The embedder {error}.", retry_after_s=error.retry_after_s)
    remedy = "Check its key." if error.status in {401, 403} else "Check the url and the model."
    return EmbedderUnavailable(f"The embedder {error}. {remedy} ({spec.name})", is_lasting=True)
