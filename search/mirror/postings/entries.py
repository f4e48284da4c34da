"""Binary formats of posting list entries and of the table of chunks."""

import json
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

import apsw
import numpy as np

from search.mirror.files import MirrorDamaged
from search.retrieval.fusion.copies import HEADINGS_ALONE, NO_KEY
from search.retrieval.fusion.legs import ID

ENTRY: Final = np.dtype([("in_text", "<u2"), ("in_breadcrumb", "<u2"), ("row", "<u4")])
#: The largest count of a term in one column; higher counts are capped.
MOST: Final = 0xFFFF
#: Rows per block of the table of chunks.
BLOCK_ROWS: Final = 4_096
#: Its columns: tokens over all columns of the index, the document's row, the index of its kind, the id, the
#: key of its text.
COLUMNS: Final[tuple[np.dtype, ...]] = (
    np.dtype("<u4"),
    np.dtype("<u4"),
    np.dtype("u1"),
    ID,
    np.dtype("<u8"),
)
# A shorter text says too little without its headings to be a copy of another: "None.", "See above."
_LEAST_COPIED_CHARS = 40
KINDS: Final = ("info", "code")


def text_key(text: str) -> int:
    """Return a number of 64 bits that equal texts share.

    It is NO_KEY for a text that is too short to be a copy, and HEADINGS_ALONE for none but headings.
    """
    if all(not line.strip() or line.startswith("#") for line in text.splitlines()):
        return HEADINGS_ALONE
    if len(text) < _LEAST_COPIED_CHARS:
        return NO_KEY
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


# Bit offsets of the row and of the breadcrumb's count, and the mask of a count.
_ROW, _IN_BREADCRUMB, _COUNT = np.uint64(32), np.uint64(16), np.uint64(MOST)


def pack_entry(row: int, in_breadcrumb: int, in_text: int) -> int:
    """Return the entry of one chunk; neither count is over MOST."""
    return row << 32 | in_breadcrumb << 16 | in_text


@dataclass(frozen=True, slots=True)
class Postings:
    """The chunks that have a term, by row, with its counts in each column."""

    #: (n,) uint64, ascending, as `pack_entry` makes them.
    packed: np.ndarray

    def __len__(self) -> int:
        return len(self.packed)

    @property
    def rows(self) -> np.ndarray:
        """(n,) int64, ascending."""
        return (self.packed >> _ROW).view(np.int64)

    @property
    def last_row(self) -> int:
        """Return the highest row, -1 without any."""
        return int(self.packed[-1]) >> int(_ROW) if len(self.packed) else -1

    @property
    def in_breadcrumb(self) -> np.ndarray:
        """(n,) float64."""
        return (self.packed >> _IN_BREADCRUMB & _COUNT).astype(np.float64)

    @property
    def in_text(self) -> np.ndarray:
        """(n,) float64."""
        return (self.packed & _COUNT).astype(np.float64)

    def at(self, rows: np.ndarray) -> tuple[np.ndarray, "Postings"]:
        """Return (m,) bool, which of the `(m,)` rows have the term, and the entries of those, in order."""
        if not len(self.packed):
            return np.zeros(len(rows), bool), self
        places = self.packed.searchsorted(rows.astype(np.uint64) << _ROW)
        found = self.packed[np.minimum(places, len(self.packed) - 1)]
        has = found >> _ROW == rows.astype(np.uint64)
        return has, Postings(found[has])

    def among(self, members: np.ndarray) -> "Postings":
        """Return the entries of rows in `members`, (n,) bool by row. Raises MirrorDamaged."""
        return Postings(self.packed[are_among(self.rows, members)])

    @staticmethod
    def from_blobs(blobs: Iterable[bytes]) -> "Postings":
        """Create postings from blobs of entries, ascending over all blobs. Raises MirrorDamaged."""
        return Postings(_entries(b"".join(blobs)).view("<u8"))

    @staticmethod
    def union(alternatives: Sequence["Postings"]) -> "Postings":
        """Return the union of alternative lists; a chunk in several gets the largest of its counts.

        That equals FTS5's count where the positions of one include those of the other, as with stems of the
        same words.
        """
        rows, places = np.unique(np.concatenate([each.rows for each in alternatives]), return_inverse=True)
        columns = []
        for name in ("in_breadcrumb", "in_text"):
            column = np.zeros(len(rows))
            np.maximum.at(column, places, np.concatenate([getattr(each, name) for each in alternatives]))
            columns.append(column.astype(np.uint64))
        return Postings(rows.astype(np.uint64) << _ROW | columns[0] << _IN_BREADCRUMB | columns[1])


def are_among(rows: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Return (n,) bool, whether each of `rows` (ascending) is in `members`, (m,) bool by row.

    Raises MirrorDamaged.
    """
    if len(rows) and rows[-1] >= len(members):
        raise MirrorDamaged("A posting list names chunks that there are not.")
    among: np.ndarray = members[rows]
    return among


def without_rows(blob: bytes, rows: np.ndarray) -> bytes:
    """Return the entries in `blob` without those of `rows`. Raises MirrorDamaged."""
    entries = _entries(blob)
    return entries[~np.isin(entries["row"], rows)].tobytes()


def entry_rows(blob: bytes) -> np.ndarray:
    """Return the rows of the chunks in `blob`, ascending. Raises MirrorDamaged."""
    return _entries(blob)["row"]


def _entries(blob: bytes) -> np.ndarray:
    if len(blob) % ENTRY.itemsize:
        raise MirrorDamaged("A posting list ends within an entry.")
    return np.frombuffer(blob, ENTRY)


_ENTRIES = """
SELECT p.term, p.entries FROM parts q CROSS JOIN json_each(?) t CROSS JOIN postings p
ON p.part = q.part AND p.term = t.value ORDER BY q.part
"""
_BLOCKS = "SELECT block, lengths, docs, kinds, ids, text_keys FROM blocks ORDER BY block"


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
    #: (n,) uint64 of `text_key`.
    text_keys: np.ndarray
    #: Number of chunks.
    chunk_count: int
    #: (n,) float64: k1 · (1 − b + b · length / average length).
    damping: np.ndarray

    @staticmethod
    def of(
        lengths: np.ndarray, docs: np.ndarray, kinds: np.ndarray, ids: np.ndarray, text_keys: np.ndarray
    ) -> "ChunkTable":
        """Create the table from its columns."""
        count = int(np.count_nonzero(docs))
        average = lengths.sum() / count if count else 0.0
        damping = K1 * (1 - _B + _B * lengths / (average or 1.0))
        return ChunkTable(lengths, docs, kinds, ids, text_keys, count, damping)

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
