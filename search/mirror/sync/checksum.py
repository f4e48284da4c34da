"""Proof that a mirror equals Postgres: the same order-independent checksum over both, text included."""

import json
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter

import apsw
from blake3 import blake3

from search.mirror import schema
from search.mirror.errors import MirrorDamaged
from search.mirror.postings import check_postings
from search.mirror.sync import snapshot
from search.mirror.sync.sync import applied_seq

_DOCUMENTS = """
SELECT {columns}, (SELECT json_group_array(tag) FROM document_tags t WHERE t.doc = d.doc) FROM documents d
"""
_read_columns = attrgetter(*schema.DOCUMENT_COLUMNS)
_VALUES = "SELECT d.doc_id, v.name, v.value FROM document_values v JOIN documents d ON d.doc = v.doc"
# The text index has its own copies of the ids, so that a row under a wrong id is detected.
_CHUNKS = """
SELECT f.chunk_id, f.doc_id, c.kind, c.code_lang, c.row_version, f.breadcrumb, f.text
FROM chunks_fts f LEFT JOIN chunks c ON c.chunk = f.rowid AND c.chunk_id = f.chunk_id
"""
_OF_THIS_MACHINE = (apsw.BusyError, apsw.FullError, apsw.IOError, apsw.InterruptError, apsw.NoMemError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checksum:
    """The checksum of a set of documents and chunks, independent of their order."""

    seq: int
    documents: int
    chunks: int
    total: int


def mirror_checksum(connection: apsw.Connection) -> Checksum:
    """Return the checksum of a mirror, from one read transaction."""
    with connection:
        found = _checksum(applied_seq(connection), _mirror_rows(connection))
    return found


def postgres_checksum(workspace_id: uuid.UUID) -> Checksum:
    """Return the checksum that a mirror must have once it has followed to `seq`, from one snapshot."""
    with snapshot.postgres_snapshot():
        seq, _ = snapshot.read_head(workspace_id)
        return _checksum(seq, _postgres_rows(workspace_id))


def check_integrity(connection: apsw.Connection) -> None:
    """Run SQLite's and FTS5's integrity checks on a writable mirror, and compare the postings.

    Raises MirrorDamaged, and SQLite's errors about this machine rather than the file.
    """
    try:
        if (verdict := connection.pragma("integrity_check")) != "ok":
            raise MirrorDamaged(str(verdict))
        connection.execute(schema.INTEGRITY_CHECK)
        check_postings(connection)
    except _OF_THIS_MACHINE:
        raise
    except (apsw.Error, ValueError, TypeError, LookupError) as error:  # broken text and numbers may raise any
        raise MirrorDamaged(f"{type(error).__name__}: {error}") from error


def _postgres_rows(workspace_id: uuid.UUID) -> Iterator[tuple[object, ...]]:
    for state in snapshot.read_all_documents(workspace_id):
        yield ("document", *_read_columns(state), state.tags)
        for name, value in state.values:
            yield ("value", state.doc_id, name, value)
        for chunk in state.chunks:
            yield (
                "chunk",
                chunk.chunk_id,
                state.doc_id,
                chunk.kind,
                chunk.code_lang,
                chunk.row_version,
                state.indexed_headings(chunk),
                chunk.text,
            )


def _mirror_rows(connection: apsw.Connection) -> Iterator[tuple[object, ...]]:
    for *fields, tags in connection.execute(_DOCUMENTS.format(columns=", ".join(schema.DOCUMENT_COLUMNS))):
        yield ("document", *fields, tuple(sorted(json.loads(tags))))
    for row in connection.execute(_VALUES):
        yield ("value", *row)
    for row in connection.execute(_CHUNKS):
        yield ("chunk", *row)


def _checksum(seq: int, rows: Iterable[tuple[object, ...]]) -> Checksum:
    counts = {"document": 0, "value": 0, "chunk": 0}
    total = 0
    for row in rows:
        counts[str(row[0])] += 1
        digest = blake3(repr(row).encode("utf-8", "surrogatepass")).digest(length=8)
        total += int.from_bytes(digest, "little")
    return Checksum(seq=seq, documents=counts["document"], chunks=counts["chunk"], total=total % 2**64)
