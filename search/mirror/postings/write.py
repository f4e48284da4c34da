"""Writing postings, in the caller's transaction: what a sync adds is one part, and small parts are merged."""

from array import array
from collections import Counter, defaultdict

import apsw
import numpy as np

from search.analysis import analyse
from search.mirror.postings.entries import BLOCK_ROWS, pack, without_rows

# A part of so many chunks is not merged any more: a merge then takes half a second at most.
_LARGEST_PART = 32_768

_NEW_PART = "INSERT INTO parts (last_chunk, chunk_count) VALUES (?, ?) RETURNING part"
_LAST_PARTS = "SELECT part, last_chunk, chunk_count FROM parts ORDER BY part DESC LIMIT 2"
_PART_OF = "SELECT part FROM parts WHERE last_chunk >= ? ORDER BY part LIMIT 1"
_EXTEND_PART = "UPDATE parts SET last_chunk = ?, chunk_count = ? WHERE part = ?"
_DROP_PART = "DELETE FROM parts WHERE part = ?"
_DROP_LISTS = "DELETE FROM postings WHERE part = ?"
_LISTS = "SELECT term, entries FROM postings WHERE part = ?"
_LIST = "SELECT entries FROM postings WHERE part = ? AND term = ?"
_ADD_LIST = "INSERT INTO postings (part, term, entries) VALUES (?, ?, ?)"
_PUT_LIST = _ADD_LIST + " ON CONFLICT (part, term) DO UPDATE SET entries = excluded.entries"
_DROP_LIST = "DELETE FROM postings WHERE part = ? AND term = ?"
_BLOCK = "SELECT lengths, docs FROM blocks WHERE block = ?"
_PUT_BLOCK = (
    "INSERT INTO blocks (block, lengths, docs) VALUES (?, ?, ?)"
    " ON CONFLICT (block) DO UPDATE SET lengths = excluded.lengths, docs = excluded.docs"
)


class PostingsWriter:
    """Gathers the chunks of one transaction; `flush` before it commits writes them.

    Rows of added chunks must only grow. A removed chunk's entries are taken out, not just marked: deleted
    text can't be put together again from its terms.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._lists: defaultdict[str, array[int]] = defaultdict(lambda: array("Q"))
        # Row -> (length, document); (0, 0) for a removed one.
        self._chunks: dict[int, tuple[int, int]] = {}
        self._removed: defaultdict[str, list[int]] = defaultdict(list)
        self._added = 0

    def add(self, row: int, doc: int, breadcrumb: str, text: str) -> None:
        """Add the chunk at `row`, of the document at row `doc`."""
        titles, n_titles = _counted(breadcrumb)
        words, n_words = _counted(text)
        for term in titles.keys() | words.keys():
            self._lists[term].append(pack(row, titles[term], words[term]))
        self._chunks[row] = (n_titles + n_words, doc)
        self._added += 1
        if self._added >= _LARGEST_PART:
            self.flush()

    def remove(self, row: int, breadcrumb: str, text: str) -> None:
        """Remove the chunk at `row`, whose columns are these."""
        for term in _counted(breadcrumb)[0].keys() | _counted(text)[0].keys():
            self._removed[term].append(row)
        self._chunks[row] = (0, 0)

    def flush(self) -> None:
        """Write what was gathered; call it before the transaction commits."""
        if self._added:
            part = self._connection.execute(_NEW_PART, (max(self._chunks), self._added)).fetchone()[0]
            lists = ((part, term, entries.tobytes()) for term, entries in sorted(self._lists.items()))
            self._connection.executemany(_ADD_LIST, lists)
        self._take_out()
        self._write_blocks()
        self._lists.clear()
        self._chunks.clear()
        self._removed.clear()
        self._added = 0
        _merge_small_parts(self._connection)

    def _take_out(self) -> None:
        rows = [row for rows in self._removed.values() for row in rows]
        part_of = {row: self._connection.execute(_PART_OF, (row,)).fetchone()[0] for row in set(rows)}
        for term, gone in self._removed.items():
            for part in {part_of[row] for row in gone}:
                (entries,) = self._connection.execute(_LIST, (part, term)).fetchone()
                left = without_rows(entries, np.array(gone))
                if left:
                    self._connection.execute(_PUT_LIST, (part, term, left))
                else:
                    self._connection.execute(_DROP_LIST, (part, term))

    def _write_blocks(self) -> None:
        blocks: defaultdict[int, list[int]] = defaultdict(list)
        for row in self._chunks:
            blocks[row // BLOCK_ROWS].append(row)
        for block, rows in blocks.items():
            found = self._connection.execute(_BLOCK, (block,)).fetchone() or (bytes(4 * BLOCK_ROWS),) * 2
            lengths, docs = (np.frombuffer(column, "<u4").copy() for column in found)
            places = np.array(rows) - block * BLOCK_ROWS
            lengths[places] = [self._chunks[row][0] for row in rows]
            docs[places] = [self._chunks[row][1] for row in rows]
            self._connection.execute(_PUT_BLOCK, (block, lengths.tobytes(), docs.tobytes()))


def _counted(text: str) -> tuple[Counter[str], int]:
    tokens = analyse(text)
    return Counter([term for token in tokens for term in token[2:]]), len(tokens)


def _merge_small_parts(connection: apsw.Connection) -> None:
    """Merge the last part into the one before while that is not much larger: few parts, little work."""
    while True:
        parts = list(connection.execute(_LAST_PARTS))
        if len(parts) < 2:
            return
        (last, last_chunk, count), (before, _, count_before) = parts
        if count_before > 2 * count or count + count_before > _LARGEST_PART:
            return
        for term, entries in connection.execute(_LISTS, (last,)).fetchall():
            found = connection.execute(_LIST, (before, term)).fetchone()
            connection.execute(_PUT_LIST, (before, term, (found[0] if found else b"") + entries))
        connection.execute(_DROP_LISTS, (last,))
        connection.execute(_DROP_PART, (last,))
        connection.execute(_EXTEND_PART, (last_chunk, count + count_before, before))
