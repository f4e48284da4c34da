"""Jobs of many documents: each, such as an archive's member, is an item with a blob of its own."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain

from django.db import transaction
from django.db.models.functions import Now

from ingest.archives.listing import SelectedMember, list_members
from ingest.archives.open_archive import open_archive
from ingest.archives.types import Archive, ArchiveLimits, ArchiveRefused, MemberBroken
from ingest.connectors.errors import ListingFailed
from ingest.connectors.types import ItemContent
from ingest.connectors.walk_rules import SkipReason
from ingest.errors import JobFailed
from ingest.exports.found import Exports
from ingest.jobs.items.batches import batch_by_size
from ingest.jobs.items.worker import ItemWorker
from ingest.jobs.kinds.listing import Listing
from ingest.jobs.kinds.upload import read_upload, unpack
from ingest.jobs.queue.context import Ending, JobContext
from ingest.jobs.queue.job_events import publish_refusals
from ingest.models import JobItem, JobKind
from search.corpus import ensure_version
from search.corpus.blobs import lock_and_store_blobs, open_blob, store_blobs
from search.corpus.content_ids import content_hash
from search.corpus.paths import MAX_PATH_BYTES
from search.models import SourceVersion

# Bytes in memory at once, next to one member.
_BATCH_BYTES = 8_000_000
_BATCH_MEMBERS = 200


def run(context: JobContext) -> Ending:
    """Ingest the job's documents. Raises JobFailed when its source is gone or their archive is refused."""
    source = context.source
    version = ensure_version(source, context.job.payload.get("version", ""))
    if context.job.discovered_at is None:
        _unpack(context, version)
    elif context.job.kind == JobKind.INGEST_DOCUMENTS and (blob := context.job.payload["blob"]):
        with suppress(FileNotFoundError):  # then the items whose bytes are gone fail
            unpack(context.workspace.pk, blob)
    return ItemWorker(context, source, version, partial(_read_member, context)).run()


def _read_member(context: JobContext, item: JobItem) -> ItemContent:
    return read_upload(context, item.blob, item.record)


@dataclass(frozen=True, slots=True, kw_only=True)
class _MemberContent:
    """The content of a member that is to be stored as a blob."""

    path: str
    content: bytes
    content_hash: str


def _unpack(context: JobContext, version: SourceVersion) -> None:
    """Create the items from the members. Raises JobFailed, JobCancelled, LeaseLost."""
    limits = ArchiveLimits.from_settings(context.raise_if_stopped)
    listing = Listing()
    try:
        with open_blob(context.workspace.pk, context.job.payload["blob"]) as file:
            with open_archive(file, limits) as archive:
                members, too_large = _select_members(context, archive, limits, listing)
            exports = Exports.find(list(members.values()), too_large)
            if exports.index_files:
                with open_archive(file, limits) as archive:
                    _read_index_files(archive, members, exports)
            places = _place_documents(context, members, exports, listing)
            with open_archive(file, limits) as archive:
                read = _read_documents(archive, members, places, exports, listing)
                n_stored = _store_members(context, chain(read, _made_documents(context, places, exports)))
    except FileNotFoundError as error:
        raise JobFailed("The bytes of the archive are gone; upload it again.") from error
    except (ArchiveRefused, ListingFailed) as error:
        raise JobFailed(f"Nothing of the archive was ingested: {error}") from error
    _store_listing(context, version, listing, n_stored)


def _select_members(
    context: JobContext, archive: Archive, limits: ArchiveLimits, listing: Listing
) -> tuple[dict[int, str], list[str]]:
    """Return the paths of the members to ingest, by their index in the archive, and those too large to.

    Count all others.
    """
    wanted, too_large = {}, []
    for entry in list_members(archive, limits):
        if isinstance(entry, SelectedMember):
            wanted[entry.index] = entry.path
        else:
            if entry.reason is SkipReason.TOO_LARGE:
                too_large.append(entry.path)
            listing.count_excluded("skipped", entry.reason, context.job.payload["prefix"] + entry.path)
    return wanted, too_large


def _read_index_files(archive: Archive, members: Mapping[int, str], exports: Exports) -> None:
    """Read the index files of exports. Raises ListingFailed for a broken one."""
    wanted = frozenset(exports.index_files)
    for member in archive.members():
        if (path := members.get(member.index)) in wanted:
            try:
                exports.read_index(path, archive.read(member))
            except MemberBroken as error:
                raise ListingFailed(f"{path} of the export is damaged; export it again.") from error


def _place_documents(
    context: JobContext, members: Mapping[int, str], exports: Exports, listing: Listing
) -> dict[str, str]:
    """Return the paths of the documents by those of their members; count members that are none."""
    prefix = context.job.payload["prefix"]
    places = {}
    for path, place in exports.place(members.values()):
        if isinstance(place, SkipReason):
            listing.count_excluded("skipped", place, prefix + path)
        elif len((prefix + place).encode()) > MAX_PATH_BYTES:
            listing.count_excluded("skipped", "path_too_long", prefix + path)
        else:
            places[path] = prefix + place
    return places


def _read_documents(
    archive: Archive,
    members: Mapping[int, str],
    places: Mapping[str, str],
    exports: Exports,
    listing: Listing,
) -> Iterator[_MemberContent]:
    for member in archive.members():
        path = members.get(member.index, "")
        if path not in places:
            continue
        try:
            content = exports.convert(path, archive.read(member))
        except MemberBroken:
            listing.count_excluded("failed", "broken_member", places[path])
        else:
            yield _MemberContent(path=places[path], content=content, content_hash=content_hash(content))


def _made_documents(
    context: JobContext, places: Mapping[str, str], exports: Exports
) -> Iterator[_MemberContent]:
    """Yield the documents that are no member, but in an index file of their export."""
    taken = frozenset(places.values())
    for inner, content in exports.documents():
        path = context.job.payload["prefix"] + inner
        if path not in taken and len(path.encode()) <= MAX_PATH_BYTES:
            yield _MemberContent(path=path, content=content, content_hash=content_hash(content))


def _store_members(context: JobContext, contents: Iterator[_MemberContent]) -> int:
    """Store the members and their items; return their number."""
    with transaction.atomic():
        context.lease.write(current_path="")
        # Items of an earlier attempt. Items to delete stay: they keep a member from bringing back a document
        # that was deleted meanwhile.
        JobItem.objects.of_job(context.job).filter(action="ingest").delete()
    n_stored = 0
    for batch in batch_by_size(contents, _size_of, most=_BATCH_MEMBERS, most_bytes=_BATCH_BYTES):
        _store_batch(context, batch)
        n_stored += len(batch)
    return n_stored


def _size_of(content: _MemberContent) -> int:
    return len(content.content)


def _store_batch(context: JobContext, batch: Sequence[_MemberContent]) -> None:
    contents = {each.content_hash: each.content for each in batch}
    store_blobs(context.workspace.pk, contents)
    items = [
        JobItem(
            workspace=context.workspace,
            job=context.job,
            path=each.path,
            action="ingest",
            blob=each.content_hash,
        )
        for each in batch
    ]
    with transaction.atomic():
        lock_and_store_blobs(context.workspace.pk, contents)
        context.lease.write(current_path=batch[-1].path)
        JobItem.objects.bulk_create(
            items, update_conflicts=True, unique_fields=("workspace", "job", "path"), update_fields=("blob",)
        )


@transaction.atomic
def _store_listing(context: JobContext, version: SourceVersion, listing: Listing, n_items: int) -> None:
    context.lease.write(
        discovered_at=Now(),
        items_total=n_items,
        counts={"skipped": listing.skipped, "failed": listing.failed, "examples": listing.examples},
        stalled_attempts=0,
    )
    publish_refusals(context.job, version, listing.refused)
    JobItem.objects.of_job(context.job).filter(blob="").delete()  # items to delete whose path no member has
