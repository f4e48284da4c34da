"""Chroma's persistent client with given vectors; its local search uses vectors alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
from chromadb.config import Settings

from tests.drills.bench.peers.corpus import Corpus
from tests.drills.bench.peers.registry import PeerSearch

#: The collection's name.
COLLECTION = "chunks"


@contextmanager
def open_index(corpus: Corpus, folder: Path) -> Iterator[PeerSearch]:
    """Write the corpus as a collection on disk and search it in this process."""
    client = chromadb.PersistentClient(path=str(folder), settings=Settings(anonymized_telemetry=False))
    collection = fill(client, corpus)

    def search(query: str, vector: np.ndarray, k: int) -> list[str]:
        found: list[list[str]] = collection.query(query_embeddings=[vector], n_results=k, include=[])["ids"]
        return found[0]

    yield search


def fill(client: Any, corpus: Corpus) -> Any:
    """Write the corpus with its texts, and return the collection."""
    collection = client.create_collection(
        COLLECTION, configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
    )
    passages, step = corpus.passages, client.get_max_batch_size()
    for start in range(0, len(corpus), step):
        chosen = slice(start, start + step)
        collection.add(
            ids=corpus.chunk_ids[chosen], embeddings=corpus.vectors[chosen], documents=passages[chosen]
        )
    return collection
