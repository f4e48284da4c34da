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
# The breadcrumb itself and not the row version tells whether the index is right: a chunk that was deleted and
# came back between two syncs counts its versions anew.
_CHUNKS_OF = """
SELECT c.chunk_id, c.chunk, c.kind, c.row_version, f.breadcrumb
FROM chunks c LEFT JOIN chunks_fts f ON f.rowid = c.chunk WHERE c.doc = ?
"""
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
    return _replace_chunks(connection, doc, state)


def _replace_chunks(connection: apsw.Connection, doc: int, state: DocumentState) -> bool:
    wanted = {chunk.chunk_id: chunk for chunk in state.chunks}
    kept: set[str] = set()
    outdated: list[int] = []
    for chunk_id, row, kind, row_version, breadcrumb in connection.execute(_CHUNKS_OF, (doc,)).fetchall():
        chunk = wanted.get(chunk_id)
        if chunk is None or chunk.breadcrumb != breadcrumb:
            outdated.append(row)
            continue
        kept.add(chunk_id)
        if (chunk.kind, chunk.row_version) != (kind, row_version):
            connection.execute(_RESTATE_CHUNK, (chunk.kind, chunk.row_version, row))
    _delete_chunks(connection, outdated)
    for chunk in state.chunks:
        if chunk.chunk_id not in kept:
            _add_chunk(connection, doc, state.doc_id, chunk)
    return bool(outdated)


def delete_document(connection: apsw.Connection, doc_id: str) -> bool:
    """Remove a document and its chunks; give whether it was there."""
    row = connection.execute(_FIND_DOCUMENT, (doc_id,)).fetchone()
    if row is None:
        return False
    _delete_chunks(connection, [chunk for _, chunk, *_ in connection.execute(_CHUNKS_OF, row)])
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
