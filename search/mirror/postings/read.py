"""Reads of posting lists and of the table of chunks, in the caller's transaction."""

import json
import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import apsw
import numpy as np

from search.mirror.errors import MirrorDamaged
from search.mirror.postings.entries import BLOCK_ROWS, COLUMNS, KINDS, Postings

_ENTRIES = """
SELECT p.term, p.entries FROM parts q CROSS JOIN json_each(?) t CROSS JOIN postings p
ON p.part = q.part AND p.term = t.value ORDER BY q.part
"""
_BLOCKS = "SELECT block, lengths, docs, kinds, ids FROM blocks ORDER BY block"


#: bm25's constants, as FTS5 has them.
K1 = 1.2
_B = 0.75
_LEAST_IDF = 1e-6


@dataclass(frozen=True, slots=True)
class ChunkTable:
    """The data of each chunk that ranking needs, by row. A row without a chunk belongs to document 0."""

    #: (n,) tokens over all columns.
    lengths: np.ndarray
    #: (n,) document rows.
    docs: np.ndarray
    #: (n,) indexes in KINDS.
    kinds: np.ndarray
    #: (n,) ID.
    ids: np.ndarray
    #: Number of chunks.
    chunk_count: int
    #: (n,) float64: k1 · (1 − b + b · length / average length).
    damping: np.ndarray

    @staticmethod
    def of(lengths: np.ndarray, docs: np.ndarray, kinds: np.ndarray, ids: np.ndarray) -> "ChunkTable":
        """Create the table from its columns."""
        count = int(np.count_nonzero(docs))
        average = lengths.sum() / count if count else 0.0
        damping = K1 * (1 - _B + _B * lengths / (average or 1.0))
        return ChunkTable(lengths, docs, kinds, ids, count, damping)

    def are_of(self, kinds: Collection[str]) -> np.ndarray:
        """Return (n,) bool, whether each row's chunk is of one of `kinds`."""
        return np.isin(self.kinds, [KINDS.index(kind) for kind in kinds])


def read_chunk_table(connection: apsw.Connection) -> ChunkTable:
    """Read the table of chunks, up to the highest row that any chunk had. Raises MirrorDamaged."""
    blocks = list(connection.execute(_BLOCKS))
    n_rows = (blocks[-1][0] + 1) * BLOCK_ROWS if blocks else 0
    columns = tuple(np.zeros(n_rows, type_) for type_ in COLUMNS)
    for block, *blobs in blocks:
        at = slice(block * BLOCK_ROWS, (block + 1) * BLOCK_ROWS)
        for column, blob in zip(columns, blobs, strict=True):
            if len(blob) != BLOCK_ROWS * column.itemsize:
                raise MirrorDamaged("A block of the table of chunks has another size.")
            column[at] = np.frombuffer(blob, column.dtype)
    return ChunkTable.of(*columns)


def read_postings(connection: apsw.Connection, terms: Iterable[str]) -> dict[str, Postings]:
    """Return the postings of those of `terms` that any chunk has. Raises MirrorDamaged."""
    blobs: dict[str, list[bytes]] = {}
    for term, entries in read_entries(connection, terms):
        blobs.setdefault(term, []).append(entries)
    return {term: Postings.from_blobs(found) for term, found in blobs.items()}


def read_entries(connection: apsw.Connection, terms: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Return the parts of the posting lists of `terms`, each term's in ascending order."""
    return connection.execute(_ENTRIES, (json.dumps(sorted(set(terms))),))


def idf(chunk_count: int, having: int) -> float:
    """Return the idf of a term that `having` of `chunk_count` chunks have, with FTS5's floor of 1e-6."""
    worth = math.log((chunk_count - having + 0.5) / (having + 0.5))
    return worth if worth > 0 else _LEAST_IDF
