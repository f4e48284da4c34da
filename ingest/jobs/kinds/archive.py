"""Ingesting an archive: each member becomes an item with bytes of its own, and then a document."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

from django.db import transaction
from django.db.models.functions import Now

from ingest.archives.errors import ArchiveRefused, MemberBroken
from ingest.archives.limits import ArchiveLimits
from ingest.archives.listing import WantedMember, list_members
from ingest.archives.open_archive import open_archive
from ingest.archives.types import Archive, Member
from ingest.connectors.types import ItemContent
from ingest.errors import JobFailed
from ingest.jobs.items.batches import batched_by_size
from ingest.jobs.items.worker import ItemWorker
from ingest.jobs.kinds.listing import Listing
from ingest.jobs.kinds.upload import uploaded
from ingest.jobs.queue.context import Ending, Work
from ingest.models import JobItem
from search.corpus import ensure_version
from search.corpus.blobs import keep_blobs, open_blob, secure_blobs
from search.corpus.content_ids import content_hash
from search.corpus.paths import MAX_PATH_BYTES

# What is in memory at once, beside one member.
_BATCH_BYTES = 8_000_000
_BATCH_MEMBERS = 200


def run(work: Work) -> Ending:
    """Ingest the job's archive. Raises JobFailed when its source is gone or the archive is refused."""
    source = work.job.source
    if source is None:
        raise JobFailed("The source of this archive was deleted before it was ingested.")
    version = ensure_version(source, work.job.payload.get("version", ""))
    if work.job.discovered_at is None:
        _unpack(work)
    return ItemWorker(work, source, version, partial(_read, work)).run()


def _read(work: Work, item: JobItem) -> ItemContent:
    return uploaded(work, item.blob)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A member's bytes on their way to a blob."""

    path: str
    content: bytes
    content_hash: str


@dataclass(frozen=True, slots=True)
class _Wanted:
    """An archive that is read as long as somebody wants it."""

    archive: Archive
    work: Work

    def members(self) -> Iterator[Member]:
        for member in self.archive.members():
            self.work.go_on()
            yield member

    def read(self, member: Member) -> bytes:
        return self.archive.read(member)


@contextmanager
def _opened(work: Work, file: BinaryIO, limits: ArchiveLimits) -> Iterator[Archive]:
    with open_archive(file, limits) as archive:
        yield _Wanted(archive, work)


def _unpack(work: Work) -> None:
    """Make the items. Raises JobFailed, JobCancelled, LeaseLost."""
    limits = ArchiveLimits.from_settings()
    listing = Listing()
    try:
        with open_blob(work.workspace.pk, work.job.payload["blob"]) as file:
            with _opened(work, file, limits) as archive:
                wanted = _wanted(work, archive, limits, listing)
            with _opened(work, file, limits) as archive:
                n_kept = _keep_all(work, _contents(archive, wanted, listing))
    except FileNotFoundError as error:
        raise JobFailed("The bytes of the archive are gone; upload it again.") from error
    except ArchiveRefused as error:
        raise JobFailed(f"Nothing of the archive was ingested: {error}") from error
    _note_listing(work, listing, n_kept)


def _wanted(work: Work, archive: Archive, limits: ArchiveLimits, listing: Listing) -> dict[int, str]:
    """Return the paths of the documents to be, by the members' places in the archive."""
    wanted = {}
    for entry in list_members(archive, limits):
        path = work.job.payload["prefix"] + entry.path
        if not isinstance(entry, WantedMember):
            listing.set_aside("skipped", entry.reason, path)
        elif len(path.encode()) > MAX_PATH_BYTES:
            listing.set_aside("skipped", "path_too_long", path)
        else:
            wanted[entry.index] = path
    return wanted


def _contents(archive: Archive, wanted: Mapping[int, str], listing: Listing) -> Iterator[_Kept]:
    for member in archive.members():
        path = wanted.get(member.index)
        if path is None:
            continue
        try:
            content = archive.read(member)
        except MemberBroken:
            listing.set_aside("failed", "broken_member", path)
        else:
            yield _Kept(path=path, content=content, content_hash=content_hash(content))


def _keep_all(work: Work, contents: Iterator[_Kept]) -> int:
    """Keep the members and give how many."""
    with transaction.atomic():
        work.lease.write(current_path="")
        # What an attempt before this one had come to; what stands in the way of a member that would bring
        # a deleted document back stays.
        _items(work).filter(action="ingest").delete()
    n_kept = 0
    for batch in batched_by_size(contents, _size_of, most=_BATCH_MEMBERS, most_bytes=_BATCH_BYTES):
        _keep(work, batch)
        n_kept += len(batch)
    return n_kept


def _size_of(kept: _Kept) -> int:
    return len(kept.content)


def _keep(work: Work, batch: Sequence[_Kept]) -> None:
    contents = {each.content_hash: each.content for each in batch}
    keep_blobs(work.workspace.pk, contents)
    items = [
        JobItem(
            workspace=work.workspace,
            job=work.job,
            path=each.path,
            action="ingest",
            blob=each.content_hash,
        )
        for each in batch
    ]
    with transaction.atomic():
        secure_blobs(work.workspace.pk, contents)
        work.lease.write(current_path=batch[-1].path)
        JobItem.objects.bulk_create(
            items,
            update_conflicts=True,
            unique_fields=("workspace", "job", "path"),
            update_fields=("blob",),
        )


@transaction.atomic
def _note_listing(work: Work, listing: Listing, n_items: int) -> None:
    work.lease.write(
        discovered_at=Now(),
        items_total=n_items,
        counts={
            "skipped": listing.skipped,
            "failed": listing.failed,
            "examples": listing.examples,
        },
        stalled_attempts=0,
    )
    _items(work).filter(blob="").delete()  # stood in the way of a member that the archive doesn't have


def _items(work: Work) -> Any:
    return JobItem.objects.in_workspace(work.workspace).filter(job=work.job.pk)
