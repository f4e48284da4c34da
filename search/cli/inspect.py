"""The indexed state of a document or a chunk, for `kebab inspect`."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kebab.cli.errors import CliError, Exit
from kebab.people.models import Workspace
from kebab.uuids import parse_uuid
from search.mirror import local_mirrors
from search.mirror.errors import MirrorError
from search.mirror.sync.contents import mirrored_chunks
from search.models import Chunk, ChunkVector, Document
from search.retrieval.citation import citation_of
from search.vectors.spaces import live_space

_DOCUMENT_FIELDS = (
    "path",
    "title",
    "lang",
    "tags",
    "trust_level",
    "mime",
    "media",
    "size_bytes",
    "content_hash",
    "parser_version",
    "chunker_version",
    "overrides",
    "metadata",
    "indexed_at",
    "author",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexState:
    """The chunks of a document that have reached the indexes derived from Postgres."""

    #: Row versions in this node's mirror by chunk id; None if this node has no mirror of the workspace.
    mirrored: dict[str, int] | None
    mirror_seq: int
    #: Chunks with a vector in the live space.
    embedded: frozenset[uuid.UUID]


def find_document(workspace: Workspace, id_or_path: str) -> Document:
    """Return the document with this id or path. Raises CliError, with ids to choose from if several match."""
    documents = Document.objects.in_workspace(workspace).select_related("source", "version")
    doc_id = parse_uuid(id_or_path)
    found = list(documents.filter(doc_id=doc_id)) if doc_id else []
    found = found or list(documents.filter(path=id_or_path).order_by("id"))
    if not found:
        raise _missing(workspace, "document", id_or_path)
    if len(found) > 1:
        choices = ", ".join(f"{each.doc_id.hex} ({each.source.key} {each.version.tag})" for each in found)
        raise CliError(
            f"{len(found)} documents have this path; name one by its id: {choices}.", code="ambiguous"
        )
    return found[0]


def find_chunk(workspace: Workspace, chunk_id: str) -> Chunk:
    """Return the chunk with this id. Raises CliError."""
    wanted = parse_uuid(chunk_id)
    chunks = Chunk.objects.in_workspace(workspace).select_related("document__source", "document__version")
    chunk = None if wanted is None else chunks.filter(chunk_id=wanted).first()
    if chunk is None:
        raise _missing(workspace, "chunk", chunk_id)
    return chunk


def document_facts(workspace: Workspace, document: Document) -> dict[str, Any]:
    """Return a document with all its chunks in order, without their texts."""
    chunks = list(document.chunks.in_workspace(workspace).order_by("ordinal"))
    state = _index_state(workspace, document, chunks)
    return {
        "schema_version": "document_inspection.v1",
        "document": _document(document),
        "mirror": _mirror(workspace, state, chunks),
        "chunks": [_chunk(document, chunk, state) for chunk in chunks],
    }


def chunk_facts(workspace: Workspace, chunk: Chunk) -> dict[str, Any]:
    """Return a chunk with its text and its document."""
    state = _index_state(workspace, chunk.document, [chunk])
    return {
        "schema_version": "chunk_inspection.v1",
        "document": _document(chunk.document),
        "mirror": _mirror(workspace, state, [chunk]),
        "chunk": {**_chunk(chunk.document, chunk, state), "text": chunk.text},
    }


def _document(document: Document) -> dict[str, Any]:
    place = {"source": document.source.key, "version": document.version.tag or None}
    return {
        "id": document.doc_id.hex,
        **place,
        **{name: getattr(document, name) for name in _DOCUMENT_FIELDS},
        "date": document.dated_at,
    }


def _chunk(document: Document, chunk: Chunk, state: IndexState) -> dict[str, Any]:
    citation = citation_of(document.path, chunk.section_label, chunk.source_spans)
    return {
        "id": chunk.chunk_id.hex,
        "ordinal": chunk.ordinal,
        "kind": chunk.kind,
        "language": chunk.language or None,
        "citation": citation.uri,
        "spans": chunk.source_spans,
        "breadcrumb": chunk.breadcrumb,
        "heading_path": chunk.heading_path,
        "section_label": chunk.section_label,
        "tokens": chunk.token_count,
        "embedded": chunk.chunk_id in state.embedded,
        "mirrored": _is_mirrored(chunk, state),
    }


def _index_state(workspace: Workspace, document: Document, chunks: Sequence[Chunk]) -> IndexState:
    space = live_space(workspace)
    ids = [chunk.chunk_id for chunk in chunks]
    vectors = ChunkVector.objects.in_workspace(workspace).filter(chunk_id__in=ids)
    embedded = (
        [] if space is None else vectors.filter(space=space.space_id).values_list("chunk_id", flat=True)
    )
    seq, mirrored = local_mirrors.mirror_seq(workspace.pk), None
    try:
        with local_mirrors.reader_pool().reader(local_mirrors.mirror_files(workspace.pk).current()) as reader:
            mirrored = mirrored_chunks(reader, document.doc_id.hex)
    except MirrorError:
        seq = 0
    return IndexState(mirrored=mirrored, mirror_seq=seq, embedded=frozenset(embedded))


def _mirror(workspace: Workspace, state: IndexState, chunks: Sequence[Chunk]) -> dict[str, Any]:
    return {
        "exists": state.mirrored is not None,
        "seq": state.mirror_seq,
        "head_seq": workspace.head_seq,
        "chunks": sum(_is_mirrored(chunk, state) for chunk in chunks),
        "of": len(chunks),
    }


def _is_mirrored(chunk: Chunk, state: IndexState) -> bool:
    return (state.mirrored or {}).get(chunk.chunk_id.hex) == chunk.row_version


def _missing(workspace: Workspace, what: str, value: str) -> CliError:
    return CliError(
        f"There is no {what} {value[:100]!r} in {workspace.slug}; see: kebab list documents, kebab search",
        code="not_found",
        exit_code=Exit.NOTHING,
    )
