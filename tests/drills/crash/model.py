"""A second embedder for the drill: a cheap model behind `/v1/embeddings` that can be held half-way."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from search.embedders.hash_embedder import HashEmbedder
from tests.integration.search.embedders.endpoints import answer
from tests.support.http_stub import Exchange, serving

#: As many components as the first embedder's, so that vectors of both could be compared by mistake.
DIM = 64
_QUERY_PREFIX = "asked: "
_HOLD_LIMIT_S = 120.0


class HeldModel:
    """A model that embeds each text reversed, so that its vectors are far from the first embedder's."""

    name = "openai:backwards"

    def __init__(self) -> None:
        self._embedder = HashEmbedder(DIM)
        self._lock = threading.Lock()
        self._hold_at: int | None = None
        self._released = threading.Event()
        #: Set while a request is held.
        self.is_held = threading.Event()
        #: Every requested passage, with repetitions.
        self.passages: list[str] = []

    def hold_at(self, passages: int) -> None:
        """Hold requests for passages once so many passages have been requested."""
        self._hold_at = passages

    def release(self) -> None:
        """Answer held and later requests."""
        self._hold_at = None
        self._released.set()

    def __call__(self, exchange: Exchange) -> None:
        """Answer a request, or hold it."""
        texts = exchange.sent["input"]
        if not texts[0].startswith(_QUERY_PREFIX):
            self._note(texts)
        meant = [text.removeprefix(_QUERY_PREFIX)[::-1] for text in texts]
        answer(exchange, [[float(number) for number in row] for row in self._embedder.embed_passages(meant)])

    def _note(self, texts: list[str]) -> None:
        with self._lock:
            is_held = self._hold_at is not None and len(self.passages) >= self._hold_at
            self.passages += texts
        if is_held:
            self.is_held.set()
            self._released.wait(_HOLD_LIMIT_S)


@contextmanager
def held_model() -> Iterator[tuple[HeldModel, str]]:
    """Serve a model, and yield it with its value for KEBAB_EMBEDDERS. Its time limits never fail a search."""
    model = HeldModel()
    prefix = _QUERY_PREFIX.replace(" ", "+")
    with serving(model) as stub:
        url = stub.url.removesuffix("/rerank")
        options = f"url={url}&dim={DIM}&query_prefix={prefix}&query_limit_s=60&limit_s=300"
        try:
            yield model, f"{model.name}?{options}"
        finally:
            model.release()
