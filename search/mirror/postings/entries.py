"""Binary formats of posting list entries and of the table of chunks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from search.mirror.errors import MirrorDamaged
from search.retrieval.fusion.legs import ID

ENTRY: Final = np.dtype([("in_text", "<u2"), ("in_breadcrumb", "<u2"), ("row", "<u4")])
#: The largest count of a term in one column; higher counts are capped.
MOST: Final = 0xFFFF
#: Rows per block of the table of chunks.
BLOCK_ROWS: Final = 4_096
#: Its columns: tokens over all columns of the index, the document's row, the index of its kind, the id.
COLUMNS: Final[tuple[np.dtype, ...]] = (np.dtype("<u4"), np.dtype("<u4"), np.dtype("u1"), ID)
KINDS: Final = ("info", "code")


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
        return (self.packed >> _ROW).astype(np.int64)

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
        places = np.searchsorted(self.packed, rows.astype(np.uint64) << _ROW)
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
