"""Reading posting lists and the table of chunks, in the caller's transaction."""

import json
from collections.abc import Collection
from dataclasses import dataclass

import apsw
import numpy as np

from search.mirror.postings.entries import BLOCK_ROWS, Postings

_ENTRIES = """
SELECT p.term, p.entries FROM parts q CROSS JOIN json_each(?) t CROSS JOIN postings p
ON p.part = q.part AND p.term = t.value ORDER BY q.part
"""
_BLOCKS = "SELECT block, lengths, docs FROM blocks ORDER BY block"


@dataclass(frozen=True, slots=True)
class ChunkTable:
    """What ranking needs of each chunk, by row. A row that no chunk has belongs to document 0."""

    #: (n,) tokens over all columns.
    lengths: np.ndarray
    #: (n,) document rows.
    docs: np.ndarray

    @property
    def chunk_count(self) -> int:
        """How many chunks there are."""
        return int(np.count_nonzero(self.docs))


def read_chunk_table(connection: apsw.Connection) -> ChunkTable:
    """Read the table; rows go up to the highest that any chunk had."""
    blocks = list(connection.execute(_BLOCKS))
    n_rows = (blocks[-1][0] + 1) * BLOCK_ROWS if blocks else 0
    lengths, docs = np.zeros(n_rows, "<u4"), np.zeros(n_rows, "<u4")
    for block, block_lengths, block_docs in blocks:
        at = slice(block * BLOCK_ROWS, (block + 1) * BLOCK_ROWS)
        lengths[at] = np.frombuffer(block_lengths, "<u4")
        docs[at] = np.frombuffer(block_docs, "<u4")
    return ChunkTable(lengths, docs)


def read_postings(connection: apsw.Connection, terms: Collection[str]) -> dict[str, Postings]:
    """Give the postings of those of `terms` that any chunk has."""
    blobs: dict[str, list[bytes]] = {}
    for term, entries in connection.execute(_ENTRIES, (json.dumps(sorted(terms)),)):
        blobs.setdefault(term, []).append(entries)
    return {term: Postings.unpacked(found) for term, found in blobs.items()}
