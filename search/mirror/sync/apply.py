"""Writes of documents into a mirror, in the caller's transaction. Unchanged chunks keep their row."""

from collections.abc import Iterable
from operator import attrgetter
from typing import Any

import apsw

from search.mirror.postings import PostingsWriter
from search.mirror.schema import DOCUMENT_COLUMNS
from search.mirror.sync.editions import Editions
from search.mirror.sync.snapshot import ChunkState, DocumentState

_UPSERT = """
INSERT INTO documents ({columns}) VALUES ({marks})
ON CONFLICT (doc_id) DO UPDATE SET {changes}
RETURNING doc
"""
_UPSERT_DOCUMENT = _UPSERT.format(
    columns=", ".join(DOCUMENT_COLUMNS),
    marks=", ".join("?" * len(DOCUMENT_COLUMNS)),
    changes=", ".join(f"{column} = excluded.{column}" for column in DOCUMENT_COLUMNS[1:]),
)
_read_columns = attrgetter(*DOCUMENT_COLUMNS)
_FIND_DOCUMENT = "SELECT doc FROM documents WHERE doc_id = ?"
_DELETE_DOCUMENT = "DELETE FROM documents WHERE doc = ?"
_CLEAR_TAGS = "DELETE FROM document_tags WHERE doc = ?"
_CLEAR_VALUES = "DELETE FROM document_values WHERE doc = ?"
_ADD_VALUE = "INSERT INTO document_values (name, value, doc) VALUES (?, ?, ?)"
_ADD_TAG = "INSERT INTO document_tags (tag, doc) VALUES (?, ?)"
# The breadcrumb is compared, not the row version: a chunk that was deleted and created again between two
# syncs starts at version 1.
_CHUNKS_OF = """
SELECT c.chunk_id, c.chunk, c.kind, c.code_lang, c.row_version, f.breadcrumb, f.text
FROM chunks c LEFT JOIN chunks_fts f ON f.rowid = c.chunk WHERE c.doc = ?
"""
_RESTATE_CHUNK = "UPDATE chunks SET kind = ?, code_lang = ?, row_version = ? WHERE chunk = ?"
_DELETE_CHUNK = "DELETE FROM chunks WHERE chunk = ?"
_DELETE_TEXT = "DELETE FROM chunks_fts WHERE rowid = ?"
_ADD_CHUNK = (
    "INSERT INTO chunks (chunk_id, doc, kind, code_lang, row_version) VALUES (?, ?, ?, ?, ?) RETURNING chunk"
)
_ADD_TEXT = "INSERT INTO chunks_fts (rowid, chunk_id, doc_id, breadcrumb, text) VALUES (?, ?, ?, ?, ?)"


class Applier:
    """A writer of documents through one connection; call `finish` before the transaction commits."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._postings = PostingsWriter(connection)
        self._editions = Editions(connection)

    def upsert(self, state: DocumentState) -> bool:
        """Write `state` into the mirror; return whether any text was deleted for it."""
        self._editions.note(state.doc_id)
        self._editions.add(state.family, state.source_key, state.doc_id, state.title_key, state.name_key)
        doc = self._connection.execute(_UPSERT_DOCUMENT, _read_columns(state)).get
        self._connection.execute(_CLEAR_TAGS, (doc,))
        self._connection.executemany(_ADD_TAG, [(tag, doc) for tag in state.tags])
        self._connection.execute(_CLEAR_VALUES, (doc,))
        self._connection.executemany(_ADD_VALUE, [(name, value, doc) for name, value in state.values])
        return self._replace_chunks(doc, state)

    def delete(self, doc_id: str) -> bool:
        """Delete a document and its chunks; return whether it existed."""
        found = self._connection.execute(_FIND_DOCUMENT, (doc_id,)).fetchone()
        if found is None:
            return False
        self._editions.note(doc_id)
        mirrored: list[Any] = self._connection.execute(_CHUNKS_OF, found).fetchall()
        self._delete_chunks((row, breadcrumb, text) for _, row, *_, breadcrumb, text in mirrored)
        self._connection.execute(_DELETE_DOCUMENT, found)
        return True

    def finish(self) -> None:
        """Write the buffered postings, and find the newer pages of those that were written."""
        self._postings.flush()
        self._editions.relate()

    def _replace_chunks(self, doc: int, state: DocumentState) -> bool:
        wanted = {chunk.chunk_id: chunk for chunk in state.chunks}
        kept: set[str] = set()
        outdated: list[tuple[int, str, str]] = []
        mirrored: list[Any] = self._connection.execute(_CHUNKS_OF, (doc,)).fetchall()
        for chunk_id, row, kind, code_lang, row_version, breadcrumb, text in mirrored:
            chunk = wanted.get(chunk_id)
            if chunk is None or state.indexed_headings(chunk) != breadcrumb:
                outdated.append((row, breadcrumb, text))
                continue
            kept.add(chunk_id)
            wanted_fields = (chunk.kind, chunk.code_lang, chunk.row_version)
            if wanted_fields != (kind, code_lang, row_version):
                self._connection.execute(_RESTATE_CHUNK, (*wanted_fields, row))
            if chunk.kind != kind:
                self._postings.update(row, doc, chunk, breadcrumb)
        self._delete_chunks(outdated)
        for chunk in state.chunks:
            if chunk.chunk_id not in kept:
                self._add_chunk(doc, state, chunk)
        return bool(outdated)

    def _delete_chunks(self, chunks: Iterable[tuple[int, str, str]]) -> None:
        for row, breadcrumb, text in chunks:
            self._postings.remove(row, breadcrumb, text)
            self._connection.execute(_DELETE_TEXT, (row,))
            self._connection.execute(_DELETE_CHUNK, (row,))

    def _add_chunk(self, doc: int, state: DocumentState, chunk: ChunkState) -> None:
        headings = state.indexed_headings(chunk)
        added = (chunk.chunk_id, doc, chunk.kind, chunk.code_lang, chunk.row_version)
        row = self._connection.execute(_ADD_CHUNK, added).get
        self._connection.execute(_ADD_TEXT, (row, chunk.chunk_id, state.doc_id, headings, chunk.text))
        self._postings.add(row, doc, chunk, headings)
