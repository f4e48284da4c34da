"""Replacing documents: rows, chunks, vectors and changes in one transaction, taken in this lock order:
documents, chunks, then the workspace's number last.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.db import IntegrityError, transaction
from django.utils import timezone

from search.corpus.changelog import append_changes
from search.corpus.chunk_rows import replace_chunks
from search.corpus.drafts import DocumentDraft, Place
from search.models import Document

Outcome = Literal["new", "updated", "unchanged"]

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
_TIME_FIELDS = ("source_mtime_ns", "source_revision", "requested_at")


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
    """Make the document at `place` what `draft` says, as `replace_documents` does for several."""
    (written,) = replace_documents([(place, draft)], lambda outcomes: before_numbering(outcomes[0]))
    return written


def replace_documents(
    writes: Sequence[tuple[Place, DocumentDraft]],
    before_numbering: Callable[[Sequence[Outcome]], None] = lambda outcomes: None,
) -> list[Written]:
    """Make the documents at different places of one workspace what the drafts say, all of them or none.

    The same again, or an outdated one, changes nothing. Chunks whose id stays keep their row. Vectors of
    equal text in the workspace are taken over, so that nothing is embedded twice. `before_numbering` runs in
    the transaction, before the workspace's lock is taken; what it raises undoes all. Results are in the
    order given. Raises LookupError when the workspace is gone.
    """
    try:
        return _replace(writes, before_numbering)
    except _BeatenToIt:  # another writer of the same new document has committed: there is its row now
        return _replace(writes, before_numbering)


class _BeatenToIt(Exception):
    """Another writer has inserted the document since we looked."""


@dataclass(slots=True, kw_only=True)
class _Write:
    """A document on its way, with its row as soon as there is one."""

    place: Place
    draft: DocumentDraft
    doc_id: uuid.UUID
    document: Document | None
    outcome: Outcome


def _replace(
    writes: Sequence[tuple[Place, DocumentDraft]], before_numbering: Callable[[Sequence[Outcome]], None]
) -> list[Written]:
    with transaction.atomic():
        under_way = _look(writes)
        _insert([write for write in under_way if write.outcome == "new"])
        for write in under_way:
            if write.outcome == "updated":
                _state(write, *_DOCUMENT_FIELDS, *_TIME_FIELDS, indexed_at=timezone.now())
            elif write.outcome == "unchanged" and not _is_superseded(write.document, write.draft):
                _state(write, *_TIME_FIELDS)
        changed = [write for write in under_way if write.outcome != "unchanged"]
        replace_chunks(
            [(write.document, write.draft) for write in changed if write.document],
            new={write.doc_id for write in changed if write.outcome == "new"},
        )
        before_numbering([write.outcome for write in under_way])
        numbers = _number(changed)
    return [
        Written(
            outcome=write.outcome,
            doc_id=write.doc_id,
            seq=numbers.get(write.doc_id),
            chunks=len(write.draft.chunks),
        )
        for write in under_way
    ]


def restate_document(document: Document, **fields: Any) -> int:
    """Change what is said about a document (tags, lang, trust_level, …), not its text; give the number.

    Raises LookupError when the workspace is gone.
    """
    with transaction.atomic():
        rows = Document.objects.in_workspace(document.workspace_id).filter(pk=document.pk)
        rows.update(**fields)
        return append_changes(document.workspace_id, [document.doc_id], "upsert")


def _look(writes: Sequence[tuple[Place, DocumentDraft]]) -> list[_Write]:
    """Find out what is to be done, with the documents that are there locked."""
    if not writes:
        return []
    by_id = {place.doc_id: (place, draft) for place, draft in writes}
    documents = Document.objects.in_workspace(writes[0][0].workspace).filter(doc_id__in=list(by_id))
    # In one order, like insertions: else two writers of the same documents could wait for each other.
    present = {document.doc_id: document for document in documents.order_by("doc_id").select_for_update()}
    return [
        _Write(
            place=place,
            draft=draft,
            doc_id=doc_id,
            document=present.get(doc_id),
            outcome=_outcome(present.get(doc_id), draft),
        )
        for doc_id, (place, draft) in by_id.items()
    ]


def _outcome(document: Document | None, draft: DocumentDraft) -> Outcome:
    if document is None:
        return "new"
    return "unchanged" if _is_superseded(document, draft) or _says_the_same(document, draft) else "updated"


def _stored(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return value if isinstance(value, str | int | datetime | None) else dict(value)


def _fields(draft: DocumentDraft, *names: str) -> dict[str, Any]:
    return {name: _stored(getattr(draft, name)) for name in names}


def _insert(writes: Sequence[_Write]) -> None:
    for write in writes:
        write.document = _row(write)
    in_order = sorted(writes, key=lambda write: write.doc_id)
    try:
        Document.objects.bulk_create([write.document for write in in_order if write.document])
    except IntegrityError as error:
        if "document_id_once" in str(error):
            raise _BeatenToIt from error
        raise


def _row(write: _Write) -> Document:
    return Document(
        workspace=write.place.workspace,
        doc_id=write.doc_id,
        source=write.place.source,
        version=write.place.version,
        path=write.place.path,
        indexed_at=timezone.now(),
        **_fields(write.draft, *_DOCUMENT_FIELDS, *_TIME_FIELDS),
    )


def _state(write: _Write, *names: str, **fields: Any) -> None:
    """Write what the draft says under `names` into the document's row."""
    rows = Document.objects.in_workspace(write.place.workspace).filter(doc_id=write.doc_id)
    rows.update(**_fields(write.draft, *names), **fields)


def _is_superseded(document: Document | None, draft: DocumentDraft) -> bool:
    """Return whether the document holds what a later request than the draft's asked for."""
    return (
        document is not None
        and draft.requested_at is not None
        and document.requested_at is not None
        and draft.requested_at < document.requested_at
    )


def _says_the_same(document: Document, draft: DocumentDraft) -> bool:
    return all(getattr(document, name) == value for name, value in _fields(draft, *_DOCUMENT_FIELDS).items())


def _number(writes: Sequence[_Write]) -> dict[uuid.UUID, int]:
    """Append the documents to the change log; give their numbers."""
    if not writes:
        return {}
    doc_ids = [write.doc_id for write in writes]
    last = append_changes(writes[0].place.workspace.pk, doc_ids, "upsert")
    return {doc_id: last - len(doc_ids) + nth for nth, doc_id in enumerate(doc_ids, start=1)}
