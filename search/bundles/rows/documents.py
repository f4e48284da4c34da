"""Documents with their chunks: read from Postgres once, said in the bundle and put into its index."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from search.bundles.format.layout import CHUNKS_A_ROW, ROW_BYTES
from search.bundles.format.sections import SECTIONS_BY_NAME
from search.bundles.format.values import packed_json, said
from search.mirror.sync.snapshot import ChunkState, DocumentState
from search.models import Chunk, Document

# Documents fetched per round trip.
_BATCH = 100


def documents_of(workspace_id: uuid.UUID) -> Iterator[tuple[Document, list[Chunk]]]:
    """Give every document, in the order of their rows, with its chunks in order."""
    after = 0
    while True:
        documents = list(
            Document.objects.in_workspace(workspace_id)
            .filter(id__gt=after, source__workspace=workspace_id, version__workspace=workspace_id)
            .select_related("source", "version")
            .order_by("id")[:_BATCH]
        )
        if not documents:
            return
        after = documents[-1].pk
        chunks: dict[int, list[Chunk]] = {}
        rows = Chunk.objects.in_workspace(workspace_id).filter(document__in=[one.pk for one in documents])
        for chunk in rows.order_by("document_id", "ordinal").iterator(chunk_size=2_000):
            chunks.setdefault(chunk.document_id, []).append(chunk)
        for document in documents:
            yield document, chunks.pop(document.pk, [])


def chunk_bodies(chunks: Sequence[Chunk]) -> Iterator[bytes]:
    """Return what the rows of a document's chunks hold, before they are compressed."""
    fields = SECTIONS_BY_NAME["chunks"].fields
    bodies: list[bytes] = []
    for chunk in chunks:
        bodies.append(packed_json(said(fields, {name: getattr(chunk, name) for name in fields})))
        if len(bodies) >= CHUNKS_A_ROW or sum(map(len, bodies)) >= ROW_BYTES:
            yield b"[%s]" % b",".join(bodies)
            bodies = []
    if bodies:
        yield b"[%s]" % b",".join(bodies)


def state_of(document: Document, chunks: Sequence[Chunk]) -> DocumentState:
    """Return a document as a mirror holds it; `search.mirror.sync.snapshot` reads the same from Postgres."""
    return mirrored(
        {name: getattr(document, name) for name in ("path", "lang", "trust_level", "media", "tags")},
        doc_id=document.doc_id.hex,
        source_key=document.source.key,
        version_tag=document.version.tag,
        indexed_at=document.indexed_at.timestamp(),
        chunks=[
            {name: getattr(chunk, name) for name in SECTIONS_BY_NAME["chunks"].fields} for chunk in chunks
        ],
    )


def mirrored(
    values: Mapping[str, Any],
    *,
    doc_id: str,
    source_key: str,
    version_tag: str,
    indexed_at: float,
    chunks: Sequence[Mapping[str, Any]],
) -> DocumentState:
    """Return a document as a mirror holds it, from the values of its row and its chunks'."""
    return DocumentState(
        doc_id=doc_id,
        path=values["path"],
        lang=values["lang"],
        trust_level=values["trust_level"],
        media=values["media"],
        source_key=source_key,
        version_tag=version_tag,
        indexed_at=indexed_at,
        tags=tuple(sorted(set(values["tags"]))),
        chunks=tuple(
            ChunkState(
                chunk_id=chunk["chunk_id"].hex,
                kind=chunk["kind"],
                code_lang=chunk["language"],
                row_version=chunk["row_version"],
                breadcrumb=chunk["breadcrumb"],
                text=chunk["text"],
            )
            for chunk in chunks
        ),
    )
