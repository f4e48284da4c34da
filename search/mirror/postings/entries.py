"""How an entry of a posting list is packed, and what the table of chunks holds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from search.mirror.errors import MirrorDamaged

ENTRY: Final = np.dtype([("in_text", "<u2"), ("in_breadcrumb", "<u2"), ("row", "<u4")])
#: What a chunk has more often in one column is counted as this.
MOST: Final = 0xFFFF
#: Rows to a block of the table of chunks.
BLOCK_ROWS: Final = 4_096
#: Its columns: tokens over all columns of the index, the document's row, the place of its kind in KINDS.
COLUMNS: Final = (np.dtype("<u4"), np.dtype("<u4"), np.dtype("u1"))
KINDS: Final = ("info", "code")


# Where a row and its count of the breadcrumb begin, and what a count fills.
_ROW, _IN_BREADCRUMB, _COUNT = np.uint64(32), np.uint64(16), np.uint64(MOST)


def pack(row: int, in_breadcrumb: int, in_text: int) -> int:
    """Return the entry of one chunk; neither count is over MOST."""
    return row << 32 | in_breadcrumb << 16 | in_text


@dataclass(frozen=True, slots=True)
class Postings:
    """The chunks that have a term, by row, and how often in each column."""

    #: (n,) uint64, ascending, as `pack` makes them.
    packed: np.ndarray

    def __len__(self) -> int:
        return len(self.packed)

    @property
    def rows(self) -> np.ndarray:
        """(n,) int64, ascending."""
        return (self.packed >> _ROW).astype(np.int64)

    @property
    def last_row(self) -> int:
        """Return the highest, -1 without any."""
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
        """Return (m,) bool, which of the `(m,)` rows have the term, and the entries of those in order."""
        if not len(self.packed):
            return np.zeros(len(rows), bool), self
        places = np.searchsorted(self.packed, rows.astype(np.uint64) << _ROW)
        found = self.packed[np.minimum(places, len(self.packed) - 1)]
        has = found >> _ROW == rows.astype(np.uint64)
        return has, Postings(found[has])

    def among(self, members: np.ndarray) -> "Postings":
        """Return those of the rows that `members`, (n,) bool by row, holds. Raises MirrorDamaged."""
        return Postings(self.packed[are_among(self.rows, members)])

    @staticmethod
    def unpacked(blobs: Iterable[bytes]) -> "Postings":
        """Read blobs of entries; together they are ascending. Raises MirrorDamaged."""
        return Postings(_entries(b"".join(blobs)).view("<u8"))

    @staticmethod
    def united(alternatives: Sequence["Postings"]) -> "Postings":
        """Unite lists of alternatives; a chunk has the larger of its counts.

        That is FTS5's count where the places of one include those of the other, as stems of the same words
        do.
        """
        rows, places = np.unique(np.concatenate([each.rows for each in alternatives]), return_inverse=True)
        columns = []
        for name in ("in_breadcrumb", "in_text"):
            column = np.zeros(len(rows))
            np.maximum.at(column, places, np.concatenate([getattr(each, name) for each in alternatives]))
            columns.append(column.astype(np.uint64))
        return Postings(rows.astype(np.uint64) << _ROW | columns[0] << _IN_BREADCRUMB | columns[1])


def are_among(rows: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Return (n,) bool, whether `members`, (m,) bool by row, holds each of `rows`. Raises MirrorDamaged.

    `rows` are ascending.
    """
    if len(rows) and rows[-1] >= len(members):
        raise MirrorDamaged("A posting list names chunks that there are not.")
    return members[rows]


def without_rows(blob: bytes, rows: np.ndarray) -> bytes:
    """Return the entries in `blob` without those of `rows`. Raises MirrorDamaged."""
    entries = _entries(blob)
    return entries[~np.isin(entries["row"], rows)].tobytes()


def rows_of(blob: bytes) -> np.ndarray:
    """Return the rows of the chunks in `blob`, ascending. Raises MirrorDamaged."""
    return _entries(blob)["row"]


def _entries(blob: bytes) -> np.ndarray:
    if len(blob) % ENTRY.itemsize:
        raise MirrorDamaged("A posting list ends within an entry.")
    return np.frombuffer(blob, ENTRY)
