"""Proving that the postings hold what FTS5 holds, by FTS5's own account of its vocabulary."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import groupby
from operator import itemgetter

import apsw

from search.mirror.errors import MirrorDamaged
from search.mirror.postings.entries import KINDS, MOST, Postings
from search.mirror.postings.read import read_chunk_table

_VOCABULARY = "SELECT term, doc, cnt FROM chunks_vocab ORDER BY term"
# Which there are, by as many looks, whatever `parts` says.
_PARTS = """
WITH RECURSIVE found (part) AS (
    SELECT min(part) FROM postings
    UNION ALL SELECT (SELECT min(p.part) FROM postings p WHERE p.part > found.part) FROM found
    WHERE found.part IS NOT NULL
)
SELECT part FROM found WHERE part IS NOT NULL
"""
_LISTS = "SELECT term, entries FROM postings WHERE part = ? ORDER BY term"
_CHUNKS = "SELECT c.chunk, c.doc, c.kind, s.sz FROM chunks c JOIN chunks_fts_docsize s ON s.id = c.chunk"
_TERM = itemgetter(0)


def check_postings(connection: apsw.Connection) -> None:
    """Compare every term's chunks and occurrences, and what is said of every chunk. Raises MirrorDamaged.

    All is read in order, a term at a time, so that it takes no more memory of a large mirror. Of damaged rows
    it may raise whatever their values lead to: `check_integrity` makes MirrorDamaged of that.
    """
    if wrong := _wrong_terms(_known(connection), _counted(connection)):
        raise MirrorDamaged(f"{wrong} terms have other postings than FTS5 knows.")
    table = read_chunk_table(connection)
    seen = 0
    for row, doc, kind, sizes in connection.execute(_CHUNKS):
        stated = (table.docs[row], table.kinds[row], table.lengths[row]) if row < len(table.docs) else None
        if stated != (doc, KINDS.index(kind), _length(sizes)):
            raise MirrorDamaged("The table of chunks disagrees with the chunks.")
        seen += 1
    if seen != table.chunk_count:
        raise MirrorDamaged("The table of chunks has others than there are.")


def _length(sizes: bytes) -> int:
    """Add up SQLite's variable-length integers: seven bits a byte, the high bit says that more follow."""
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


def _wrong_terms(known: Iterable[tuple[str, _Count]], counted: Iterable[tuple[str, _Count]]) -> int:
    both = groupby(merge(known, counted, key=_TERM), key=_TERM)
    return sum(not _agree(*(count for _, count in of_one)) for _, of_one in both)


def _agree(*counts: _Count) -> bool:
    if len(counts) != 2:
        return False  # only one of both has the term
    known, counted = counts
    return counted.chunks == known.chunks and (counted.is_capped or counted.occurrences == known.occurrences)


def _known(connection: apsw.Connection) -> Iterator[tuple[str, _Count]]:
    for term, doc, cnt in connection.execute(_VOCABULARY):
        yield term, _Count(doc, cnt)


def _counted(connection: apsw.Connection) -> Iterator[tuple[str, _Count]]:
    parts = [part for (part,) in connection.execute(_PARTS)]
    lists = merge(*(connection.execute(_LISTS, (part,)) for part in parts), key=_TERM)
    for term, rows in groupby(lists, key=_TERM):
        yield term, _count(entries for _, entries in rows)


def _count(lists: Iterable[bytes]) -> _Count:
    chunks = occurrences = 0
    is_capped = False
    for entries in lists:
        postings = Postings.unpacked([entries])
        chunks += len(postings)
        for column in (postings.in_breadcrumb, postings.in_text):
            occurrences += int(column.sum())
            is_capped |= bool(column.max(initial=0) >= MOST)
    return _Count(chunks, occurrences, is_capped)
