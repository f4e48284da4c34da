"""Proving that the postings hold what FTS5 holds, by FTS5's own account of its vocabulary."""

from collections import defaultdict
from dataclasses import dataclass

import apsw

from search.mirror.errors import MirrorDamaged
from search.mirror.postings.entries import Postings
from search.mirror.postings.read import read_chunk_table

_VOCABULARY = "SELECT term, doc, cnt FROM chunks_vocab"
_LISTS = "SELECT term, entries FROM postings"
_CHUNKS = "SELECT chunk, doc FROM chunks"
# A count of so many in one column of a chunk means "at least".
_MOST = 255


def check_postings(connection: apsw.Connection) -> None:
    """Compare every term's chunks and occurrences, and every chunk's document. Raises MirrorDamaged."""
    counted = _counted(connection)
    known = {term: (doc, cnt) for term, doc, cnt in connection.execute(_VOCABULARY)}
    wrong = [term for term in known.keys() | counted.keys() if not _agree(known.get(term), counted.get(term))]
    if wrong:
        raise MirrorDamaged(f"{len(wrong)} terms have other postings than FTS5 knows.")
    docs = read_chunk_table(connection).docs
    rows = list(connection.execute(_CHUNKS))
    if len(rows) != (docs != 0).sum() or any(docs[chunk] != doc for chunk, doc in rows):
        raise MirrorDamaged("The table of chunks disagrees with the chunks.")


@dataclass(slots=True)
class _Count:
    chunks: int = 0
    occurrences: int = 0
    is_capped: bool = False


def _counted(connection: apsw.Connection) -> dict[str, _Count]:
    counted: defaultdict[str, _Count] = defaultdict(_Count)
    for term, entries in connection.execute(_LISTS):
        postings, count = Postings.unpacked([entries]), counted[term]
        count.chunks += len(postings.rows)
        for column in (postings.in_breadcrumb, postings.in_text):
            count.occurrences += int(column.sum())
            count.is_capped |= bool(column.max(initial=0) >= _MOST)
    return counted


def _agree(known: tuple[int, int] | None, counted: _Count | None) -> bool:
    if known is None or counted is None:
        return False
    return counted.chunks == known[0] and (counted.is_capped or counted.occurrences == known[1])
