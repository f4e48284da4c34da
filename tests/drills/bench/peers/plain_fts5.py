"""Plain FTS5, used as in its documentation."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import numpy as np

from search.retrieval.query.stopwords import content_terms
from tests.drills.bench.peers.corpus import Corpus
from tests.drills.bench.peers.registry import PeerSearch

_TABLE = """
CREATE VIRTUAL TABLE chunks USING fts5 (chunk_id UNINDEXED, breadcrumb, text, tokenize = 'porter unicode61')
"""
_SEARCH = "SELECT chunk_id FROM chunks WHERE chunks MATCH ? ORDER BY bm25(chunks) LIMIT ?"


@contextmanager
def open_index(corpus: Corpus, folder: Path) -> Iterator[PeerSearch]:
    """Index the corpus in a file of its own."""
    with closing(apsw.Connection(str(folder / "plain.sqlite3"))) as connection:
        connection.execute(_TABLE)
        rows = zip(corpus.chunk_ids, corpus.breadcrumbs, corpus.texts, strict=True)
        with connection:
            connection.executemany("INSERT INTO chunks VALUES (?, ?, ?)", rows)
        connection.execute("INSERT INTO chunks (chunks) VALUES ('optimize')")

        def search(query: str, vector: np.ndarray, k: int) -> list[str]:
            terms = content_terms(query.split())
            expression = " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)
            return [chunk_id for (chunk_id,) in connection.execute(_SEARCH, (expression, k))]

        yield search
