"""Replacing a document: row, chunks, vectors and change in one transaction, taken in this lock order:
document, chunks, then the workspace's number last.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.db import IntegrityError, transaction
from django.utils import timezone

from search.changelog import append_changes
from search.corpus.drafts import ChunkDraft, DocumentDraft, Place
from search.identifiers import chunk_ids, embed_hash
from search.models import Chunk, ChunkVector, Document, EmbeddingSpace, SpaceState
from search.models.tenant import TenantQuerySet

Outcome = Literal["new", "updated", "unchanged"]

_CHUNK_FIELDS = (
    "ordinal",
    "kind",
    "language",
    "heading_path",
    "breadcrumb",
    "section_label",
    "source_spans",
    "token_count",
    "embed_hash",
)
_DOCUMENT_FIELDS = (
    "title",
    "lang",
    "tags",
    "trust_level",
    "mime",
    "media",
    "size_bytes",
    "content_hash",
    "overrides",
    "parser_version",
    "chunker_version",
    "metadata",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a write did; `seq` is None when nothing changed."""

    outcome: Outcome
    doc_id: uuid.UUID
    seq: int | None
    chunks: int


def replace_document(
    place: Place,
    draft: DocumentDraft,
    before_numbering: Callable[[Outcome], None] = lambda outcome: None,
) -> Written:
    """Make the document at `place` what `draft` says; the same again, or an outdated one, changes nothing.

    Chunks whose id stays keep their row. Vectors of equal text in the workspace are taken over, so that
    nothing is embedded twice. `before_numbering` runs in the transaction, before the workspace's lock is
    taken; what it raises undoes all. Raises LookupError when the workspace is gone.
    """
    try:
        return _replace(place, draft, before_numbering)
    except _BeatenToIt:  # another writer of the same new document has committed: there is its row now
        return _replace(place, draft, before_numbering)


class _BeatenToIt(Exception):
    """Another writer has inserted the document since we looked."""


def _replace(place: Place, draft: DocumentDraft, before_numbering: Callable[[Outcome], None]) -> Written:
    with transaction.atomic():
        document = _documents(place).filter(doc_id=place.doc_id).select_for_update().first()
        if document is None:
            outcome: Outcome = "new"
            document = _insert(place, draft)
            _replace_chunks(document, _chunk_rows(place, document, draft), present={})
        elif _is_superseded(document, draft) or _says_the_same(document, draft):
            outcome = "unchanged"
            _note_times(document, draft)
        else:
            outcome = "updated"
            _restate(document, draft)
            _replace_chunks(document, _chunk_rows(place, document, draft), _present_chunks(document))
        before_numbering(outcome)
        seq = None
        if outcome != "unchanged":
            seq = append_changes(place.workspace.pk, [document.doc_id], "upsert")
    return Written(outcome=outcome, doc_id=document.doc_id, seq=seq, chunks=len(draft.chunks))


def restate_document(document: Document, **fields: Any) -> int:
    """Change what is said about a document (tags, lang, trust_level, …), not its text; give the number.

    Raises LookupError when the workspace is gone.
    """
    with transaction.atomic():
        rows = Document.objects.in_workspace(document.workspace_id).filter(pk=document.pk)
        rows.update(**fields)
        return append_changes(document.workspace_id, [document.doc_id], "upsert")


def _stored(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return value if isinstance(value, str | int | None) else dict(value)


def _documents(place: Place) -> TenantQuerySet:
    return Document.objects.in_workspace(place.workspace)


def _insert(place: Place, draft: DocumentDraft) -> Document:
    try:
        return Document.objects.create(
            workspace=place.workspace,
            doc_id=place.doc_id,
            source=place.source,
            version=place.version,
            path=place.path,
            source_mtime_ns=draft.source_mtime_ns,
            source_revision=draft.source_revision,
            requested_at=draft.requested_at,
            indexed_at=timezone.now(),
            **{name: _stored(getattr(draft, name)) for name in _DOCUMENT_FIELDS},
        )
    except IntegrityError as error:
        if "document_id_once" in str(error):
            raise _BeatenToIt from error
        raise


def _restate(document: Document, draft: DocumentDraft) -> None:
    rows = Document.objects.in_workspace(document.workspace_id).filter(pk=document.pk)
    rows.update(
        source_mtime_ns=draft.source_mtime_ns,
        source_revision=draft.source_revision,
        requested_at=draft.requested_at,
        indexed_at=timezone.now(),
        **{name: _stored(getattr(draft, name)) for name in _DOCUMENT_FIELDS},
    )


def _is_superseded(document: Document, draft: DocumentDraft) -> bool:
    """Whether the document holds what a later request than the draft's asked for."""
    return (
        draft.requested_at is not None
        and document.requested_at is not None
        and draft.requested_at < document.requested_at
    )


def _says_the_same(document: Document, draft: DocumentDraft) -> bool:
    return all(getattr(document, name) == _stored(getattr(draft, name)) for name in _DOCUMENT_FIELDS)


def _note_times(document: Document, draft: DocumentDraft) -> None:
    if not _is_superseded(document, draft):
        rows = Document.objects.in_workspace(document.workspace_id).filter(pk=document.pk)
        rows.update(
            source_mtime_ns=draft.source_mtime_ns,
            source_revision=draft.source_revision,
            requested_at=draft.requested_at,
        )


def _chunk_rows(place: Place, document: Document, draft: DocumentDraft) -> dict[uuid.UUID, Chunk]:
    ids = chunk_ids(document.doc_id, draft.chunker_version, (chunk.text for chunk in draft.chunks))
    return {
        chunk_id: _chunk_row(place, document, chunk_id, chunk)
        for chunk_id, chunk in zip(ids, draft.chunks, strict=True)
    }


def _chunk_row(place: Place, document: Document, chunk_id: uuid.UUID, chunk: ChunkDraft) -> Chunk:
    return Chunk(
        workspace=place.workspace,
        chunk_id=chunk_id,
        document=document,
        ordinal=chunk.ordinal,
        kind=chunk.kind,
        language=chunk.language or "",
        heading_path=list(chunk.heading_path),
        breadcrumb=chunk.breadcrumb,
        section_label=chunk.section_label or "",
        text=chunk.text,
        source_spans=[dict(span) for span in chunk.spans],
        token_count=chunk.token_count,
        embed_hash=embed_hash(chunk.breadcrumb, chunk.text),
    )


def _present_chunks(document: Document) -> dict[uuid.UUID, Chunk]:
    chunks = Chunk.objects.in_workspace(document.workspace_id).filter(document=document)
    # Locked in the order in which vectors are stored for them: else the two could wait for each other.
    locked = chunks.select_for_update().order_by("chunk_id")
    return {chunk.chunk_id: chunk for chunk in locked.defer("text")}


def _replace_chunks(
    document: Document, wanted: dict[uuid.UUID, Chunk], present: dict[uuid.UUID, Chunk]
) -> None:
    added = [chunk for chunk_id, chunk in wanted.items() if chunk_id not in present]
    moved = [chunk for chunk_id, chunk in wanted.items() if _has_moved(present.get(chunk_id), chunk)]
    for chunk in moved:
        chunk.row_version = present[chunk.chunk_id].row_version + 1
    Chunk.objects.bulk_create(added)
    Chunk.objects.bulk_create(
        moved,
        update_conflicts=True,
        unique_fields=("workspace", "chunk_id"),
        update_fields=(*_CHUNK_FIELDS, "row_version"),
    )
    stale = [chunk for chunk in moved if chunk.embed_hash != present[chunk.chunk_id].embed_hash]
    _drop_vectors(document, stale)
    _take_over_vectors(document, [*added, *stale])
    gone = present.keys() - wanted.keys()
    if gone:
        Chunk.objects.in_workspace(document.workspace_id).filter(chunk_id__in=gone).delete()


def _has_moved(present: Chunk | None, wanted: Chunk) -> bool:
    """Whether anything but the text, which its id stands for, is now different."""
    return present is not None and any(
        getattr(present, name) != getattr(wanted, name) for name in _CHUNK_FIELDS
    )


def _drop_vectors(document: Document, chunks: Sequence[Chunk]) -> None:
    if chunks:
        vectors = ChunkVector.objects.in_workspace(document.workspace_id)
        vectors.filter(chunk_id__in=[chunk.chunk_id for chunk in chunks]).delete()


def _take_over_vectors(document: Document, chunks: Sequence[Chunk]) -> None:
    """Give chunks the vectors that equal text has already got in the workspace's spaces."""
    if not chunks:
        return
    spaces = EmbeddingSpace.objects.in_workspace(document.workspace_id).exclude(state=SpaceState.RETIRED)
    known = (
        ChunkVector.objects.in_workspace(document.workspace_id)
        .filter(space__in=spaces.values("pk"))
        .filter(embed_hash__in={chunk.embed_hash for chunk in chunks})
        .order_by("space_id", "embed_hash")
        .distinct("space_id", "embed_hash")
        .values_list("space_id", "embed_hash", "embedding")
    )
    by_hash: dict[uuid.UUID, list[tuple[int, Any]]] = {}
    for space_id, hash_, embedding in known:
        by_hash.setdefault(hash_, []).append((space_id, embedding))
    taken = [
        ChunkVector(
            workspace_id=document.workspace_id,
            space_id=space_id,
            chunk_id=chunk.chunk_id,
            version_id=document.version_id,
            embed_hash=chunk.embed_hash,
            embedding=embedding,
        )
        for chunk in chunks
        for space_id, embedding in by_hash.get(chunk.embed_hash, ())
    ]
    ChunkVector.objects.bulk_create(taken, ignore_conflicts=True)
