"""Syncs of record connectors: items are written while the source lists, and the cursor after the last one."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from django.db import transaction
from django.db.models.functions import Now

from ingest.connectors.records.source import RecordSource
from ingest.connectors.records.stored_cursor import StoredCursor
from ingest.connectors.types import RecordedFile, RecordEntry, SkippedFile
from ingest.errors import JobFailed
from ingest.jobs.items.batches import batch_by_size
from ingest.jobs.kinds.indexed_files import IndexedFile, indexed_files
from ingest.jobs.kinds.listing import Listing
from ingest.jobs.kinds.listing_progress import ListingProgress
from ingest.jobs.queue.context import JobContext
from ingest.models import ItemState, JobItem
from search.corpus.blobs import lock_and_store_blobs, store_blobs
from search.corpus.content_ids import content_hash
from search.models import SourceVersion

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
