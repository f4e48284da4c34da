"""How an entry of a posting list is packed, and what the table of chunks holds."""

from collections.abc import Iterable
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


def pack(row: int, in_breadcrumb: int, in_text: int) -> int:
    """Give the entry of one chunk; neither count is over MOST."""
    return row << 32 | in_breadcrumb << 16 | in_text


@dataclass(frozen=True, slots=True)
class Postings:
    """The chunks that have a term, by row, and how often in each column."""

    #: (n,) int64, ascending.
    rows: np.ndarray
    #: (n,) float64 each.
    in_breadcrumb: np.ndarray
    in_text: np.ndarray

    def among(self, members: np.ndarray) -> "Postings":
        """Give those of the rows that `members`, (n,) bool by row, holds. Raises MirrorDamaged."""
        kept = are_among(self.rows, members)
        return Postings(self.rows[kept], self.in_breadcrumb[kept], self.in_text[kept])

    @staticmethod
    def unpacked(blobs: Iterable[bytes]) -> "Postings":
        """Read blobs of entries; together they are ascending. Raises MirrorDamaged."""
        entries = _entries(b"".join(blobs))
        return Postings(
            entries["row"].astype(np.int64),
            entries["in_breadcrumb"].astype(np.float64),
            entries["in_text"].astype(np.float64),
        )


def are_among(rows: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Give (n,) bool, whether `members`, (m,) bool by row, holds each of `rows`. Raises MirrorDamaged.

    `rows` are ascending.
    """
    if len(rows) and rows[-1] >= len(members):
        raise MirrorDamaged("A posting list names chunks that there are not.")
    return members[rows]


def without_rows(blob: bytes, rows: np.ndarray) -> bytes:
    """Give the entries in `blob` without those of `rows`. Raises MirrorDamaged."""
    entries = _entries(blob)
    return entries[~np.isin(entries["row"], rows)].tobytes()


def rows_of(blob: bytes) -> np.ndarray:
    """Give the rows of the chunks in `blob`, ascending. Raises MirrorDamaged."""
    return _entries(blob)["row"]


def _entries(blob: bytes) -> np.ndarray:
    if len(blob) % ENTRY.itemsize:
        raise MirrorDamaged("A posting list ends within an entry.")
    return np.frombuffer(blob, ENTRY)
