"""The index's own words: its terms, which are stems, by how they begin, and chunks that have them."""

import json
from collections.abc import Collection, Iterable

import apsw

from search.analysis import analysed_phrase
from search.mirror.filters import Clause
from search.retrieval.definitions import Passage

# Behind every letter.
_LAST = "\U0010ffff"

_BEGINNING = (
    "SELECT v.term, v.doc FROM json_each(?) b CROSS JOIN chunks_vocab v"
    " WHERE v.term >= b.value AND v.term < b.value || ?"
)
_OF_TERMS = "SELECT v.term, v.doc FROM json_each(?) t CROSS JOIN chunks_vocab v WHERE v.term = t.value"
_SAMPLE = "SELECT chunk_id, breadcrumb, text FROM chunks_fts WHERE chunks_fts MATCH ? {clause} LIMIT ?"


def terms_beginning(connection: apsw.Connection, beginnings: Collection[str]) -> dict[str, int]:
    """Give the terms that begin with any of `beginnings`, each with the number of chunks that have it."""
    return dict(connection.execute(_BEGINNING, (json.dumps(sorted(beginnings)), _LAST)))


def chunk_counts(connection: apsw.Connection, terms: Iterable[str]) -> dict[str, int]:
    """Give those of `terms` that the index has, each with the number of chunks that have it."""
    return dict(connection.execute(_OF_TERMS, (json.dumps(sorted(set(terms))),)))


def sample(connection: apsw.Connection, expression: str, clause: Clause, limit: int) -> list[Passage]:
    """Give the first `limit` chunks that `expression` matches under the filters."""
    rows = connection.execute(_SAMPLE.format(clause=clause.sql), (expression, *clause.values, limit))
    return [Passage(chunk_id=row[0], breadcrumb=row[1], text=row[2]) for row in rows]


def of_terms(*terms: str) -> str:
    """Give the expression of these terms one behind the other."""
    return analysed_phrase([(term,) for term in terms])
