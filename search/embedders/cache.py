"""A cache of the vectors of recent queries."""

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Final

import numpy as np

from search.embedders.base import Embedder, SpaceIdentity, WordEmbedder

DEFAULT_QUERIES: Final = 1_024
#: longer queries are not cached, which bounds the memory of the keys
CACHED_CHARS: Final = 1_000


class CachedQueryEmbedder:
    """An embedder with an LRU cache of the vectors of queries; passages are not cached."""

    def __init__(self, embedder: Embedder, *, max_queries: int = DEFAULT_QUERIES) -> None:
        self._embedder = embedder
        self._word_vectors = embedder.word_vectors if isinstance(embedder, WordEmbedder) else None
        self._max_queries = max_queries
        self._vectors: OrderedDict[tuple[SpaceIdentity, str], np.ndarray] = OrderedDict()
        self._lock = Lock()

    @property
    def space(self) -> SpaceIdentity:
        """Return that of the wrapped embedder."""
        return self._embedder.space

    @property
    def max_tokens(self) -> int:
        """Return that of the wrapped embedder."""
        return self._embedder.max_tokens

    def embed_query(self, text: str) -> np.ndarray:
        """Return the vector of a query, (dim,) float32 of length 1, read-only.

        Raises: EmbedderUnavailable.
        """
        key = (self.space, text)
        with self._lock:
            known = self._vectors.get(key)
            if known is not None:
                self._vectors.move_to_end(key)
                return known
        # Outside the lock: two threads may embed the same text, but none waits for another.
        vector = self._embedder.embed_query(text)
        vector.flags.writeable = False
        if len(text) <= CACHED_CHARS:
            self._remember(key, vector)
        return vector

    def embed_passages(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of passages, uncached, (n, dim) float32, in order.

        Raises: EmbedderUnavailable.
        """
        return self._embedder.embed_passages(texts)

    def word_vectors(self, text: str) -> np.ndarray | None:
        """Return those of the wrapped embedder, uncached; None without any. Raises: EmbedderUnavailable."""
        return None if self._word_vectors is None else self._word_vectors(text)

    def _remember(self, key: tuple[SpaceIdentity, str], vector: np.ndarray) -> None:
        with self._lock:
            self._vectors[key] = vector
            self._vectors.move_to_end(key)
            while len(self._vectors) > self._max_queries:
                self._vectors.popitem(last=False)
