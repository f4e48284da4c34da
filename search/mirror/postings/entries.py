"""How an entry of a posting list is packed."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

ENTRY = np.dtype("<u8")
#: Rows to a block of the chunk table.
BLOCK_ROWS = 4_096

_COUNT_BITS = 8
_MOST = (1 << _COUNT_BITS) - 1


def pack(row: int, in_breadcrumb: int, in_text: int) -> int:
    """Give the entry of one chunk."""
    return (row << 2 * _COUNT_BITS) | (min(in_breadcrumb, _MOST) << _COUNT_BITS) | min(in_text, _MOST)


@dataclass(frozen=True, slots=True)
class Postings:
    """The chunks that have a term, by row, and how often in each column."""

    #: (n,) int64, ascending.
    rows: np.ndarray
    #: (n,) float64 each.
    in_breadcrumb: np.ndarray
    in_text: np.ndarray

    @staticmethod
    def unpacked(blobs: Iterable[bytes]) -> "Postings":
        """Read blobs of entries; together they are ascending."""
        entries = np.frombuffer(b"".join(blobs), ENTRY)
        return Postings(
            (entries >> (2 * _COUNT_BITS)).astype(np.int64),
            ((entries >> _COUNT_BITS) & _MOST).astype(np.float64),
            (entries & _MOST).astype(np.float64),
        )


def without_rows(entries: bytes, rows: np.ndarray) -> bytes:
    """Give `entries` without those of `rows`."""
    before = np.frombuffer(entries, ENTRY)
    gone = np.isin((before >> (2 * _COUNT_BITS)).astype(np.int64), rows)
    return before[~gone].tobytes()
