"""Writing documents into a mirror, in the caller's transaction. Unchanged chunks keep their row."""

from collections.abc import Iterable

import apsw

from search.mirror.snapshot import ChunkState, DocumentState

_UPSERT_DOCUMENT = """
INSERT INTO documents (doc_id, path, lang, trust_level, media, source_key, version_tag, indexed_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (doc_id) DO UPDATE SET
    path = excluded.path, lang = excluded.lang, trust_level = excluded.trust_level, media = excluded.media,
    source_key = excluded.source_key, version_tag = excluded.version_tag, indexed_at = excluded.indexed_at
RETURNING doc
"""
_FIND_DOCUMENT = "SELECT doc FROM documents WHERE doc_id = ?"
_DELETE_DOCUMENT = "DELETE FROM documents WHERE doc = ?"
_CLEAR_TAGS = "DELETE FROM document_tags WHERE doc = ?"
_ADD_TAG = "INSERT INTO document_tags (tag, doc) VALUES (?, ?)"
_CHUNKS_OF = "SELECT chunk_id, row_version, chunk FROM chunks WHERE doc = ?"
_BREADCRUMB = "SELECT breadcrumb FROM chunks_fts WHERE rowid = ?"
_RESTATE_CHUNK = "UPDATE chunks SET kind = ?, row_version = ? WHERE chunk = ?"
_DELETE_CHUNK = "DELETE FROM chunks WHERE chunk = ?"
_DELETE_TEXT = "DELETE FROM chunks_fts WHERE rowid = ?"
_ADD_CHUNK = "INSERT INTO chunks (chunk_id, doc, kind, row_version) VALUES (?, ?, ?, ?) RETURNING chunk"
_ADD_TEXT = "INSERT INTO chunks_fts (rowid, chunk_id, doc_id, breadcrumb, text) VALUES (?, ?, ?, ?, ?)"


def upsert_document(connection: apsw.Connection, state: DocumentState) -> bool:
    """Make the mirror hold `state`; give whether any text was removed for it."""
    doc = connection.execute(
        _UPSERT_DOCUMENT,
        (
            state.doc_id,
            state.path,
            state.lang,
            state.trust_level,
            state.media,
            state.source_key,
            state.version_tag,
            state.indexed_at,
        ),
    ).fetchone()[0]
    connection.execute(_CLEAR_TAGS, (doc,))
    connection.executemany(_ADD_TAG, [(tag, doc) for tag in state.tags])
    present = {
        chunk_id: (version, chunk) for chunk_id, version, chunk in connection.execute(_CHUNKS_OF, (doc,))
    }
    wanted = {chunk.chunk_id: chunk for chunk in state.chunks}
    outdated = {
        chunk
        for chunk_id, (version, chunk) in present.items()
        if not _keeps_its_row(connection, chunk, version, wanted.get(chunk_id))
    }
    _delete_chunks(connection, outdated)
    for chunk_id, chunk in wanted.items():
        if chunk_id not in present or present[chunk_id][1] in outdated:
            _add_chunk(connection, doc, state.doc_id, chunk)
    return bool(outdated)


def _keeps_its_row(connection: apsw.Connection, row: int, version: int, wanted: ChunkState | None) -> bool:
    """Whether the text index is right about a chunk; a chunk that only moved keeps its words."""
    if wanted is None or wanted.row_version == version:
        return wanted is not None
    if connection.execute(_BREADCRUMB, (row,)).fetchone() != (wanted.breadcrumb,):
        return False
    connection.execute(_RESTATE_CHUNK, (wanted.kind, wanted.row_version, row))
    return True


def delete_document(connection: apsw.Connection, doc_id: str) -> bool:
    """Remove a document and its chunks; give whether it was there."""
    row = connection.execute(_FIND_DOCUMENT, (doc_id,)).fetchone()
    if row is None:
        return False
    _delete_chunks(connection, [chunk for _, _, chunk in connection.execute(_CHUNKS_OF, row)])
    connection.execute(_DELETE_DOCUMENT, row)
    return True


def _delete_chunks(connection: apsw.Connection, chunks: Iterable[int]) -> None:
    rows = [(chunk,) for chunk in chunks]
    connection.executemany(_DELETE_TEXT, rows)
    connection.executemany(_DELETE_CHUNK, rows)


def _add_chunk(connection: apsw.Connection, doc: int, doc_id: str, chunk: ChunkState) -> None:
    added = (chunk.chunk_id, doc, chunk.kind, chunk.row_version)
    rowid = connection.execute(_ADD_CHUNK, added).fetchone()[0]
    connection.execute(_ADD_TEXT, (rowid, chunk.chunk_id, doc_id, chunk.breadcrumb, chunk.text))
