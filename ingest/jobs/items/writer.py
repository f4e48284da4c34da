"""What came of a job's items, written several at a time: documents, what can't be read, and their count."""

import uuid
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any

from django.db import DataError, transaction
from django.db.models import Q

from ingest.blob_cleanup import release_blobs
from ingest.connectors.types import ItemContent
from ingest.errors import LeaseLost
from ingest.jobs.items.drafts import document_draft
from ingest.jobs.queue.context import Work
from ingest.metrics import count_items, count_written, written_together
from ingest.models import HEEDS_DELETIONS, ItemState, JobItem, Unreadable
from ingest.parsers.registry import parser_version_for
from ingest.sandbox.types import Digest
from ingest.services.quotas import Addition, refusals
from kebab.http.api.parsers import without_unstorable
from kebab.runtime import failpoints
from search.corpus import DocumentDraft, Outcome, Place, delete_documents, replace_documents
from search.corpus.blobs import keep_blobs, secure_blobs
from search.models import Document, Source, SourceVersion

# Of all warnings of one document: a broken page may have thousands.
_MAX_WARNING_CHARS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """An item under way."""

    item: JobItem
    place: Place
    found: ItemContent
    content_hash: str
    known: Document | None
    #: what other versions of the source have at the path
    twins: Sequence[Document]
    was_unreadable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What came of a begun item: a digest to store, or why there is none (`skipped`, `failed`)."""

    begun: Begun
    digest: Digest | None = None
    outcome: str = ""
    reason: str = ""
    detail: str = ""
    #: how often a parser was called
    calls: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """The end of an item."""

    item: JobItem
    outcome: str
    reason: str = ""
    detail: str = ""

    @property
    def said(self) -> tuple[str, str, str]:
        """Return what is written into the item."""
        return self.outcome, self.reason, self.detail


class _Dropped(Exception):
    """Somebody has deleted the documents of some items meanwhile, which are to make no new ones."""

    def __init__(self, items: Collection[int]) -> None:
        super().__init__(f"{len(items)} items have nothing to write any more.")
        self.items = items


class ItemWriter:
    """Ends items of one job. Each call is one transaction, behind the fence of the job's lease.

    It locks documents first, in the order of their ids, then items, then the job. What became an item to
    delete under its hands is left as that.
    """

    def __init__(self, work: Work, source: Source, version: SourceVersion) -> None:
        self._work = work
        self._source = source
        self._version = version

    def write(self, findings: Sequence[Finding]) -> None:
        """Store all, or each by itself when one of them is nothing that Postgres takes.

        Raises LeaseLost, JobCancelled: nothing is written then.
        """
        findings = self._within_quota(findings)
        while findings:
            try:
                self._write(findings)
                return
            except _Dropped as dropped:
                findings = [one for one in findings if one.begun.item.pk not in dropped.items]

    def _within_quota(self, findings: Sequence[Finding]) -> list[Finding]:
        """Return the findings, those for whose documents there is no more room as failures."""
        reasons = refusals(self._work.workspace, [_addition(finding) for finding in findings])
        return [
            replace(finding, digest=None, outcome="failed", reason="over_quota", detail=reason)
            if reason
            else finding
            for finding, reason in zip(findings, reasons, strict=True)
        ]

    def _write(self, findings: Sequence[Finding]) -> None:
        keep_blobs(self._work.workspace.pk, _stored_contents(findings))
        try:
            self._write_together(findings)
        except DataError as error:
            self._write_apart(findings, error)
            return
        failpoints.reached("after_commit_before_ack")
        release_blobs(self._work.workspace.pk, _let_go(findings))

    def end_unchanged(self, begun: Sequence[Begun]) -> list[Begun]:
        """End items whose documents say already what they hold; give those that don't stand any more."""
        try:
            return self._end_unchanged(begun)
        except _Dropped as dropped:
            return self.end_unchanged([one for one in begun if one.item.pk not in dropped.items])

    def _end_unchanged(self, begun: Sequence[Begun]) -> list[Begun]:
        with transaction.atomic():
            standing = self._lock(begun)
            ended = [one for one in begun if standing.get(one.place.doc_id) == one.content_hash]
            for one in ended:
                self._note_times(one)
            self._drop_unreadable(ended)
            self._mark([Mark(item=one.item, outcome="unchanged") for one in ended])
            self._count([one.item for one in ended], size_bytes=sum(len(one.found.content) for one in ended))
        return [one for one in begun if standing.get(one.place.doc_id) != one.content_hash]

    def end_without_content(self, item: JobItem, outcome: str, reason: str, detail: str) -> None:
        """End an item of which nothing was read."""
        with suppress(_Dropped), transaction.atomic():
            self._mark([Mark(item=item, outcome=outcome, reason=reason, detail=detail)])
            self._count([item])

    def set_aside(self, finding: Finding) -> None:
        """End an item whose file can't be read, and remember that."""
        with suppress(_Dropped):
            self._write_together([finding])

    def delete(self, places: Sequence[tuple[JobItem, Place]]) -> None:
        """Delete what stood at places that are gone from their source.

        Of an upload nothing: who deleted its document has done so, and what stands there was uploaded since.
        """
        gone = [] if self._work.job.kind in HEEDS_DELETIONS else [place for _, place in places]
        documents = Document.objects.in_workspace(self._work.workspace)
        wanted = documents.filter(doc_id__in=[place.doc_id for place in gone]).order_by("doc_id")
        with transaction.atomic():
            hashes = dict(wanted.select_for_update().values_list("doc_id", "content_hash"))
            self._mark(
                [
                    Mark(item=item, outcome="deleted" if place.doc_id in hashes else "")
                    for item, place in places
                ]
            )
            self._count([item for item, _ in places])
            self._unreadable([place.path for place in gone]).delete()
            delete_documents(self._work.workspace, list(hashes))
        release_blobs(self._work.workspace.pk, hashes.values())

    def _write_together(self, findings: Sequence[Finding]) -> None:
        stored = [finding for finding in findings if finding.digest is not None]
        set_aside = [finding for finding in findings if finding.digest is None]

        def end(outcomes: Sequence[Outcome]) -> None:
            failpoints.reached("after_chunks_before_commit")
            self._drop_unreadable([finding.begun for finding in stored])
            self._remember_unreadable(set_aside)
            self._mark(_marks(stored, outcomes, set_aside))
            self._count_findings(findings)
            self._delete_skipped(set_aside)

        drafts = [self._draft(finding) for finding in stored]
        with written_together(len(stored)), transaction.atomic():
            secure_blobs(self._work.workspace.pk, _stored_contents(findings))
            if any(_is_replaced_by_nothing(finding) for finding in set_aside):
                self._lock([finding.begun for finding in findings])
            replace_documents(drafts, end)

    def _write_apart(self, findings: Sequence[Finding], error: DataError) -> None:
        if len(findings) > 1:
            for finding in findings:
                self.write([finding])
            return
        (finding,) = findings
        refusal = replace(finding, digest=None, outcome="failed", reason="unstorable", detail=str(error))
        self._write_together([refusal])

    def _draft(self, finding: Finding) -> tuple[Place, DocumentDraft]:
        begun = finding.begun
        draft = document_draft(
            finding.digest, begun.found, content_hash=begun.content_hash, source=self._source
        )
        return begun.place, draft

    def _lock(self, begun: Sequence[Begun]) -> dict[uuid.UUID, str]:
        """Content hashes of the items' documents, which stay as they are until the end of the transaction."""
        documents = Document.objects.in_workspace(self._work.workspace)
        wanted = documents.filter(doc_id__in=[one.place.doc_id for one in begun])
        locked = wanted.order_by("doc_id").select_for_update(no_key=True)
        return dict(locked.values_list("doc_id", "content_hash"))

    def _not_superseded(self, begun: Begun) -> Any:
        """Return the item's document, unless it holds what was asked for later."""
        documents = Document.objects.in_workspace(self._work.workspace).filter(doc_id=begun.place.doc_id)
        if begun.found.requested_at is None:
            return documents
        return documents.filter(Q(requested_at=None) | Q(requested_at__lte=begun.found.requested_at))

    def _note_times(self, begun: Begun) -> None:
        self._not_superseded(begun).update(
            source_mtime_ns=begun.found.mtime_ns,
            source_revision=begun.found.revision,
            requested_at=begun.found.requested_at,
        )

    def _remember_unreadable(self, findings: Sequence[Finding]) -> None:
        """Remember files that can't be read, so that they are tried again only when something changes."""
        Unreadable.objects.bulk_create(
            [self._unreadable_row(finding) for finding in findings],
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

    def _unreadable_row(self, finding: Finding) -> Unreadable:
        begun = finding.begun
        return Unreadable(
            workspace=self._work.workspace,
            version=self._version,
            path=begun.place.path,
            size_bytes=len(begun.found.content),
            source_mtime_ns=begun.found.mtime_ns,
            source_revision=begun.found.revision,
            content_hash=begun.content_hash,
            parser_version=parser_version_for(begun.place.path),
            is_quarantined=finding.outcome == "failed",
            reason=finding.reason,
            detail=finding.detail,
        )

    def _drop_unreadable(self, begun: Sequence[Begun]) -> None:
        paths = [one.place.path for one in begun if one.was_unreadable]
        if paths:
            self._unreadable(paths).delete()

    def _unreadable(self, paths: Sequence[str]) -> Any:
        rows = Unreadable.objects.in_workspace(self._work.workspace)
        return rows.filter(version=self._version, path__in=paths)

    def _delete_skipped(self, findings: Sequence[Finding]) -> None:
        doc_ids = [
            doc_id
            for finding in findings
            if _is_replaced_by_nothing(finding)
            for doc_id in self._not_superseded(finding.begun).values_list("doc_id", flat=True)
        ]
        if doc_ids:
            delete_documents(self._work.workspace, doc_ids)
            self._work.count_deleted(len(doc_ids))

    def _mark(self, marks: Sequence[Mark]) -> None:
        for said, alike in groupby(sorted(marks, key=lambda mark: mark.said), key=lambda mark: mark.said):
            self._mark_alike([mark.item for mark in alike], *said)

    def _mark_alike(self, items: Sequence[JobItem], outcome: str, reason: str, detail: str) -> None:
        state = ItemState.FAILED if outcome == "failed" else ItemState.DONE
        rows = JobItem.objects.in_workspace(self._work.workspace).filter(job=self._work.job.pk)
        wanted = rows.filter(pk__in=[item.pk for item in items])
        marked = wanted.filter(action=items[0].action)
        if failpoints.is_on("fence"):
            marked = marked.filter(state=ItemState.PENDING)
        ends = [(outcome, reason)] * len(items)
        transaction.on_commit(partial(count_items, ends))
        if marked.update(state=state, outcome=outcome, reason=reason, detail=detail) != len(items):
            dropped = wanted.filter(state=ItemState.PENDING).exclude(action=items[0].action)
            if pks := set(dropped.values_list("pk", flat=True)):
                raise _Dropped(pks)
            raise LeaseLost(f"Items from {items[0].path} on were finished by another worker.")

    def _count_findings(self, findings: Sequence[Finding]) -> None:
        stored = [finding for finding in findings if finding.digest is not None]
        self._count(
            [finding.begun.item for finding in findings],
            size_bytes=sum(len(finding.begun.found.content) for finding in stored),
            chunks=sum(len(finding.digest.chunks) for finding in stored),
            calls=sum(finding.calls for finding in findings),
        )

    def _count(self, items: Sequence[JobItem], **counts: int) -> None:
        if items:
            written = partial(count_written, counts.get("chunks", 0), counts.get("size_bytes", 0))
            transaction.on_commit(written)
            self._work.count_items(len(items), path=items[-1].path, **counts)


def _addition(finding: Finding) -> Addition:
    known, size_bytes = finding.begun.known, len(finding.begun.found.content)
    if finding.digest is None:
        return Addition(is_new=False, size_bytes=0)
    return Addition(is_new=known is None, size_bytes=size_bytes - (known.size_bytes if known else 0))


def _stored_contents(findings: Iterable[Finding]) -> dict[str, bytes]:
    """Return the contents that become documents, by their hashes."""
    stored = (finding.begun for finding in findings if finding.digest is not None)
    return {begun.content_hash: begun.found.content for begun in stored}


def _marks(
    stored: Sequence[Finding], outcomes: Sequence[Outcome], set_aside: Iterable[Finding]
) -> list[Mark]:
    return [
        *(
            Mark(item=finding.begun.item, outcome=outcome, detail=_warnings(finding))
            for finding, outcome in zip(stored, outcomes, strict=True)
        ),
        *(
            Mark(
                item=finding.begun.item,
                outcome=finding.outcome,
                reason=finding.reason,
                detail=finding.detail,
            )
            for finding in set_aside
        ),
    ]


def _warnings(finding: Finding) -> str:
    """Return what its parsers had to say of a document, as an item may have it."""
    said = "; ".join(finding.digest.warnings) if finding.digest is not None else ""
    return without_unstorable(said)[:_MAX_WARNING_CHARS]


def _is_replaced_by_nothing(finding: Finding) -> bool:
    """Return whether a document stands where nothing can be read any more. A failure leaves it there."""
    return finding.outcome == "skipped" and finding.begun.known is not None


def _let_go(findings: Iterable[Finding]) -> set[str]:
    """Hashes of contents that documents had before these findings were written."""
    return {
        finding.begun.known.content_hash
        for finding in findings
        if finding.begun.known is not None
        and (finding.digest is not None or _is_replaced_by_nothing(finding))
        and finding.begun.known.content_hash != (finding.begun.content_hash if finding.digest else "")
    }
