"""Writes of postings, in the caller's transaction: each sync adds one part, and small parts are merged."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import apsw
import numpy as np

from search.analysis import Analysis
from search.mirror import schema
from search.mirror.files import MirrorDamaged
from search.mirror.postings.entries import (
    BLOCK_ROWS,
    COLUMNS,
    KINDS,
    MOST,
    pack_entry,
    text_key,
    without_rows,
)
from search.mirror.sync.snapshot import ChunkState

# Parts of this many chunks are not merged any more, so that a merge takes half a second at most.
_LARGEST_PART = 32_768
# Removed entries that are buffered, of 8 bytes each, before their lists are rewritten.
_MOST_REMOVED = 4_000_000

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
_BLOCK = "SELECT lengths, docs, kinds, ids, text_keys FROM blocks WHERE block = ?"
_PUT_BLOCK = (
    "INSERT OR REPLACE INTO blocks (block, lengths, docs, kinds, ids, text_keys) VALUES (?, ?, ?, ?, ?, ?)"
)


_EMPTY_BLOCK = tuple(bytes(BLOCK_ROWS * dtype.itemsize) for dtype in COLUMNS)


class PostingsWriter:
    """A writer that buffers the chunks of one transaction; call `flush` before it commits.

    Rows of added chunks must only grow. A removed chunk's entries are deleted, not just marked, so that
    deleted text can't be reconstructed from its terms.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._analysis = schema.analysis_of(connection)
        self._lists: defaultdict[str, array[int]] = defaultdict(lambda: array("Q"))
        # Row -> entry in the table of chunks (length, document, kind, id, text key); zeros for a removed one.
        self._chunks: dict[int, tuple[int, int, int, bytes, int]] = {}
        self._removed: defaultdict[str, list[int]] = defaultdict(list)
        self._added = self._removed_entries = 0

    def add(self, row: int, doc: int, chunk: ChunkState, headings: str) -> None:
        """Add the chunk at `row`, of the document at row `doc`; `headings` are indexed as its breadcrumb."""
        titles, words = (_count_terms(self._analysis, each) for each in (headings, chunk.text))
        for term, count in words.items():
            self._lists[term].append(pack_entry(row, titles.pop(term, 0), count))
        for term, count in titles.items():
            self._lists[term].append(pack_entry(row, count, 0))
        self.update(row, doc, chunk, headings)
        self._added += 1
        if self._added >= _LARGEST_PART:
            self.flush()

    def update(self, row: int, doc: int, chunk: ChunkState, headings: str) -> None:
        """Update the chunk at `row` in the table of chunks; its words are unchanged."""
        length = sum(len(self._analysis.analyse(each)) for each in (headings, chunk.text))
        id_, kind = bytes.fromhex(chunk.chunk_id), KINDS.index(chunk.kind)
        self._chunks[row] = (length, doc, kind, id_, text_key(chunk.text))

    def remove(self, row: int, breadcrumb: str, text: str) -> None:
        """Delete the chunk at `row`, given its indexed columns."""
        terms = _count_terms(self._analysis, breadcrumb).keys() | _count_terms(self._analysis, text).keys()
        for term in terms:
            self._removed[term].append(row)
        self._chunks[row] = (0, 0, 0, b"", 0)
        self._removed_entries += len(terms)
        if self._removed_entries >= _MOST_REMOVED:
            self.flush()

    def flush(self) -> None:
        """Write the buffered changes; call it before the transaction commits. Raises MirrorDamaged."""
        if self._added:
            part = self._connection.execute(_NEW_PART, (max(self._chunks), self._added)).get
            lists = ((part, term, entries.tobytes()) for term, entries in sorted(self._lists.items()))
            self._connection.executemany(_ADD_LIST, lists)
        self._delete_entries()
        self._write_blocks()
        self._lists.clear()
        self._chunks.clear()
        self._removed.clear()
        self._added = self._removed_entries = 0
        _merge_small_parts(self._connection)

    def _delete_entries(self) -> None:
        rows = {row for gone in self._removed.values() for row in gone}
        part_of = {row: self._fetch_value(_PART_OF, row) for row in rows}
        for term, gone in self._removed.items():
            for part in {part_of[row] for row in gone}:
                left = without_rows(self._fetch_value(_LIST, part, term), np.array(gone))
                if left:
                    self._connection.execute(_PUT_LIST, (part, term, left))
                else:
                    self._connection.execute(_DROP_LIST, (part, term))

    def _fetch_value(self, sql: str, *values: int | str) -> Any:
        row = self._connection.execute(sql, values).fetchone()
        if row is None:
            raise MirrorDamaged("The postings lack what a chunk that is removed put into them.")
        return row[0]

    def _write_blocks(self) -> None:
        blocks: defaultdict[int, list[int]] = defaultdict(list)
        for row in self._chunks:
            blocks[row // BLOCK_ROWS].append(row)
        for block, rows in blocks.items():
            blobs: Sequence[bytes] = self._connection.execute(_BLOCK, (block,)).get or _EMPTY_BLOCK
            columns = [np.frombuffer(blob, dtype).copy() for blob, dtype in zip(blobs, COLUMNS, strict=True)]
            stated = zip(*(self._chunks[row] for row in rows), strict=True)
            for column, values in zip(columns, stated, strict=True):
                column[np.array(rows) - block * BLOCK_ROWS] = values
            self._connection.execute(_PUT_BLOCK, (block, *(column.tobytes() for column in columns)))


def _count_terms(analysis: Analysis, text: str) -> dict[str, int]:
    counts = Counter([term for token in analysis.analyse(text) for term in token[2:]])
    return {term: min(count, MOST) for term, count in counts.items()}


def _merge_small_parts(connection: apsw.Connection) -> None:
    """Merge the last part into the previous one while that is at most twice as large."""
    while True:
        parts = list(connection.execute(_LAST_PARTS))
        if len(parts) < 2:
            return
        (last, last_chunk, count), (before, _, count_before) = parts
        if count_before > 2 * count or count + count_before > _LARGEST_PART:
            return
        lists: list[Any] = connection.execute(_LISTS, (last,)).fetchall()
        for term, entries in lists:
            found = connection.execute(_LIST, (before, term)).get or b""
            connection.execute(_PUT_LIST, (before, term, found + entries))
        connection.execute(_DROP_LISTS, (last,))
        connection.execute(_DROP_PART, (last,))
        connection.execute(_EXTEND_PART, (last_chunk, count + count_before, before))
