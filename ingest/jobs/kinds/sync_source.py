"""Sync jobs: list a source, compare it with the index, and ingest or delete the difference."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from ingest.connectors.errors import ListingFailed, SourceAway
from ingest.connectors.git.source import GitSource
from ingest.connectors.kinds import connect
from ingest.connectors.records.source import RecordSource
from ingest.connectors.types import Connector, Entry, FoundFile, OpenOptions, SkippedFile
from ingest.errors import JobFailed
from ingest.jobs.items.worker import ItemWorker
from ingest.jobs.kinds.follow_versions import follow_versions
from ingest.jobs.kinds.listing import Listing
from ingest.jobs.kinds.project import describe_source, project_report, walk_rules
from ingest.jobs.kinds.record_sync import (
    IndexedFile,
    ListingProgress,
    discover_records,
    end_record_sync,
    indexed_files,
)
from ingest.jobs.queue.context import Ending, JobContext
from ingest.models import Job, JobItem, JobState
from search.corpus import ensure_version
from search.corpus.paths import MAX_PATH_BYTES
from search.libraries.source_stats import refresh_source_stats
from search.models import Source, SourceKind, SourceState, SourceVersion

# Rows per statement when items are written.
_BATCH = 2_000
# The files of a folder are read and compared this often, as a file may have changed with its time and size
# as before: restored, or written by a program that sets the time.
_COMPARE_EVERY = timedelta(days=7)


def run(context: JobContext) -> Ending:
    """Sync the job's source. Raises JobFailed when it is gone or can't be listed; nothing is deleted then."""
    source = context.source
    version = ensure_version(source, context.job.payload.get("version", ""))
    if context.job.discovered_at is None and context.job.is_whole_sync:
        Source.objects.in_workspace(context.workspace).filter(pk=source.pk).update(state=SourceState.INDEXING)
    progress = ListingProgress(context)
    with _connect_source(context, source, version, progress) as connector:
        if isinstance(connector, RecordSource):
            return _sync_records(context, source, version, connector, progress)
        if context.job.discovered_at is None:
            if (
                isinstance(connector, GitSource)
                and not version.tag
                and "only_paths" not in context.job.payload
            ):
                follow_versions(context.job, source, connector.named_commits)
            _discover(context, source, version, connector, progress)
        return ItemWorker(context, source, version, lambda item: connector.read(item.path)).run()


def _sync_records(
    context: JobContext,
    source: Source,
    version: SourceVersion,
    connector: RecordSource,
    progress: ListingProgress,
) -> Ending:
    if context.job.discovered_at is None:
        discover_records(context, version, connector, progress)
    try:
        ending = ItemWorker(context, source, version, connector.read_item).run()
    except SourceAway as error:
        raise JobFailed(f"{error} What was read before is stored; the next sync reads the rest.") from error
    if ending is Ending.DONE:
        end_record_sync(context, version)
    return ending


@contextmanager
def _connect_source(
    context: JobContext, source: Source, version: SourceVersion, progress: ListingProgress
) -> Iterator[Connector | RecordSource]:
    try:
        options = OpenOptions(
            source=source,
            version=version,
            revision=context.job.counts.get("revision", ""),
            while_waiting=context.raise_if_stopped,
            on_position=progress.record_position,
            job_id=context.job.pk,
            is_partial="only_paths" in context.job.payload,
        )
        with connect(options) as connector:
            yield connector
    except ListingFailed as error:
        raise JobFailed(f"The source could not be listed, so nothing was changed: {error}") from error


def record_sync_end(job: Job, state: JobState) -> None:
    """Record in the source how its sync ended; part of the job's last transaction.

    A sync of some paths does not change the state of a source that is in error.
    """
    if job.source_id is None:
        return
    sources = Source.objects.in_workspace(job.workspace_id).filter(pk=job.source_id)
    if state == JobState.SUCCEEDED:
        _record_commit(job)
        is_indexed = job.is_whole_sync or sources.filter(state=SourceState.PENDING).exists()
        changes = {"state": SourceState.INDEXED} if is_indexed else {}
        refresh_source_stats(job.workspace_id, job.source_id, last_indexed_at=timezone.now(), **changes)
    elif job.is_whole_sync:
        was_indexed = sources.filter(last_indexed_at__isnull=False)
        sources.update(state=SourceState.ERROR if state == JobState.FAILED else SourceState.PENDING)
        was_indexed.exclude(state=SourceState.ERROR).update(state=SourceState.INDEXED)


def _record_commit(job: Job) -> None:
    """Record in the version the commit at which all of it was read."""
    if job.source is None or job.source.kind != SourceKind.GIT or "only_paths" in job.payload:
        return
    versions = SourceVersion.objects.in_workspace(job.workspace_id).filter(source=job.source_id)
    versions.filter(tag=job.payload.get("version", "")).update(commit=job.counts.get("revision", ""))


def _discover(
    context: JobContext,
    source: Source,
    version: SourceVersion,
    connector: Connector,
    progress: ListingProgress,
) -> None:
    project = connector.project_file()
    entries = progress.count_entries(connector.entries(walk_rules(project)))
    compares_bytes = _is_comparison_due(context.job, source)
    listing = _build_listing(context, entries, version, compares_bytes=compares_bytes)
    items = [
        JobItem(workspace=context.workspace, job=context.job, path=path, action=action)
        for action, paths in (("ingest", listing.to_ingest), ("delete", listing.to_delete))
        for path in paths
    ]
    with transaction.atomic():
        if not version.tag:
            describe_source(source, project)
        if compares_bytes:
            Source.objects.in_workspace(context.workspace).filter(pk=source.pk).update(compared_at=Now())
        JobItem.objects.bulk_create(items, batch_size=_BATCH)
        context.lease.write(
            discovered_at=Now(),
            items_total=len(items),
            counts={
                **listing.counts,
                "project_file": project_report(project),
                "revision": connector.revision,
                "listed": progress.listed,
            },
            stalled_attempts=0,
        )


def _is_comparison_due(job: Job, source: Source) -> bool:
    """Return whether the sync reads all files of a folder, and compares their bytes with what is indexed."""
    if source.kind != SourceKind.FOLDER or not job.is_whole_sync:
        return False
    return source.compared_at is None or source.compared_at < timezone.now() - _COMPARE_EVERY


def _build_listing(
    context: JobContext, entries: Iterable[Entry], version: SourceVersion, *, compares_bytes: bool
) -> Listing:
    paths = context.job.payload.get("only_paths")
    only = None if paths is None else frozenset(paths)
    known = indexed_files(context, version, only)
    listing = Listing()
    gone = set(known)
    for entry in entries:
        if isinstance(entry, FoundFile):
            gone.discard(entry.path)
        if only is None or entry.path in only:
            reads_all = compares_bytes or only is not None
            _classify_entry(entry, known.get(entry.path), listing, reads_all=reads_all)
    listing.to_delete = sorted(gone)
    return listing


def _classify_entry(
    entry: FoundFile | SkippedFile, known: IndexedFile | None, listing: Listing, *, reads_all: bool
) -> None:
    if isinstance(entry, SkippedFile):
        listing.count_excluded("skipped", entry.reason, entry.path)
    elif len(entry.path.encode()) > MAX_PATH_BYTES:
        listing.count_excluded("skipped", "path_too_long", entry.path)
    elif known is None or reads_all or not known.is_unchanged(entry):
        listing.to_ingest.append(entry.path)
    elif known.outcome is None:
        listing.unchanged += 1
    else:
        listing.count_excluded(known.outcome, known.reason, entry.path)
