"""Proving that the postings hold what FTS5 holds, by FTS5's own account of its vocabulary."""

from collections import defaultdict
from dataclasses import dataclass

import apsw

from search.mirror.errors import MirrorDamaged
from search.mirror.postings.entries import KINDS, MOST, Postings
from search.mirror.postings.read import read_chunk_table

_VOCABULARY = "SELECT term, doc, cnt FROM chunks_vocab"
_LISTS = "SELECT term, entries FROM postings"
_CHUNKS = "SELECT c.chunk, c.doc, c.kind, s.sz FROM chunks c JOIN chunks_fts_docsize s ON s.id = c.chunk"


def check_postings(connection: apsw.Connection) -> None:
    """Compare every term's chunks and occurrences, and what is said of every chunk. Raises MirrorDamaged."""
    counted = _counted(connection)
    known = {term: (doc, cnt) for term, doc, cnt in connection.execute(_VOCABULARY)}
    wrong = [term for term in known.keys() | counted.keys() if not _agree(known.get(term), counted.get(term))]
    if wrong:
        raise MirrorDamaged(f"{len(wrong)} terms have other postings than FTS5 knows.")
    table = read_chunk_table(connection)
    columns = (table.docs.tolist(), table.kinds.tolist(), table.lengths.tolist())
    found = {row: stated for row, stated in enumerate(zip(*columns, strict=True)) if stated[0]}
    chunks = connection.execute(_CHUNKS)
    if found != {row: (doc, KINDS.index(kind), _length(sizes)) for row, doc, kind, sizes in chunks}:
        raise MirrorDamaged("The table of chunks disagrees with the chunks.")


def _length(sizes: bytes) -> int:
    """Add up SQLite's variable-length integers: seven bits a byte, the high bit says that more follow."""
    total = size = 0
    for byte in sizes:
        size = size << 7 | byte & 0x7F
        if byte < 0x80:
            total, size = total + size, 0
    return total


@dataclass(slots=True)
class _Count:
    chunks: int = 0
    occurrences: int = 0
    is_capped: bool = False


def _counted(connection: apsw.Connection) -> dict[str, _Count]:
    counted: defaultdict[str, _Count] = defaultdict(_Count)
    for term, entries in connection.execute(_LISTS):
        postings, count = Postings.unpacked([entries]), counted[term]
        count.chunks += len(postings)
        for column in (postings.in_breadcrumb, postings.in_text):
            count.occurrences += int(column.sum())
            count.is_capped |= bool(column.max(initial=0) >= MOST)
    return counted


def _agree(known: tuple[int, int] | None, counted: _Count | None) -> bool:
    if known is None or counted is None:
        return False
    return counted.chunks == known[0] and (counted.is_capped or counted.occurrences == known[1])
