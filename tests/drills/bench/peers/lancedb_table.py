"""LanceDB's own hybrid search, fused by its RRF, over its full-text and vector indexes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tests.drills.bench.peers.corpus import Corpus
from tests.drills.bench.peers.registry import PeerSearch

# Training the index needs as many vectors as it has centroids; fewer vectors are scanned.
_INDEXED_FROM = 1_000


@contextmanager
def open_index(corpus: Corpus, folder: Path) -> Iterator[PeerSearch]:
    """Write the corpus as a table on disk and search it in this process."""
    # Read at import; without it each search writes two warnings.
    os.environ.setdefault("LANCEDB_LOG", "error")
    import lancedb
    import pyarrow
    from lancedb.index import FTS, HnswSq
    from lancedb.rerankers import RRFReranker

    vectors = pyarrow.FixedSizeListArray.from_arrays(corpus.vectors.ravel(), corpus.vectors.shape[1])
    columns = {"chunk_id": corpus.chunk_ids, "text": corpus.passages, "vector": vectors}
    table = lancedb.connect(folder).create_table("chunks", pyarrow.table(columns))
    table.create_index("text", config=FTS())
    if len(corpus) >= _INDEXED_FROM:
        table.create_index("vector", config=HnswSq(distance_type="cosine"))
    reranker = RRFReranker()

    def search(query: str, vector: np.ndarray, k: int) -> list[str]:
        query_builder = table.search(query_type="hybrid").vector(vector).text(query)
        found = query_builder.rerank(reranker).select(["chunk_id"]).limit(k).to_arrow()
        return [str(chunk_id) for chunk_id in found["chunk_id"].to_pylist()]

    yield search
