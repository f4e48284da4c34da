"""Consistency check of the postings against FTS5's own vocabulary table."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import groupby
from operator import itemgetter

import apsw

from search.mirror.files import MirrorDamaged
from search.mirror.postings.entries import KINDS, MOST, Postings, read_chunk_table

_VOCABULARY = "SELECT term, doc, cnt FROM chunks_vocab ORDER BY term"
# All parts that have postings, by one index lookup each, regardless of the table `parts`.
_PARTS = """
WITH RECURSIVE found (part) AS (
    SELECT min(part) FROM postings
    UNION ALL SELECT (SELECT min(p.part) FROM postings p WHERE p.part > found.part) FROM found
    WHERE found.part IS NOT NULL
)
SELECT part FROM found WHERE part IS NOT NULL
"""
_LISTS = "SELECT term, entries FROM postings WHERE part = ? ORDER BY term"
_CHUNKS = (
    "SELECT c.chunk, c.chunk_id, c.doc, c.kind, s.sz FROM chunks c"
    " JOIN chunks_fts_docsize s ON s.id = c.chunk"
)
_TERM = itemgetter(0)


def check_postings(connection: apsw.Connection) -> None:
    """Compare every term's chunks and occurrences, and every chunk's row in the table. Raises MirrorDamaged.

    Terms are read in order, one at a time, so that memory doesn't grow with the mirror. Damaged rows may
    raise other errors, which `check_integrity` turns into MirrorDamaged.
    """
    if wrong := _count_wrong_terms(_read_fts5_counts(connection), _read_postings_counts(connection)):
        raise MirrorDamaged(f"{wrong} terms have other postings than FTS5 knows.")
    table = read_chunk_table(connection)
    seen = 0
    for row, chunk_id, doc, kind, sizes in connection.execute(_CHUNKS):
        row_in_table = (
            (table.docs[row], table.kinds[row], table.lengths[row], table.ids[row])
            if row < len(table.docs)
            else None
        )
        # numpy drops trailing zeros of a single value.
        id_ = bytes.fromhex(chunk_id).rstrip(b"\0")
        if row_in_table != (doc, KINDS.index(kind), _length(sizes), id_):
            raise MirrorDamaged("The table of chunks disagrees with the chunks.")
        seen += 1
    if seen != table.chunk_count:
        raise MirrorDamaged("The table of chunks has others than there are.")


def _length(sizes: bytes) -> int:
    """Return the sum of SQLite's variable-length integers: seven bits per byte, the high bit: more follow."""
    total = size = 0
    for byte in sizes:
        size = size << 7 | byte & 0x7F
        if byte < 0x80:
            total, size = total + size, 0
    return total


@dataclass(frozen=True, slots=True)
class _Count:
    chunks: int
    occurrences: int
    is_capped: bool = False


def _count_wrong_terms(known: Iterable[tuple[str, _Count]], counted: Iterable[tuple[str, _Count]]) -> int:
    both = groupby(merge(known, counted, key=_TERM), key=_TERM)
    return sum(not _agree(*(count for _, count in of_one)) for _, of_one in both)


def _agree(*counts: _Count) -> bool:
    if len(counts) != 2:
        return False  # only one side has the term
    known, counted = counts
    return counted.chunks == known.chunks and (counted.is_capped or counted.occurrences == known.occurrences)


def _read_fts5_counts(connection: apsw.Connection) -> Iterator[tuple[str, _Count]]:
    for term, doc, cnt in connection.execute(_VOCABULARY):
        yield term, _Count(doc, cnt)


def _read_postings_counts(connection: apsw.Connection) -> Iterator[tuple[str, _Count]]:
    parts = [part for (part,) in connection.execute(_PARTS)]
    lists = merge(*(connection.execute(_LISTS, (part,)) for part in parts), key=_TERM)
    for term, rows in groupby(lists, key=_TERM):
        yield term, _count_entries(entries for _, entries in rows)


def _count_entries(lists: Iterable[bytes]) -> _Count:
    chunks = occurrences = 0
    is_capped = False
    for entries in lists:
        postings = Postings.from_blobs([entries])
        chunks += len(postings)
        for column in (postings.in_breadcrumb, postings.in_text):
            occurrences += int(column.sum())
            is_capped |= bool(column.max(initial=0) >= MOST)
    return _Count(chunks, occurrences, is_capped)
