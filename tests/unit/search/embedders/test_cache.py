"""The cache of query vectors."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from search.embedders.cache import CACHED_CHARS, CachedQueryEmbedder
from search.embedders.hash_embedder import HashEmbedder


class CountingEmbedder(HashEmbedder):
    """Records the texts that it is asked to embed."""

    def __init__(self) -> None:
        super().__init__(8)
        self.asked: list[str] = []

    def embed_query(self, text: str) -> np.ndarray:
        self.asked.append(text)
        return super().embed_query(text)


@pytest.fixture
def counting() -> CountingEmbedder:
    return CountingEmbedder()


def _ask(cached: CachedQueryEmbedder, texts: Sequence[str]) -> None:
    for text in texts:
        cached.embed_query(text)


def test_recent_queries_are_remembered_and_passages_go_through(counting: CountingEmbedder):
    cached = CachedQueryEmbedder(counting)
    np.testing.assert_array_equal(cached.embed_query("a"), cached.embed_query("a"))
    np.testing.assert_array_equal(cached.embed_query("a"), HashEmbedder(8).embed_query("a"))
    assert counting.asked == ["a"]
    with pytest.raises(ValueError, match="read-only"):
        CachedQueryEmbedder(counting).embed_query("a")[0] = 5
    np.testing.assert_array_equal(cached.embed_passages(["a", "b"]), counting.embed_passages(["a", "b"]))
    assert (cached.space, cached.max_tokens) == (counting.space, counting.max_tokens)


def test_cache_forgets_old_and_very_long_queries(counting: CountingEmbedder):
    _ask(CachedQueryEmbedder(counting, max_queries=2), ["a", "b", "a", "c", "a", "b"])
    assert counting.asked == ["a", "b", "c", "b"]
    long = "x" * (CACHED_CHARS + 1)
    _ask(CachedQueryEmbedder(counting), [long, long])
    assert counting.asked[-2:] == [long, long]


def test_threads_share_it_and_it_stays_bounded(counting: CountingEmbedder):
    cached = CachedQueryEmbedder(counting, max_queries=5)
    texts = [str(number % 11) for number in range(500)]
    with ThreadPoolExecutor(8) as pool:
        vectors = list(pool.map(cached.embed_query, texts))
    np.testing.assert_array_equal(vectors, HashEmbedder(8).embed_passages(texts))
    assert len(cached._vectors) == 5
