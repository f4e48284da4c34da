"""Syncs of record connectors: items are written while the source lists, and the cursor after the last one."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from django.db import transaction
from django.db.models.functions import Now

from ingest.chunking.types import has_chunk_size
from ingest.connectors.records.record_kind import StoredCursor
from ingest.connectors.records.source import RecordSource
from ingest.connectors.types import Entry, FoundFile, RecordedFile, RecordEntry, SkippedFile
from ingest.errors import JobFailed, JobYielded
from ingest.jobs.items.batches import batch_by_size
from ingest.jobs.items.chunk_size import chunk_tokens_of
from ingest.jobs.kinds.listing import Listing
from ingest.jobs.queue.context import JobContext
from ingest.models import ItemState, JobItem, Unreadable
from ingest.parsers.registry import is_current
from kebab.stack.supervisor import worker_stop
from search.corpus.blobs import lock_and_store_blobs, store_blobs
from search.corpus.content_ids import content_hash
from search.models import Document, SourceVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedFile:
    """The indexed or unreadable file at a path; an equal file needs no work, also under an older chunker."""

    size_bytes: int
    mtime_ns: int | None
    revision: str
    parser_version: str
    has_current_chunk_size: bool
    #: Outcome of an unreadable file; None for a document.
    outcome: str | None = None
    reason: str = ""

    def is_unchanged(self, file: FoundFile) -> bool:
        """Return whether revision, time and size are equal, and parser and chunk size are current."""
        return (
            (self.revision, self.mtime_ns) == (file.revision, file.mtime_ns)
            and file.size_bytes in (None, self.size_bytes)
            and is_current(self.parser_version, file.path)
            and self.has_current_chunk_size
        )


def indexed_files(
    context: JobContext, version: SourceVersion, only: Collection[str] | None
) -> dict[str, IndexedFile]:
    """Return the indexed and unreadable files of the version, or of the paths `only`."""
    chosen = {} if only is None else {"path__in": only}
    chunk_tokens = chunk_tokens_of(context.workspace)
    documents = Document.objects.in_workspace(context.workspace).filter(version=version, **chosen)
    known = {
        path: IndexedFile(
            size_bytes=size,
            mtime_ns=mtime_ns,
            revision=revision,
            parser_version=parser,
            has_current_chunk_size=has_chunk_size(chunker, chunk_tokens),
        )
        for path, size, mtime_ns, revision, parser, chunker in documents.values_list(
            "path", "size_bytes", "source_mtime_ns", "source_revision", "parser_version", "chunker_version"
        )
    }
    for row in Unreadable.objects.in_workspace(context.workspace).filter(version=version, **chosen):
        known[row.path] = IndexedFile(
            size_bytes=row.size_bytes,
            mtime_ns=row.source_mtime_ns,
            revision=row.source_revision,
            # Files without text become documents now.
            parser_version="" if row.reason in ("no_text", "no_ocr") else row.parser_version,
            has_current_chunk_size=True,
            outcome="failed" if row.is_quarantined else "skipped",
            reason=row.reason,
        )
    return known


_Entry = TypeVar("_Entry", bound=Entry | RecordEntry)
# Least interval between writes to the job; cancellation is checked at each entry.
_EVERY_S = 1.0
# A listing that can be resumed yields after this time while other jobs wait, as items do.
_TURN_S = 10.0
_MAX_PATH_CHARS = 1_000


class ListingProgress:
    """A counter of the entries of a listing, which writes the count and the position as the job's progress.

    A listing that starts again after its worker died writes no number below the last one written.
    """

    def __init__(self, context: JobContext, clock: Callable[[], float] = time.monotonic) -> None:
        self._context = context
        self._clock = clock
        self._next_at = clock() + _EVERY_S
        self._turn_ends_at: float | None = None
        self.listed = 0

    def count_entries(self, entries: Iterable[_Entry]) -> Iterator[_Entry]:
        """Yield the entries and count them. Raises JobCancelled, LeaseLost, JobYielded."""
        for entry in entries:
            self.listed += 1
            self._write_progress(entry.path)
            yield entry

    def record_position(self, path: str) -> None:
        """Record the next position of a listing that can be resumed there.

        Raises JobCancelled, LeaseLost, and JobYielded: at once when the worker stops, for other jobs never
        before the first request of this turn.
        """
        is_written = self._write_progress(path)
        if worker_stop.is_requested():
            raise JobYielded(path)
        if self._turn_ends_at is None:
            self._turn_ends_at = self._clock() + _TURN_S
        elif (
            is_written and self._clock() >= self._turn_ends_at and self._context.others_wait(embedding=False)
        ):
            raise JobYielded(path)

    def _write_progress(self, path: str) -> bool:
        self._context.raise_if_stopped()
        now = self._clock()
        if now < self._next_at:
            return False
        self._next_at = now + _EVERY_S
        counts = self._context.job.counts
        self._context.lease.write(
            current_path=path[:_MAX_PATH_CHARS],
            counts={**counts, "listed": max(self.listed, counts.get("listed", 0))},
            stalled_attempts=0,
        )
        return True


_BATCH: Final = 200
_BATCH_BYTES: Final = 8_000_000
# Items that failed for these reasons are not stored, and may be another time.
_NOT_STORED: Final = ("unreadable", "over_quota")


def discover_records(
    context: JobContext, version: SourceVersion, connector: RecordSource, progress: ListingProgress
) -> None:
    """Create the items of what the connector reports. Raises ListingFailed.

    Contents that come with their records are stored at once, so that a batch of them is in memory.
    """
    paths = context.job.payload.get("only_paths")
    only = None if paths is None else frozenset(paths)
    difference = _Difference(indexed_files(context, version, only), only)
    with transaction.atomic():
        context.lease.write(current_path="")
        JobItem.objects.of_job(context.job).delete()  # of an earlier attempt
    entries = progress.count_entries(connector.entries())
    changed = difference.find_changed(entries)
    for batch in batch_by_size(changed, _size_of, most=_BATCH, most_bytes=_BATCH_BYTES):
        _store_batch(context, batch)
    with transaction.atomic():
        _create_items(
            context,
            [
                JobItem(workspace=context.workspace, job=context.job, path=path, action="delete")
                for path in difference.to_delete(is_complete=connector.is_complete)
            ],
        )
        cursor = StoredCursor(state=connector.cursor, readers=connector.readers)
        context.lease.write(
            discovered_at=Now(),
            items_total=JobItem.objects.of_job(context.job).count(),
            counts={
                **difference.listing.counts,
                "listed": progress.listed,
                "warnings": connector.warnings,
                "cursor": cursor.dump() if only is None else "",
                "broke_off": connector.failure,
            },
            stalled_attempts=0,
        )


def end_record_sync(context: JobContext, version: SourceVersion) -> None:
    """Store the cursor, unless something before it is not stored.

    Raises JobFailed if the listing broke off.
    """
    counts = context.lease.fenced_rows().values_list("counts", flat=True).get()
    is_missing_some = (
        JobItem.objects.of_job(context.job).filter(state=ItemState.FAILED, reason__in=_NOT_STORED).exists()
    )
    if counts["cursor"] and not is_missing_some:
        with transaction.atomic():
            versions = SourceVersion.objects.in_workspace(context.workspace).filter(pk=version.pk)
            versions.update(cursor=counts["cursor"])
            context.lease.write(current_path="")
    if counts["broke_off"]:
        raise JobFailed(
            f"The listing broke off: {counts['broke_off']} What came before is stored; nothing was deleted"
            " for being absent. The next sync goes on."
        )


class _Difference:
    """The files of a listing that differ from the indexed ones."""

    def __init__(self, known: Mapping[str, IndexedFile], only: Collection[str] | None) -> None:
        self.listing = Listing()
        self._known = known
        self._only = only
        self._unlisted = set(known)
        self._changed: set[str] = set()
        self._gone: set[str] = set()

    def find_changed(self, entries: Iterable[RecordEntry]) -> Iterator[RecordedFile]:
        """Yield the files to read; count the others."""
        for entry in entries:
            if self._only is not None and entry.path not in self._only:
                continue
            if isinstance(entry, RecordedFile):
                self._gone.discard(entry.path)
                self._unlisted.discard(entry.path)
                if self._is_changed(entry):
                    self._changed.add(entry.path)
                    yield entry
            elif isinstance(entry, SkippedFile) and self._has_been_read(entry):
                self._unlisted.discard(entry.path)
                self.listing.unchanged += 1
            else:
                self._gone.add(entry.path)
                if isinstance(entry, SkippedFile):
                    self.listing.count_excluded("skipped", entry.reason, entry.path)

    def to_delete(self, *, is_complete: bool) -> list[str]:
        """Return the paths of documents that are gone, or read no more."""
        gone = {path for path in self._gone if path in self._known or path in self._changed}
        return sorted(gone | self._unlisted if is_complete else gone)

    def _has_been_read(self, entry: SkippedFile) -> bool:
        known = self._known.get(entry.path)
        return known is not None and known.outcome is None and known.revision == entry.revision != ""

    def _is_changed(self, entry: RecordedFile) -> bool:
        known = self._known.get(entry.path)
        # A file that has changed before in this listing, and back, is read as well.
        if known is None or self._only is not None or entry.path in self._changed:
            return True
        if not known.is_unchanged(entry):
            return True
        if known.outcome is None:
            self.listing.unchanged += 1
        else:
            self.listing.count_excluded(known.outcome, known.reason, entry.path)
        return False


def _size_of(file: RecordedFile) -> int:
    return len(file.content or b"")


def _store_batch(context: JobContext, batch: Sequence[RecordedFile]) -> None:
    contents = {content_hash(file.content): file.content for file in batch if file.content is not None}
    store_blobs(context.workspace.pk, contents)
    # The last record of a path counts.
    items = {
        file.path: JobItem(
            workspace=context.workspace,
            job=context.job,
            path=file.path,
            action="ingest",
            blob="" if file.content is None else content_hash(file.content),
            record=file.record,
        )
        for file in batch
    }
    with transaction.atomic():
        lock_and_store_blobs(context.workspace.pk, contents)
        context.lease.write(current_path=batch[-1].path)
        _create_items(context, items.values())


def _create_items(context: JobContext, items: Iterable[JobItem]) -> None:
    JobItem.objects.bulk_create(
        items,
        batch_size=2_000,
        update_conflicts=True,
        unique_fields=("workspace", "job", "path"),
        update_fields=("action", "blob", "record"),
    )
