"""Replacing a document: row, chunks, vectors and change in one transaction, taken in this lock order:
document, chunks, then the workspace's number last.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.db import transaction
from django.utils import timezone

from search.changelog import append_changes
from search.corpus.drafts import ChunkDraft, DocumentDraft, Place
from search.identifiers import chunk_ids, embed_hash
from search.models import Chunk, ChunkVector, Document, EmbeddingSpace, SpaceState

Outcome = Literal["new", "updated", "unchanged"]

_CHUNK_FIELDS = (
    "document_id",
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
    """Make the document at `place` what `draft` says. The same draft again changes nothing.

    Chunks whose id stays keep their row. Vectors of equal text in the workspace are taken over, so that
    nothing is embedded twice. `before_numbering` runs in the transaction, before the workspace's lock is
    taken; what it raises undoes all. Raises LookupError when the workspace is gone.
    """
    with transaction.atomic():
        document, is_new = _locked_document(place, draft)
        outcome: Outcome = "new" if is_new else "updated"
        if not is_new and _says_the_same(document, draft):
            outcome = "unchanged"
            _note_time(document, draft)
        else:
            if not is_new:
                _restate(document, draft)
            _replace_chunks(document, _chunk_rows(place, document, draft))
        before_numbering(outcome)
        seq = (
            append_changes(place.workspace.pk, [document.doc_id], "upsert")
            if outcome != "unchanged"
            else None
        )
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


def _locked_document(place: Place, draft: DocumentDraft) -> tuple[Document, bool]:
    # Two writers of one new document: the second waits for the first's commit and finds its row.
    return (
        Document.objects.in_workspace(place.workspace)
        .select_for_update()
        .get_or_create(
            doc_id=place.doc_id,
            defaults={
                "workspace": place.workspace,
                "source": place.source,
                "version": place.version,
                "path": place.path,
                "source_mtime_ns": draft.source_mtime_ns,
                "indexed_at": timezone.now(),
                **{name: _stored(getattr(draft, name)) for name in _DOCUMENT_FIELDS},
            },
        )
    )


def _restate(document: Document, draft: DocumentDraft) -> None:
    rows = Document.objects.in_workspace(document.workspace_id).filter(pk=document.pk)
    rows.update(
        source_mtime_ns=draft.source_mtime_ns,
        indexed_at=timezone.now(),
        **{name: _stored(getattr(draft, name)) for name in _DOCUMENT_FIELDS},
    )


def _says_the_same(document: Document, draft: DocumentDraft) -> bool:
    return all(getattr(document, name) == _stored(getattr(draft, name)) for name in _DOCUMENT_FIELDS)


def _note_time(document: Document, draft: DocumentDraft) -> None:
    if document.source_mtime_ns != draft.source_mtime_ns:
        rows = Document.objects.in_workspace(document.workspace_id).filter(pk=document.pk)
        rows.update(source_mtime_ns=draft.source_mtime_ns)


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


def _replace_chunks(document: Document, wanted: dict[uuid.UUID, Chunk]) -> None:
    chunks = Chunk.objects.in_workspace(document.workspace_id)
    present = {chunk.chunk_id: chunk for chunk in chunks.filter(document=document).defer("text")}
    added = [chunk for chunk_id, chunk in wanted.items() if chunk_id not in present]
    Chunk.objects.bulk_create(added)
    moved = [_moved(present[id_], chunk) for id_, chunk in wanted.items() if id_ in present]
    stale = _update_moved([chunk for chunk in moved if chunk is not None])
    _take_over_vectors(document, [*added, *stale])
    gone = present.keys() - wanted.keys()
    if gone:
        chunks.filter(chunk_id__in=gone).delete()


def _moved(present: Chunk, wanted: Chunk) -> tuple[Chunk, Chunk] | None:
    if all(getattr(present, name) == getattr(wanted, name) for name in _CHUNK_FIELDS):
        return None
    wanted.row_version = present.row_version + 1
    return present, wanted


def _update_moved(moved: Sequence[tuple[Chunk, Chunk]]) -> list[Chunk]:
    """Write the rows that changed under their id; give those whose vector no longer fits."""
    stale = []
    for present, wanted in moved:
        row = Chunk.objects.in_workspace(wanted.workspace_id).filter(chunk_id=wanted.chunk_id)
        values = {name: getattr(wanted, name) for name in _CHUNK_FIELDS}
        row.update(row_version=wanted.row_version, **values)
        if present.embed_hash != wanted.embed_hash:
            stale.append(wanted)
    if stale:
        vectors = ChunkVector.objects.in_workspace(stale[0].workspace_id)
        vectors.filter(chunk_id__in=[chunk.chunk_id for chunk in stale]).delete()
    return stale


def _take_over_vectors(document: Document, chunks: Sequence[Chunk]) -> None:
    """Give chunks the vectors that equal text has already got in the workspace's spaces."""
    if not chunks:
        return
    spaces = EmbeddingSpace.objects.in_workspace(document.workspace_id).exclude(state=SpaceState.RETIRED)
    known = (
        ChunkVector.objects.in_workspace(document.workspace_id)
        .filter(space__in=list(spaces.values_list("pk", flat=True)))
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
