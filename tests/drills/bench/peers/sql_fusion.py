"""SQL alone: `tsvector` by ts_rank and pgvector by HNSW, fused in one statement as pgvector's examples do."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from pgvector import HalfVector
from psycopg import Connection

from kebab.tenancy.roles import owner_connection
from search.retrieval.query.stopwords import content_terms
from tests.drills.bench.peers.corpus import Corpus
from tests.drills.bench.peers.registry import PeerSearch

# pgvector allows no more candidates.
_MOST_EF_SEARCH = 1_000
_DEPTH = 100
_COPY = "COPY peer_chunks (chunk_id, passage, embedding) FROM STDIN"
_FUSED = """
WITH words AS (
    SELECT chunk_id, row_number() OVER (ORDER BY ts_rank(tsv, query) DESC, chunk_id) AS rank
    FROM peer_chunks, to_tsquery('english', %(terms)s) query WHERE tsv @@ query
    ORDER BY ts_rank(tsv, query) DESC, chunk_id LIMIT %(depth)s
), meanings AS (
    SELECT chunk_id, row_number() OVER (ORDER BY distance, chunk_id) AS rank FROM (
        SELECT chunk_id, embedding <=> %(vector)s::halfvec AS distance FROM peer_chunks
        ORDER BY embedding <=> %(vector)s::halfvec LIMIT %(depth)s
    ) nearest
)
SELECT chunk_id, coalesce(1.0 / (60 + words.rank), 0) + coalesce(1.0 / (60 + meanings.rank), 0) AS score
FROM words FULL JOIN meanings USING (chunk_id) ORDER BY score DESC, chunk_id LIMIT %(k)s
"""


@contextmanager
def open_index(corpus: Corpus, folder: Path) -> Iterator[PeerSearch]:
    """Index the corpus in a temporary table of the same server. Raises NotTheOwner."""
    with owner_connection() as connection:
        _fill(connection, corpus)

        def search(query: str, vector: np.ndarray, k: int) -> list[str]:
            words = ["".join(filter(str.isalnum, term)) for term in content_terms(query.split())]
            values: dict[str, Any] = {
                "terms": " | ".join(word for word in words if word),
                "vector": _literal(vector),
                "depth": max(_DEPTH, k),
                "k": k,
            }
            if k > _DEPTH:
                connection.execute(f"SET hnsw.ef_search = {min(_MOST_EF_SEARCH, k)}")
            return [chunk_id for chunk_id, _ in connection.execute(_FUSED, values)]

        yield search


def _fill(connection: Connection, corpus: Corpus) -> None:
    dim = corpus.vectors.shape[1]
    connection.execute("SET maintenance_work_mem = '512MB'")
    connection.execute(f"SET hnsw.ef_search = {_DEPTH}")
    connection.execute(
        "CREATE TEMPORARY TABLE peer_chunks (chunk_id text, passage text, embedding halfvec"
        f"({int(dim)}), tsv tsvector GENERATED ALWAYS AS (to_tsvector('english', passage)) STORED)"
    )
    with connection.transaction(), connection.cursor() as cursor, cursor.copy(_COPY) as copy:
        for chunk_id, passage, vector in zip(corpus.chunk_ids, corpus.passages, corpus.vectors, strict=True):
            copy.write_row((chunk_id, passage, _literal(vector)))
    connection.execute("CREATE INDEX ON peer_chunks USING gin (tsv)")
    connection.execute("CREATE INDEX ON peer_chunks USING hnsw (embedding halfvec_cosine_ops)")
    connection.execute("ANALYZE peer_chunks")


def _literal(vector: np.ndarray) -> str:
    text: str = HalfVector(vector.astype(np.float16)).to_text()
    return text
