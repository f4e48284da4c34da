"""A small bundle written without a database, and changes that a forger makes to one."""

import json
import uuid
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from kebab.people.models import Workspace
from search.analysis import STEMMED, register_tokenizer
from search.bundles.corpus_rows import chunk_bodies, state_of
from search.bundles.export import _Export
from search.bundles.layout import MAX_ROW_BYTES, SECTIONS, select_of
from search.bundles.manifest import write_manifest
from search.bundles.seal import RowDigest, check_ends, index_digest, seal
from search.bundles.small_rows import Numbers, row_of
from search.bundles.values import packed_json
from search.bundles.writing import BundleWriter, compressed, new_bundle
from search.embedding import configured_embedder, embedded_text
from search.identifiers import chunk_ids, content_hash, document_id, embed_hash
from search.mirror.apply import Applier
from search.models import Chunk, Document, EmbeddingSpace, Source, SourceVersion

DOCUMENTS, CHUNKS_OF_EACH = 6, 3
_AT = datetime(2026, 3, 1, tzinfo=UTC)
_CONTENT = b"what the documents were made from"


def write_by_hand(path: Path) -> Path:
    """Write a bundle of a few documents and return its path."""
    embedder = configured_embedder()
    assert embedder is not None
    identity = embedder.space
    workspace = Workspace(slug="by-hand", name="By hand", corpus_id=uuid.UUID(int=5), head_seq=9)
    source = Source(workspace=workspace, key="docs", kind="upload", library_id="/local/docs", created_at=_AT)
    version = SourceVersion(workspace=workspace, source=source, created_at=_AT)
    space = EmbeddingSpace(
        id=7,
        workspace=workspace,
        created_at=_AT,
        languages=list(identity.languages),
        **{name: getattr(identity, name) for name in ("model", "revision", "dim")},
    )
    with new_bundle(path, STEMMED) as writer:
        numbers = Numbers()
        rows = {"workspace": workspace, "sources": source, "versions": version, "spaces": space}
        for section, row in rows.items():
            body = packed_json(row_of(section, row, numbers))
            numbers.note(section, row.pk, writer.add(section, body))
        chunks = _write_documents(writer, numbers, source, version)
        chunks.sort(key=lambda chunk: chunk.chunk_id.bytes)
        vectors = embedder.embed_passages([embedded_text(one.breadcrumb, one.text) for one in chunks])
        ids = b"".join(chunk.chunk_id.bytes for chunk in chunks)
        writer.add("vectors", vectors.astype("<f2").tobytes(), ids, 1)
        writer.add("blobs", compressed(_CONTENT), content_hash(_CONTENT), 1)
        export = _Export(workspace, writer, lambda *_: None)
        counts = {"chunks": len(chunks), "vectors": len(chunks), "blobs_missing": 0}
        write_manifest(writer.connection, export._manifest(counts, export._finish_index(), [space]))
    return path


def _write_documents(
    writer: BundleWriter, numbers: Numbers, source: Source, version: SourceVersion
) -> list[Chunk]:
    applier, written = Applier(writer.connection), []
    for nth in range(DOCUMENTS):
        path = f"guides/{nth}.md"
        document = Document(
            doc_id=document_id(uuid.UUID(int=5), "docs", "", path),
            source=source,
            version=version,
            path=path,
            title=f"Guide {nth}",
            mime="text/markdown",
            size_bytes=len(_CONTENT),
            content_hash=content_hash(_CONTENT),
            parser_version="p1",
            chunker_version="c1",
            indexed_at=_AT,
        )
        texts = [f"The harbour {nth} lies behind lighthouse {place}." for place in range(CHUNKS_OF_EACH)]
        ids = chunk_ids(document.doc_id, "c1", texts)
        chunks = [
            Chunk(
                chunk_id=chunk_id,
                ordinal=ordinal,
                heading_path=["Guide"],
                breadcrumb="Guide",
                text=text,
                source_spans=[{"kind": "line", "start": 1, "end": 2}],
                token_count=7,
                embed_hash=embed_hash("Guide", text),
            )
            for ordinal, (chunk_id, text) in enumerate(zip(ids, texts, strict=True))
        ]
        number = writer.add(
            "documents", packed_json(row_of("documents", document, numbers)), document.doc_id.hex
        )
        for body in chunk_bodies(chunks):
            writer.add("chunks", compressed(body), number)
        applier.upsert(state_of(document, chunks))
        written += chunks
    applier.finish()
    return written


def forge(path: Path, change: Callable[[apsw.Connection], object], **manifest: Any) -> Path:
    """Have `change` alter a bundle, and make all its digests and its seal right again, as a forger would.

    `manifest` are values that its manifest gets. Returns the path.
    """
    length = check_ends(path)
    with path.open("r+b") as file:
        file.truncate(length)
    connection = apsw.Connection(str(path))
    register_tokenizer(connection)
    change(connection)
    _restate(connection, manifest)
    connection.close()
    seal(path)
    return path


def _restate(connection: apsw.Connection, values: dict[str, Any]) -> None:
    from blake3 import blake3

    (body,) = connection.execute("SELECT value FROM bundle_manifest WHERE name = 'manifest'").fetchone()
    manifest = json.loads(body)
    for section in SECTIONS:
        digest = RowDigest()
        for row in connection.execute(select_of(section), (-(2**40),)):
            digest.add(row)
        manifest["sections"][section] = {"rows": digest.rows, "digest": digest.hexdigest()}
    index = index_digest(connection)
    manifest["sections"]["index"] = {"rows": index.rows, "digest": index.hexdigest()}
    body = packed_json({**manifest, **values})
    put = "UPDATE bundle_manifest SET value = ? WHERE name = ?"
    connection.execute(put, (body, "manifest"))
    connection.execute(put, (blake3(body).hexdigest().encode(), "digest"))


def put_body(section: str, body: bytes, number: int = 1) -> Callable[[apsw.Connection], object]:
    """Return the change that puts another body into a row."""

    def change(connection: apsw.Connection) -> object:
        sql = f"UPDATE bundle_{section} SET body = ? WHERE number = ?"  # noqa: S608 - our own names
        return connection.execute(sql, (body, number))

    return change


def put_chunk_fields(**fields: Any) -> Callable[[apsw.Connection], object]:
    """Return the change that puts other values into the first chunk of the first document."""

    def change(connection: apsw.Connection) -> object:
        (body,) = connection.execute("SELECT body FROM bundle_chunks WHERE number = 1").fetchone()
        first, *others = json.loads(zlib.decompress(body))
        return put_body("chunks", compressed(packed_json([{**first, **fields}, *others])))(connection)

    return change


def put_fields(section: str, **fields: Any) -> Callable[[apsw.Connection], object]:
    """Return the change that puts other values into the JSON of a section's first row."""

    def change(connection: apsw.Connection) -> object:
        sql = f"SELECT body FROM bundle_{section} WHERE number = 1"  # noqa: S608 - our own names
        (body,) = connection.execute(sql).fetchone()
        return put_body(section, json.dumps({**json.loads(body), **fields}).encode())(connection)

    return change


def execute(sql: str, *values: Any) -> Callable[[apsw.Connection], object]:
    """Return the change that executes a statement."""
    return lambda connection: connection.execute(sql, values)


@cache
def bomb() -> bytes:
    """Return a body of a few bytes that unpacks to more than a row may."""
    return zlib.compress(b"[" + b" " * (2 * MAX_ROW_BYTES) + b"]")


def vectors_with(value: float) -> bytes:
    """Return the body of all vectors, zero but for one component."""
    halves = np.zeros((DOCUMENTS * CHUNKS_OF_EACH, 64), "<f2")
    halves[3, 5] = value
    return halves.tobytes()
