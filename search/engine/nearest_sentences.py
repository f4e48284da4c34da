"""The sentence of a passage that is nearest to a query in meaning, where it has none of the words."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from search.embedders.base import Embedder
from search.retrieval.errors import EmbedderUnavailable
from search.retrieval.text.plain_text import Span
from search.retrieval.text.snippet import sentence_starts

# Shorter ones, as headings, belong to what follows them.
_LEAST_CHARS: Final = 25


class NearestSentences:
    """A finder of the nearest sentences of passages, as far as its budget of sentences goes.

    A sentence takes about four milliseconds of the local model.
    """

    def __init__(self, embedder: Embedder, query: str, *, budget: int) -> None:
        self._embedder = embedder
        self._query = query
        self._budget = budget

    def nearest(self, texts: Sequence[str]) -> int | None:
        """Return the number of the nearest text; None if there are none, or more than the budget has left."""
        if not texts or len(texts) > self._budget:
            return None
        self._budget -= len(texts)
        try:
            query = self._embedder.embed_query(self._query)
            vectors = [_vector_of(self._embedder, text) for text in texts]  # type: ignore[arg-type]  # hashed by identity
            return int(np.argmax([vector @ query for vector in vectors]))
        except EmbedderUnavailable:
            return None

    def nearest_span(self, text: str) -> Span | None:
        """Return start and end of the nearest sentence of `text`; None where `nearest` returns it."""
        spans = list(_sentence_spans(text))
        found = self.nearest([text[start:end] for start, end in spans])
        return None if found is None else spans[found]


# Pages that are found often are found again: 3 MB.
@lru_cache(maxsize=2_000)
def _vector_of(embedder: Embedder, text: str) -> np.ndarray:
    vector: np.ndarray = embedder.embed_passages([text])[0]
    return vector


def _sentence_spans(text: str) -> Iterator[Span]:
    start = 0
    for end in [*sentence_starts(text), len(text)]:
        if end - start >= _LEAST_CHARS or (end == len(text) > start):
            yield start, end
            start = end
