"""Reading posting lists and the table of chunks, in the caller's transaction."""

import json
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from threading import Lock

import apsw
import numpy as np

from search.mirror.errors import MirrorDamaged
from search.mirror.postings.entries import BLOCK_ROWS, COLUMNS, ENTRY, KINDS, Postings

_ENTRIES = """
SELECT p.term, p.entries FROM parts q CROSS JOIN json_each(?) t CROSS JOIN postings p
ON p.part = q.part AND p.term = t.value ORDER BY q.part
"""
# A blob's length is known without reading it.
_FREQUENCY = """
SELECT coalesce(sum(length(p.entries)), 0)
FROM parts q CROSS JOIN postings p ON p.part = q.part AND p.term = ?
"""
_BLOCKS = "SELECT block, lengths, docs, kinds FROM blocks ORDER BY block"


#: bm25's constants, as FTS5 has them.
K1 = 1.2
_B = 0.75


@dataclass(frozen=True, slots=True)
class ChunkTable:
    """What ranking needs of each chunk, by row. A row that no chunk has belongs to document 0."""

    #: (n,) tokens over all columns.
    lengths: np.ndarray
    #: (n,) document rows.
    docs: np.ndarray
    #: (n,) places in KINDS.
    kinds: np.ndarray
    #: How many chunks there are.
    chunk_count: int
    #: (n,) float64: k1 · (1 − b + b · length / average length).
    damping: np.ndarray

    @staticmethod
    def of(lengths: np.ndarray, docs: np.ndarray, kinds: np.ndarray) -> "ChunkTable":
        """Make the table from its columns."""
        count = int(np.count_nonzero(docs))
        average = lengths.sum() / count if count else 0.0
        damping = K1 * (1 - _B + _B * lengths / (average or 1.0))
        return ChunkTable(lengths, docs, kinds, count, damping)

    def are_of(self, kinds: Collection[str]) -> np.ndarray:
        """Give (n,) bool, whether each row is of one of `kinds`."""
        return np.isin(self.kinds, [KINDS.index(kind) for kind in kinds])


def read_chunk_table(connection: apsw.Connection) -> ChunkTable:
    """Read the table; rows go up to the highest that any chunk had. Raises MirrorDamaged."""
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


class RecentTables:
    """The chunk tables that this process read last, each by its file and the change it shows.

    Reading one of 125,000 chunks takes longer than scoring a query with it: 1.5 of 2.4 ms.
    """

    def __init__(self, max_rows: int = 2_000_000) -> None:
        """`max_rows` bounds all tables together; a row takes 17 bytes."""
        self._max_rows = max_rows
        self._tables: OrderedDict[tuple[str, int], ChunkTable] = OrderedDict()
        self._lock = Lock()

    def get(self, connection: apsw.Connection, seq: int) -> ChunkTable:
        """Give the table of a connection whose transaction shows the change `seq`."""
        key = (connection.filename, seq)
        with self._lock:
            table = self._tables.get(key)
            if table is not None:
                self._tables.move_to_end(key)
                return table
        table = read_chunk_table(connection)
        with self._lock:
            self._forget_older(key)
            self._tables[key] = table
            while len(self._tables) > 1 and sum(len(t.docs) for t in self._tables.values()) > self._max_rows:
                self._tables.popitem(last=False)
        return table

    def _forget_older(self, key: tuple[str, int]) -> None:
        for file, seq in list(self._tables):
            if file == key[0] and seq < key[1]:
                del self._tables[file, seq]


def read_postings(connection: apsw.Connection, terms: Collection[str]) -> dict[str, Postings]:
    """Give the postings of those of `terms` that any chunk has. Raises MirrorDamaged."""
    blobs: dict[str, list[bytes]] = {}
    for term, entries in connection.execute(_ENTRIES, (json.dumps(sorted(terms)),)):
        blobs.setdefault(term, []).append(entries)
    return {term: Postings.unpacked(found) for term, found in blobs.items()}


def document_frequency(connection: apsw.Connection, term: str) -> int:
    """Give how many chunks have an index term."""
    size_bytes: int = connection.execute(_FREQUENCY, (term,)).fetchone()[0]
    return size_bytes // ENTRY.itemsize
