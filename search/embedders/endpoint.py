"""An embedder over HTTP: any endpoint that speaks OpenAI's `/v1/embeddings`."""

import logging
import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np

from kebab.http_client.addresses import names_its_address
from kebab.http_client.endpoint import JsonEndpoint
from kebab.http_client.errors import AddressRefused, OutOfTime, RequestFailed, StatusRefused
from kebab.runtime.context_executor import ContextThreads
from search.embedders.base import SpaceIdentity
from search.embedders.response_parser import BadAnswer, WrongDimension, vectors_of
from search.embedders.spec import USUAL_MAX_TOKENS, EmbedderSpec
from search.endpoints.circuit_breaker import Breaker
from search.retrieval.errors import EmbedderUnavailable

logger = logging.getLogger(__name__)

OPENAI_URL: Final = "https://api.openai.com/v1"
#: Tokens that OpenAI's models read of a text.
OPENAI_MAX_TOKENS: Final = 8_191

# A request is tried again for so long, longer waits are the caller's.
_PATIENCE_S = 10.0
_FIRST_WAIT_S = 0.5
# Refused for what was sent: another, or a shorter, text may be taken.
_ABOUT_THE_TEXT = frozenset({400, 413, 422})
_PASSING = frozenset({408, 409, 425, 429})
# Half a vector's bytes as base64, ten times as many as text; 2,048 of 4,000 numbers would be 90 MB.
_MAX_ANSWER_BYTES = 100_000_000
# A token has some four bytes of English, three of code, of a CJK text a sign of three bytes.
_BYTES_A_TOKEN = 3
# A text of so many characters that is refused is not refused for its length.
_SHORTEST_CHARS = 64
_HEADER_VALUE = re.compile(r"[\x21-\x7e]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """What the settings say about endpoints of all embedders."""

    #: For an embedder that names none.
    url: str = OPENAI_URL
    #: By the lower-cased end of the variable's name; "" is KEBAB_EMBED_API_KEY's own.
    api_keys: dict[str, str] = field(default_factory=dict, repr=False)
    #: Names whose addresses may be private.
    private_hosts: frozenset[str] = frozenset()

    def key_of(self, spec: EmbedderSpec) -> str:
        """Return the key for `spec`, '' for none: another address never gets the default endpoint's.

        Raises: EmbedderUnavailable when a key is named that there is not, or can't be sent.
        """
        name = "" if spec.key is None else spec.key.lower()
        if spec.key is None and spec.url is not None:
            return ""
        variable = f"KEBAB_EMBED_API_KEY{'_' if name else ''}{name.upper()}"
        key = self.api_keys.get(name, "")
        if spec.key is not None and not key:
            raise EmbedderUnavailable(f"{spec.name} needs a key, and {variable} is not set.", is_lasting=True)
        if _HEADER_VALUE.fullmatch(key) is None:
            raise EmbedderUnavailable(
                f"{variable} holds characters that no header may have; give the key alone.", is_lasting=True
            )
        return key


def make_endpoint_embedder(spec: EmbedderSpec, endpoints: Endpoints, *, threads: int) -> "EndpointEmbedder":
    """Return what asks the endpoint that `spec` names. Raises: EmbedderUnavailable when it can't be right."""
    url = spec.url or endpoints.url
    host = urlsplit(url).hostname or ""
    written = frozenset({host}) if host and names_its_address(host) else frozenset[str]()
    key = endpoints.key_of(spec)
    endpoint = JsonEndpoint(
        f"{url}/embeddings",
        headers={"Authorization": f"Bearer {key}"} if key else {},
        private_hosts=endpoints.private_hosts | written,
        max_answer_bytes=_MAX_ANSWER_BYTES,
    )
    return EndpointEmbedder(endpoint, spec, identity_of(spec), threads=threads)


def identity_of(spec: EmbedderSpec) -> SpaceIdentity:
    """Return the space of an endpoint's vectors. Raises: EmbedderUnavailable when its dimension isn't known.

    The address is no part of it: a model may move.
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
    """Asks an endpoint. The first call sends one short text, to see that its vectors are as they should be.

    Passages are asked for in batches, tried again with growing waits for some ten seconds; a query is asked
    for once, and an endpoint that fails three in a row is left alone for half a minute.
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
        """`threads` batches are asked for at once, at least 1."""
        self.space = space
        usual = OPENAI_MAX_TOKENS if spec.traits.can_shorten else USUAL_MAX_TOKENS
        self.max_tokens = spec.max_tokens or usual
        self._endpoint = endpoint
        self._spec = spec
        self._threads = threads
        self._clock = clock
        self._sleep = sleep
        self._checking = threading.Lock()
        self._is_checked = False
        self._breaker = Breaker("the embedder", EmbedderUnavailable, clock=clock)

    def embed_query(self, text: str) -> np.ndarray:
        """Return the vector of `text`, (dim,) float32 of length 1, in time. Raises: EmbedderUnavailable."""
        limit_s = self._spec.query_limit_s
        with self._breaker.attempt():
            # A thread of its own: the resolver keeps no deadline. It is not waited for.
            asking = ContextThreads(1, thread_name_prefix="embed-query")
            asked = [self._cut(self.space.query_prefix + text)]
            try:
                return asking.submit(self._ask_once, asked, limit_s).result(limit_s)[0]
            except TimeoutError as error:
                raise EmbedderUnavailable(f"The embedder did not answer within {limit_s:g} s.") from error
            finally:
                asking.shutdown(wait=False, cancel_futures=True)

    def embed_passages(self, texts: Sequence[str]) -> np.ndarray:
        """Return the texts' vectors, (n, dim) float32 of length 1, in order. Raises: EmbedderUnavailable."""
        if not texts:
            return np.empty((0, self.space.dim), np.float32)
        self._check()
        prepared = [self._cut(self.space.passage_prefix + text) for text in texts]
        with ThreadPoolExecutor(self._threads, thread_name_prefix="embed") as threads:
            return np.concatenate(list(threads.map(self._embed_batch, self._batches(prepared))))

    def close(self) -> None:
        """Close the kept connections."""
        self._endpoint.close()

    def _cut(self, text: str) -> str:
        """Leave out what the model would not read: no token has more than some sixteen characters of text."""
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
        """See with one text that the endpoint gives what it should, before many are sent."""
        with self._checking:
            if self._is_checked:
                return
            try:
                _vectors, is_normalised = self._patiently(["ready"])
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
            return self._patiently(texts)[0]
        except WrongDimension as error:
            raise EmbedderUnavailable(f"The embedder {error}.", is_lasting=True) from error
        except (BadAnswer, _TextRefused) as error:
            # One text among them may be what it can't take: the others shall not suffer for it.
            if len(texts) == 1:
                return self._shortened(texts[0], error)
            half = len(texts) // 2
            return np.concatenate([self._embed_batch(texts[:half]), self._embed_batch(texts[half:])])

    def _shortened(self, text: str, refusal: Exception) -> np.ndarray:
        """Embed the beginning of a text that is refused whole: half of it, a quarter, and so on."""
        chars = len(text) // 2
        while chars >= _SHORTEST_CHARS:
            try:
                return self._patiently([text[:chars]])[0]
            except (BadAnswer, _TextRefused):
                chars //= 2
        raise EmbedderUnavailable(
            f"The embedder {refusal} for one text of {len(text)} characters.", is_lasting=True
        ) from refusal

    def _patiently(self, texts: list[str]) -> tuple[np.ndarray, bool]:
        """Ask until there is an answer or the patience ends.

        Raises: EmbedderUnavailable, BadAnswer, _TextRefused.
        """
        ends_at = self._clock() + _PATIENCE_S
        wait_s = _FIRST_WAIT_S
        while True:
            try:
                return self._ask(texts, self._spec.limit_s)
            except EmbedderUnavailable as error:
                # Jitter, or all workers would come back at once.
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
            answer = self._endpoint.post(self._body(texts), limit_s=limit_s)
        except RequestFailed as error:
            raise _told(error, self._spec) from error
        return vectors_of(answer, count=len(texts), dim=self.space.dim)

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
    """The endpoint does not take what was sent; it may take something else."""


def _told(error: RequestFailed, spec: EmbedderSpec) -> Exception:
    """Return the error to raise for a request that failed."""
    if isinstance(error, AddressRefused):
        return EmbedderUnavailable(
            f"The embedder {error}. Name its host there if it is yours.", is_lasting=True
        )
    if not isinstance(error, StatusRefused):
        remedy = "" if isinstance(error, OutOfTime) else f" Check the url of {spec.name}."
        return EmbedderUnavailable(f"The embedder {error}.{remedy}")
    if error.status in _ABOUT_THE_TEXT:
        return _TextRefused(str(error))
    if error.status in _PASSING or error.status >= 500:
        return EmbedderUnavailable(f"The embedder {error}.", retry_after_s=error.retry_after_s)
    remedy = "Check its key." if error.status in {401, 403} else "Check the url and the model."
    return EmbedderUnavailable(f"The embedder {error}. {remedy} ({spec.name})", is_lasting=True)
