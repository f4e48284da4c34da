"""Writer of item results, several per transaction: documents, unreadable files, counts."""

import uuid
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import Any

from django.db import DataError, transaction
from django.db.models import Case, JSONField, Q, Value, When
from django.db.models.functions import Cast

from ingest.blob_cleanup import release_blobs
from ingest.connectors.types import ItemContent
from ingest.digest.types import Digest
from ingest.errors import LeaseLost
from ingest.jobs.items.drafts import document_draft
from ingest.jobs.queue.context import JobContext
from ingest.jobs.queue.job_events import FileEnd, publish_refusals
from ingest.metrics import count_chunks, count_items, time_write
from ingest.models import HEEDS_DELETIONS, ItemState, JobItem, JobKind, Unreadable
from ingest.parsers.registry import parser_version_for
from ingest.services.quotas import Addition, refusals
from ingest.skip_messages import NO_TEXT
from kebab.http.api.parsers import strip_unstorable
from kebab.runtime import failpoints
from search.corpus import (
    DocumentDraft,
    DocumentLocation,
    DocumentsChanged,
    Outcome,
    delete_documents,
    replace_documents,
)
from search.corpus.blobs import lock_and_store_blobs, store_blobs
from search.corpus.trust_levels import hold_default_trust
from search.documents.omissions import StoredOmissions
from search.models import Document, Source, SourceVersion

# Limit for all warnings of one document together: a broken page may have thousands.
_MAX_WARNING_CHARS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedItem:
    """An item that was read and is not finished."""

    item: JobItem
    place: DocumentLocation
    found: ItemContent
    content_hash: str
    known: Document | None
    #: documents that other versions of the source have at the path
    other_versions: Sequence[Document]
    was_unreadable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemResult:
    """The result of a started item: a digest to store, or why there is none (`skipped`, `failed`)."""

    started: StartedItem
    digest: Digest | None = None
    outcome: str = ""
    reason: str = ""
    detail: str = ""
    #: number of parser calls
    calls: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemEnd:
    """The end of an item: its outcome, with the reason, details and omissions of its document."""

    item: JobItem
    outcome: str
    reason: str = ""
    detail: str = ""
    omissions: StoredOmissions = field(default_factory=dict)

    @property
    def as_fields(self) -> tuple[str, str, str]:
        """Return the fields that are written to the item: outcome, reason, detail."""
        return self.outcome, self.reason, self.detail


class _ItemsDropped(Exception):
    """The documents of some items were changed or deleted meanwhile; these items must not write them."""

    def __init__(self, items: Collection[int]) -> None:
        super().__init__(f"{len(items)} items have nothing to write any more.")
        self.items = items


class ItemWriter:
    """Writer that ends items of one job. Each call is one transaction, behind the fence of the job's lease.

    It locks documents first, in the order of their ids, then items, then the job. An item whose action was
    changed to `delete` meanwhile keeps that action.
    """

    def __init__(self, context: JobContext, source: Source, version: SourceVersion) -> None:
        self._context = context
        self._source = source
        self._version = version

    def write(self, results: Sequence[ItemResult]) -> None:
        """Store all results together, or one by one when Postgres refuses the data of one.

        Raises LeaseLost, JobCancelled: nothing is written then.
        """
        reasons = refusals(self._context.workspace, [_addition(result) for result in results])
        results = [
            replace(result, digest=None, outcome="failed", reason="over_quota", detail=reason)
            if reason
            else result
            for result, reason in zip(results, reasons, strict=True)
        ]
        while results:
            try:
                self._store_results(results)
                return
            except _ItemsDropped as dropped:
                results = [one for one in results if one.started.item.pk not in dropped.items]
            except DocumentsChanged as changed:  # their items stay pending, and are read again
                results = [one for one in results if one.started.place.doc_id not in changed.doc_ids]

    def _store_results(self, results: Sequence[ItemResult]) -> None:
        store_blobs(self._context.workspace.pk, _stored_contents(results))
        try:
            self._store_in_transaction(results)
        except DataError as error:
            self._store_one_by_one(results, error)
            return
        failpoints.reach("after_commit_before_ack")
        release_blobs(self._context.workspace.pk, _replaced_hashes(results))

    def end_unchanged(self, started: Sequence[StartedItem]) -> list[StartedItem]:
        """End items whose documents are up to date; return those whose documents changed meanwhile."""
        try:
            return self._end_unchanged_in_transaction(started)
        except _ItemsDropped as dropped:
            return self.end_unchanged([one for one in started if one.item.pk not in dropped.items])

    def _end_unchanged_in_transaction(self, started: Sequence[StartedItem]) -> list[StartedItem]:
        with transaction.atomic():
            current_hashes = self._lock_documents(started)
            ended = [one for one in started if current_hashes.get(one.place.doc_id) == one.content_hash]
            for one in ended:
                self._current_document(one).update(
                    source_mtime_ns=one.found.mtime_ns,
                    source_revision=one.found.revision,
                    requested_at=one.found.requested_at,
                )
            self._delete_unreadable(ended)
            self._end_items([ItemEnd(item=one.item, outcome="unchanged") for one in ended])
            self._count_items(
                [one.item for one in ended], size_bytes=sum(len(one.found.content) for one in ended)
            )
        return [one for one in started if current_hashes.get(one.place.doc_id) != one.content_hash]

    def end_without_content(self, item: JobItem, outcome: str, reason: str, detail: str) -> None:
        """End an item that was not read."""
        with suppress(_ItemsDropped), transaction.atomic():
            self._end_items([ItemEnd(item=item, outcome=outcome, reason=reason, detail=detail)])
            self._count_items([item])

    def end_unreadable(self, result: ItemResult) -> None:
        """End an item whose file can't be parsed, and store it as unreadable."""
        with suppress(_ItemsDropped):
            self._store_in_transaction([result])

    def delete(self, places: Sequence[tuple[JobItem, DocumentLocation]]) -> None:
        """Delete the documents at places that are gone from their source.

        For an upload nothing is deleted: its document is gone already, and one there now is a later upload.
        """
        gone = [] if self._context.job.kind in HEEDS_DELETIONS else [place for _, place in places]
        documents = Document.objects.in_workspace(self._context.workspace)
        wanted = documents.filter(doc_id__in=[place.doc_id for place in gone]).order_by("doc_id")
        with transaction.atomic():
            hashes = dict(wanted.select_for_update().values_list("doc_id", "content_hash"))
            self._end_items(
                [
                    ItemEnd(item=item, outcome="deleted" if place.doc_id in hashes else "")
                    for item, place in places
                ]
            )
            self._count_items([item for item, _ in places])
            self._unreadable_rows([place.path for place in gone]).delete()
            delete_documents(self._context.workspace, list(hashes))
        release_blobs(self._context.workspace.pk, hashes.values())

    def _store_in_transaction(self, results: Sequence[ItemResult]) -> None:
        stored = [result for result in results if result.digest is not None]
        unreadable = [result for result in results if result.digest is None]

        def end(outcomes: Sequence[Outcome]) -> None:
            failpoints.reach("after_chunks_before_commit")
            self._delete_unreadable([result.started for result in stored])
            self._store_unreadable(unreadable)
            self._end_items(_item_ends(stored, outcomes, unreadable))
            self._count_results(results)
            self._delete_skipped(unreadable)

        drafts = self._places_and_drafts(results)
        with time_write(len(stored)), transaction.atomic():
            lock_and_store_blobs(self._context.workspace.pk, _stored_contents(results))
            default_trust = hold_default_trust(self._source)
            if default_trust != self._source.default_trust:
                self._source.default_trust = default_trust
                drafts = self._places_and_drafts(results)
            if self._context.job.kind == JobKind.RECHUNK:
                self._check_unchanged([result.started for result in results])
            elif any(_loses_document(result) for result in unreadable):
                self._lock_documents([result.started for result in results])
            replace_documents(drafts, end)

    def _check_unchanged(self, started: Sequence[StartedItem]) -> None:
        """Lock the documents. Raises _ItemsDropped for changed and deleted ones: their items stay open."""
        hashes = self._lock_documents(started)
        changed = {one.item.pk for one in started if hashes.get(one.place.doc_id) != one.content_hash}
        if changed:
            raise _ItemsDropped(changed)

    def _store_one_by_one(self, results: Sequence[ItemResult], error: DataError) -> None:
        if len(results) > 1:
            for result in results:
                self.write([result])
            return
        (result,) = results
        refusal = replace(result, digest=None, outcome="failed", reason="unstorable", detail=str(error))
        self._store_in_transaction([refusal])

    def _places_and_drafts(
        self, results: Sequence[ItemResult]
    ) -> list[tuple[DocumentLocation, DocumentDraft]]:
        return [
            (result.started.place, self._draft(result.started, result.digest))
            for result in results
            if result.digest is not None
        ]

    def _draft(self, started: StartedItem, digest: Digest) -> DocumentDraft:
        draft = document_draft(digest, started.found, content_hash=started.content_hash, source=self._source)
        return replace(draft, based_on=started.known)

    def _lock_documents(self, started: Sequence[StartedItem]) -> dict[uuid.UUID, str]:
        """Lock the items' documents until the end of the transaction; return their content hashes by id."""
        documents = Document.objects.in_workspace(self._context.workspace)
        wanted = documents.filter(doc_id__in=[one.place.doc_id for one in started])
        locked = wanted.order_by("doc_id").select_for_update(no_key=True)
        return dict(locked.values_list("doc_id", "content_hash"))

    def _current_document(self, started: StartedItem) -> Any:
        """Return a queryset of the item's document; empty if its content was requested later."""
        documents = Document.objects.in_workspace(self._context.workspace).filter(doc_id=started.place.doc_id)
        if started.found.requested_at is None:
            return documents
        return documents.filter(Q(requested_at=None) | Q(requested_at__lte=started.found.requested_at))

    def _store_unreadable(self, results: Sequence[ItemResult]) -> None:
        """Store files that can't be parsed, so that they are retried only when something changes."""
        Unreadable.objects.bulk_create(
            [self._unreadable_row(result) for result in results],
            update_conflicts=True,
            unique_fields=("workspace", "version", "path"),
            update_fields=(
                "size_bytes",
                "source_mtime_ns",
                "source_revision",
                "content_hash",
                "parser_version",
                "is_quarantined",
                "reason",
                "detail",
            ),
        )

    def _unreadable_row(self, result: ItemResult) -> Unreadable:
        started = result.started
        return Unreadable(
            workspace=self._context.workspace,
            version=self._version,
            path=started.place.path,
            size_bytes=len(started.found.content),
            source_mtime_ns=started.found.mtime_ns,
            source_revision=started.found.revision,
            content_hash=started.content_hash,
            parser_version=parser_version_for(started.place.path),
            is_quarantined=result.outcome == "failed",
            reason=result.reason,
            detail=result.detail,
        )

    def _delete_unreadable(self, started: Sequence[StartedItem]) -> None:
        paths = [one.place.path for one in started if one.was_unreadable]
        if paths:
            self._unreadable_rows(paths).delete()

    def _unreadable_rows(self, paths: Sequence[str]) -> Any:
        rows = Unreadable.objects.in_workspace(self._context.workspace)
        return rows.filter(version=self._version, path__in=paths)

    def _delete_skipped(self, results: Sequence[ItemResult]) -> None:
        doc_ids = [
            doc_id
            for result in results
            if _loses_document(result)
            for doc_id in self._current_document(result.started).values_list("doc_id", flat=True)
        ]
        if doc_ids:
            delete_documents(self._context.workspace, doc_ids)
            self._context.count_deleted(len(doc_ids))

    def _end_items(self, ends: Sequence[ItemEnd]) -> None:
        for fields, alike in groupby(
            sorted(ends, key=lambda end: end.as_fields), key=lambda end: end.as_fields
        ):
            self._end_alike(list(alike), *fields)

    def _end_alike(self, alike: Sequence[ItemEnd], outcome: str, reason: str, detail: str) -> None:
        items = [end.item for end in alike]
        state = ItemState.FAILED if outcome == "failed" else ItemState.DONE
        rows = JobItem.objects.of_job(self._context.job)
        wanted = rows.filter(pk__in=[item.pk for item in items])
        marked = wanted.filter(action=items[0].action)
        if failpoints.is_on("fence"):
            marked = marked.filter(state=ItemState.PENDING)
        ends = [(outcome, reason)] * len(items)
        transaction.on_commit(partial(count_items, ends))
        fields = {"outcome": outcome, "reason": reason, "detail": detail, **_omission_field(alike)}
        if marked.update(state=state, **fields) != len(items):
            dropped = wanted.filter(state=ItemState.PENDING).exclude(action=items[0].action)
            if pks := set(dropped.values_list("pk", flat=True)):
                raise _ItemsDropped(pks)
            raise LeaseLost(f"Items from {items[0].path} on were finished by another worker.")
        if outcome in {"skipped", "failed"}:
            files = [FileEnd(item.path, outcome, reason, detail) for item in items]
            publish_refusals(self._context.job, self._version, files)

    def _count_results(self, results: Sequence[ItemResult]) -> None:
        stored = [(result.started, result.digest) for result in results if result.digest is not None]
        self._count_items(
            [result.started.item for result in results],
            size_bytes=sum(len(started.found.content) for started, _ in stored),
            chunks=sum(len(digest.chunks) for _, digest in stored),
            calls=sum(result.calls for result in results),
        )

    def _count_items(self, items: Sequence[JobItem], **counts: int) -> None:
        if items:
            written = partial(count_chunks, counts.get("chunks", 0), counts.get("size_bytes", 0))
            transaction.on_commit(written)
            self._context.count_items(len(items), path=items[-1].path, **counts)


def _addition(result: ItemResult) -> Addition:
    known, size_bytes = result.started.known, len(result.started.found.content)
    if result.digest is None:
        return Addition(is_new=False, size_bytes=0)
    return Addition(is_new=known is None, size_bytes=size_bytes - (known.size_bytes if known else 0))


def _stored_contents(results: Iterable[ItemResult]) -> dict[str, bytes]:
    """Return the contents that become documents, by their hashes."""
    stored = (result.started for result in results if result.digest is not None)
    return {started.content_hash: started.found.content for started in stored}


def _item_ends(
    stored: Sequence[ItemResult], outcomes: Sequence[Outcome], unreadable: Iterable[ItemResult]
) -> list[ItemEnd]:
    return [
        *(
            ItemEnd(
                item=result.started.item,
                outcome=outcome,
                reason="" if _has_text(result) else NO_TEXT,
                detail=_warning_text(result),
                omissions=result.digest.omissions if result.digest is not None else {},
            )
            for result, outcome in zip(stored, outcomes, strict=True)
        ),
        *(
            ItemEnd(
                item=result.started.item, outcome=result.outcome, reason=result.reason, detail=result.detail
            )
            for result in unreadable
        ),
    ]


def _omission_field(ends: Iterable[ItemEnd]) -> dict[str, Cast]:
    """Return the update of the items that have omissions, empty if none has."""
    stored = [
        When(pk=end.item.pk, then=Value(dict(end.omissions), JSONField())) for end in ends if end.omissions
    ]
    return {"omissions": Cast(Case(*stored, default=Value({}, JSONField())), JSONField())} if stored else {}


def _has_text(result: ItemResult) -> bool:
    return result.digest is not None and any(chunk.text for chunk in result.digest.chunks)


def _warning_text(result: ItemResult) -> str:
    """Return the warnings of the document's parsers, shortened to the limit of an item."""
    warnings = "; ".join(result.digest.warnings) if result.digest is not None else ""
    return strip_unstorable(warnings)[:_MAX_WARNING_CHARS]


def _loses_document(result: ItemResult) -> bool:
    """Return whether the item's document is deleted: its file is skipped now. A failure leaves it."""
    return result.outcome == "skipped" and result.started.known is not None


def _replaced_hashes(results: Iterable[ItemResult]) -> set[str]:
    """Return the hashes of contents that documents had before these results were written."""
    return {
        result.started.known.content_hash
        for result in results
        if result.started.known is not None
        and (result.digest is not None or _loses_document(result))
        and result.started.known.content_hash != (result.started.content_hash if result.digest else "")
    }
