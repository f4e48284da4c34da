"""Hybrid peers: SQL over `tsvector` and pgvector, and LanceDB. Both are given the query's vector."""

from collections.abc import Callable
from pathlib import Path

import lancedb
import numpy as np
import pyarrow
from django.db import connection
from lancedb.rerankers import RRFReranker
from pgvector import HalfVector

from search.retrieval.stopwords import content_terms
from search.vectors.spaces import live_space
from tests.peers.corpus import Corpus

#: Gives the chunk ids of the best ten.
HybridSearch = Callable[[str, np.ndarray], list[str]]

_FUSED = """
WITH words AS (
    SELECT chunk_id, row_number() OVER (ORDER BY ts_rank(tsv, query) DESC, chunk_id) AS rank
    FROM peer_chunks, to_tsquery('english', %(terms)s) query WHERE tsv @@ query
    ORDER BY ts_rank(tsv, query) DESC, chunk_id LIMIT 100
), meanings AS (
    SELECT chunk_id, row_number() OVER (ORDER BY distance, chunk_id) AS rank FROM (
        SELECT chunk_id, embedding <=> %(vector)s AS distance FROM peer_chunks
        ORDER BY embedding <=> %(vector)s LIMIT 100
    ) nearest
)
SELECT chunk_id, coalesce(1.0 / (60 + words.rank), 0) + coalesce(1.0 / (60 + meanings.rank), 0) AS score
FROM words FULL JOIN meanings USING (chunk_id) ORDER BY score DESC, chunk_id LIMIT 10
"""


def sql_fusion(corpus: Corpus, folder: Path) -> HybridSearch:
    """`tsvector` by ts_rank and pgvector by HNSW, fused in one statement, as pgvector's examples do."""
    space = live_space(corpus.workspace)
    assert space is not None
    with connection.cursor() as cursor:
        cursor.execute(
            "SET statement_timeout = 0; SET maintenance_work_mem = '512MB'; SET hnsw.ef_search = 100"
        )
        cursor.execute(
            "CREATE TEMPORARY TABLE peer_chunks AS SELECT c.chunk_id,"
            " to_tsvector('english', c.breadcrumb || ' ' || c.text) AS tsv,"
            " v.embedding"
            " FROM search_chunk c JOIN search_chunkvector v USING (workspace_id, chunk_id)"
            " WHERE c.workspace_id = %s AND v.space_id = %s",
            [corpus.workspace.pk, space.space_id],
        )
        cursor.execute(f"ALTER TABLE peer_chunks ALTER embedding TYPE halfvec({space.dim})")
        cursor.execute("CREATE INDEX ON peer_chunks USING gin (tsv)")
        cursor.execute("CREATE INDEX ON peer_chunks USING hnsw (embedding halfvec_cosine_ops)")
        cursor.execute("ANALYZE peer_chunks")

    def search(query: str, vector: np.ndarray) -> list[str]:
        words = ["".join(filter(str.isalnum, term)) for term in content_terms(query.split())]
        terms = " | ".join(word for word in words if word)
        with connection.cursor() as cursor:
            cursor.execute(
                _FUSED, {"terms": terms, "vector": HalfVector(vector.astype(np.float16)).to_text()}
            )
            return [chunk_id.hex for chunk_id, _ in cursor.fetchall()]

    return search


def lance(corpus: Corpus, folder: Path) -> HybridSearch:
    """LanceDB's own hybrid search, fused by its RRF, over its full-text and vector indexes."""
    rows = [row for row in corpus.rows if row[0] in corpus.vectors]
    vectors = np.stack([corpus.vectors[chunk_id] for chunk_id, _, _ in rows])
    table = lancedb.connect(folder / "lance").create_table(
        "chunks",
        pyarrow.table(
            {
                "chunk_id": [chunk_id for chunk_id, _, _ in rows],
                "text": [f"{breadcrumb}\n{text}" for _, breadcrumb, text in rows],
                "vector": pyarrow.FixedSizeListArray.from_arrays(vectors.ravel(), vectors.shape[1]),
            }
        ),
    )
    table.create_fts_index("text")
    table.create_index(metric="cosine", vector_column_name="vector", index_type="IVF_HNSW_SQ")
    reranker = RRFReranker()

    def search(query: str, vector: np.ndarray) -> list[str]:
        asked = table.search(query_type="hybrid").vector(vector).text(query)
        found = asked.rerank(reranker).select(["chunk_id"]).limit(10).to_arrow()
        return [str(chunk_id) for chunk_id in found["chunk_id"].to_pylist()]

    return search
