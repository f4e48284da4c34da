"""Replacement of documents: rows, chunks, vectors and changes in one transaction.

Lock order: documents, chunks, the workspace's head last.

A writer calls `append_changes` **last** in its transaction: the workspace's row lock orders the numbers by
commit, so a reader can't skip one that commits late, and is held only from here to the commit.
"""

import secrets
import uuid
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from django.db import IntegrityError, connection, models, transaction
from django.utils import timezone

from kebab.identity.models import Workspace
from search.corpus.chunk_rows import replace_chunks
from search.corpus.drafts import DocumentDraft, DocumentLocation
from search.models import Change, Document
from search.retrieval.document_date import known_date, stated_author, stated_date, time_of_ns
from search.retrieval.query.metadata import filter_values

#: The Postgres notification channel for changed workspaces. A hint only: readers poll as well.
CHANNEL = "kebab_change"
#: Retention of changes; a mirror that is further behind is rebuilt.
KEEP = timedelta(days=7)

# One statement, so that the row lock is held for one round trip before the commit.
_APPEND = """
WITH head AS (
    UPDATE people_workspace SET head_seq = head_seq + %(count)s WHERE id = %(workspace)s RETURNING head_seq
), logged AS (
    INSERT INTO search_change (workspace_id, seq, doc_id, op, token, at)
    SELECT %(workspace)s, head.head_seq - %(count)s + d.nth, d.doc_id, %(op)s, %(token)s, now()
    FROM head, unnest(%(doc_ids)s::uuid[]) WITH ORDINALITY AS d(doc_id, nth)
)
SELECT head_seq, pg_notify(%(channel)s, %(workspace)s::text) FROM head
"""


def append_changes(
    workspace_id: uuid.UUID, doc_ids: Sequence[uuid.UUID], op: Literal["upsert", "delete"]
) -> int:
    """Append a change of each of `doc_ids`, in order; return the last number. Call it last in a transaction.

    Raises LookupError when the workspace is gone.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            _APPEND,
            {
                "workspace": workspace_id,
                "count": len(doc_ids),
                "doc_ids": list(doc_ids),
                "op": op,
                "token": secrets.randbits(63),
                "channel": CHANNEL,
            },
        )
        row = cursor.fetchone()
    if row is None:
        raise LookupError(f"Workspace {workspace_id} does not exist any more.")
    return int(row[0])


def prune_changes() -> int:
    """Delete changes older than seven days, but never a workspace's latest; return the number deleted."""
    latest = Workspace.objects.filter(pk=models.OuterRef("workspace_id")).values("head_seq")
    old = Change.objects.filter(at__lt=timezone.now() - KEEP, seq__lt=models.Subquery(latest))
    deleted, _ = old.delete()
    return deleted


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
    "omissions",
    "author",
    "filter_values",
)
_TIME_FIELDS = ("source_mtime_ns", "source_revision", "requested_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteResult:
    """The result of a write; `seq` is None when nothing changed."""

    outcome: Outcome
    doc_id: uuid.UUID
    seq: int | None
    chunks: int


def replace_document(
    place: DocumentLocation,
    draft: DocumentDraft,
    before_numbering: Callable[[Outcome], None] = lambda outcome: None,
) -> WriteResult:
    """Replace the document at `place` by `draft`; see `replace_documents`."""
    (written,) = replace_documents([(place, draft)], lambda outcomes: before_numbering(outcomes[0]))
    return written


def replace_documents(
    writes: Sequence[tuple[DocumentLocation, DocumentDraft]],
    before_numbering: Callable[[Sequence[Outcome]], None] = lambda outcomes: None,
) -> list[WriteResult]:
    """Replace documents at different locations of one workspace by drafts, all of them or none.

    An equal or outdated draft changes nothing. Chunks whose id stays keep their row. Vectors of equal text in
    the workspace are copied, so that no text is embedded twice. `before_numbering` runs in the transaction,
    before the workspace's lock is taken; an error in it rolls everything back. Results are in the given
    order. Raises DocumentsChanged, and LookupError when the workspace is gone.
    """
    try:
        return _replace(writes, before_numbering)
    except _ConcurrentInsert:  # the other writer has committed, so the document's row exists now
        return _replace(writes, before_numbering)


class DocumentsChanged(Exception):
    """Documents that drafts are based on have changed meanwhile; nothing was written."""

    def __init__(self, doc_ids: Set[uuid.UUID]) -> None:
        super().__init__(f"{len(doc_ids)} documents have changed.")
        self.doc_ids = doc_ids


class _ConcurrentInsert(Exception):
    """Another writer has inserted the document since it was looked up."""


@dataclass(slots=True, kw_only=True)
class _PendingWrite:
    """A document to be written, with its row as soon as there is one."""

    place: DocumentLocation
    draft: DocumentDraft
    doc_id: uuid.UUID
    document: Document | None
    outcome: Outcome


def _replace(
    writes: Sequence[tuple[DocumentLocation, DocumentDraft]],
    before_numbering: Callable[[Sequence[Outcome]], None],
) -> list[WriteResult]:
    with transaction.atomic():
        pending = _plan_writes(writes)
        _insert([write for write in pending if write.outcome == "new"])
        for write in pending:
            if write.outcome == "updated":
                _update_row(write, *_DOCUMENT_FIELDS, *_TIME_FIELDS, **_dates(write.document, write.draft))
            elif write.outcome == "unchanged" and not _is_superseded(write.document, write.draft):
                _update_row(write, *_TIME_FIELDS)
        changed = [write for write in pending if write.outcome != "unchanged"]
        replace_chunks(
            [(write.document, write.draft) for write in changed if write.document],
            new={write.doc_id for write in changed if write.outcome == "new"},
        )
        before_numbering([write.outcome for write in pending])
        numbers = _append_to_log(changed)
    return [
        WriteResult(
            outcome=write.outcome,
            doc_id=write.doc_id,
            seq=numbers.get(write.doc_id),
            chunks=len(write.draft.chunks),
        )
        for write in pending
    ]


def update_document_fields(document: Document, **fields: Any) -> int:
    """Update a document's metadata (tags, lang, trust_level, …), not its text; return the change number.

    Raises LookupError when the workspace is gone.
    """
    if "metadata" in fields:
        metadata = fields["metadata"]
        fields |= {
            "author": stated_author(metadata),
            "dated_at": stated_date(metadata) or document.dated_at,
            "is_dated": document.is_dated or stated_date(metadata) is not None,
            "filter_values": filter_values(metadata),
        }
    with transaction.atomic():
        rows = Document.objects.in_workspace(document.workspace_id).filter(pk=document.pk)
        rows.update(**fields)
        return append_changes(document.workspace_id, [document.doc_id], "upsert")


def _plan_writes(writes: Sequence[tuple[DocumentLocation, DocumentDraft]]) -> list[_PendingWrite]:
    """Lock the existing documents and decide the outcome of each write."""
    if not writes:
        return []
    by_id = {place.doc_id: (place, draft) for place, draft in writes}
    documents = Document.objects.in_workspace(writes[0][0].workspace).filter(doc_id__in=list(by_id))
    # The lock order of insertions, to avoid deadlocks between writers of the same documents.
    present = {document.doc_id: document for document in documents.order_by("doc_id").select_for_update()}
    changed = {doc_id for doc_id, (_, draft) in by_id.items() if _is_outdated(draft, present.get(doc_id))}
    if changed:
        raise DocumentsChanged(changed)
    return [
        _PendingWrite(
            place=place,
            draft=draft,
            doc_id=doc_id,
            document=present.get(doc_id),
            outcome=_decide_outcome(present.get(doc_id), draft),
        )
        for doc_id, (place, draft) in by_id.items()
    ]


def _is_outdated(draft: DocumentDraft, document: Document | None) -> bool:
    """Return whether the document has other overrides than the draft expects, or its bytes were replaced."""
    base = draft.based_on
    if base is None:
        return False
    is_same_content = draft.content_hash == base.content_hash
    if document is None:
        return is_same_content
    is_replaced = is_same_content and document.content_hash != base.content_hash
    return is_replaced or document.overrides != base.overrides


def _decide_outcome(document: Document | None, draft: DocumentDraft) -> Outcome:
    if document is None:
        return "new"
    return "unchanged" if _is_superseded(document, draft) or _is_equal(document, draft) else "updated"


def _to_storable(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return value if isinstance(value, str | int | datetime | None) else dict(value)


def _fields(draft: DocumentDraft, *names: str) -> dict[str, Any]:
    return {name: _to_storable(getattr(draft, name)) for name in names}


def _insert(writes: Sequence[_PendingWrite]) -> None:
    for write in writes:
        write.document = _build_row(write)
    in_order = sorted(writes, key=lambda write: write.doc_id)
    try:
        Document.objects.bulk_create([write.document for write in in_order if write.document])
    except IntegrityError as error:
        if "document_id_once" in str(error):
            raise _ConcurrentInsert from error
        raise


def _build_row(write: _PendingWrite) -> Document:
    return Document(
        workspace=write.place.workspace,
        doc_id=write.doc_id,
        source=write.place.source,
        version=write.place.version,
        path=write.place.path,
        **_dates(None, write.draft),
        **_fields(write.draft, *_DOCUMENT_FIELDS, *_TIME_FIELDS),
    )


def _dates(document: Document | None, draft: DocumentDraft) -> dict[str, Any]:
    """Return the time of indexing and the date; content that stays keeps a date that nothing states."""
    now = timezone.now()
    if (
        document is not None
        and document.content_hash == draft.content_hash
        and stated_date(document.metadata) is None
        and stated_date(draft.metadata) is None
    ):
        return {"indexed_at": now, "dated_at": document.dated_at, "is_dated": document.is_dated}
    modified_at = draft.modified_at or time_of_ns(draft.source_mtime_ns)
    known = known_date(draft.metadata, modified_at=modified_at)
    return {"indexed_at": now, "dated_at": known or now, "is_dated": known is not None}


def _update_row(write: _PendingWrite, *names: str, **fields: Any) -> None:
    """Update the document's row with the draft's fields `names` and the given `fields`."""
    rows = Document.objects.in_workspace(write.place.workspace).filter(doc_id=write.doc_id)
    rows.update(**_fields(write.draft, *names), **fields)


def _is_superseded(document: Document | None, draft: DocumentDraft) -> bool:
    """Return whether the document's content is from a later request than the draft's."""
    return (
        document is not None
        and draft.requested_at is not None
        and document.requested_at is not None
        and draft.requested_at < document.requested_at
    )


def _is_equal(document: Document, draft: DocumentDraft) -> bool:
    return all(getattr(document, name) == value for name, value in _fields(draft, *_DOCUMENT_FIELDS).items())


def _append_to_log(writes: Sequence[_PendingWrite]) -> dict[uuid.UUID, int]:
    """Append the documents to the change log; return their numbers."""
    if not writes:
        return {}
    doc_ids = [write.doc_id for write in writes]
    last = append_changes(writes[0].place.workspace.pk, doc_ids, "upsert")
    return {doc_id: last - len(doc_ids) + nth for nth, doc_id in enumerate(doc_ids, start=1)}
