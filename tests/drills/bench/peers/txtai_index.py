"""txtai's hybrid index: Faiss over given vectors, and its BM25."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from txtai.embeddings import Embeddings

from tests.drills.bench.peers.corpus import Corpus
from tests.drills.bench.peers.registry import PeerSearch


@contextmanager
def open_index(corpus: Corpus, folder: Path) -> Iterator[PeerSearch]:
    """Index the corpus in this process."""
    logging.getLogger("faiss").setLevel(logging.WARNING)  # else it tells which library it loads
    known: dict[str, np.ndarray] = {}
    embeddings = build_index(corpus, known)

    def search(query: str, vector: np.ndarray, k: int) -> list[str]:
        known[query] = vector
        return [str(chunk_id) for chunk_id, _ in embeddings.search(query, k)]

    try:
        yield search
    finally:
        embeddings.close()


def build_index(corpus: Corpus, known: dict[str, np.ndarray]) -> Any:
    """Return a hybrid index of the corpus that takes the vector of a text from `known`.

    It holds the passages' vectors during indexing; afterwards the caller adds the query's.
    """

    def look_up(texts: list[str]) -> np.ndarray:
        return vectors_of(texts, known)

    embeddings = Embeddings({"method": "external", "transform": look_up, "hybrid": True, "content": False})
    passages = corpus.passages
    known.update(zip(passages, corpus.vectors, strict=True))
    embeddings.index(zip(corpus.chunk_ids, passages, strict=True))
    known.clear()
    return embeddings


def vectors_of(texts: list[str], known: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the vectors of texts that are known, (n, dim) float32."""
    return np.stack([known[text] for text in texts])
