"""Bringing a source up to date: list it, compare with what is indexed, work off the difference."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from ingest.chunking.types import chunker_version
from ingest.connectors.connect import Opening, connect
from ingest.connectors.errors import ListingFailed
from ingest.connectors.git.source import GitSource
from ingest.connectors.types import Connector, Entry, FoundFile, SkippedFile
from ingest.errors import JobFailed
from ingest.jobs.items.chunk_size import chunk_tokens_of
from ingest.jobs.items.worker import ItemWorker
from ingest.jobs.kinds.follow_versions import follow_versions
from ingest.jobs.kinds.listing import Listing
from ingest.jobs.kinds.listing_progress import ListingProgress
from ingest.jobs.kinds.project import describe_source, project_report, walk_rules
from ingest.jobs.queue.context import Ending, Work
from ingest.models import Job, JobItem, JobState, Unreadable
from ingest.parsers.registry import is_current
from search.corpus import ensure_version
from search.corpus.paths import MAX_PATH_BYTES
from search.libraries.source_stats import refresh_standing
from search.models import Document, Source, SourceKind, SourceState, SourceVersion

# Rows a statement when items are written.
_BATCH = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is indexed at a path, or was set aside: as long as this stands, nothing is done."""

    size_bytes: int
    mtime_ns: int | None
    revision: str
    parser_version: str
    is_cut_as_asked: bool
    #: Why it was set aside; None for a document.
    outcome: str | None = None
    reason: str = ""

    def stands_for(self, file: FoundFile) -> bool:
        """Return whether the file has the same revision, time and size, and would be read and cut the same
        way.
        """
        return (
            (self.revision, self.mtime_ns) == (file.revision, file.mtime_ns)
            and self.size_bytes == file.size_bytes
            and is_current(self.parser_version, file.path)
            and self.is_cut_as_asked
        )


def run(work: Work) -> Ending:
    """Sync the job's source. Raises JobFailed when it is gone or can't be listed: nothing is deleted then."""
    source = work.job.source
    if source is None:
        raise JobFailed("The source was deleted.")
    version = ensure_version(source, work.job.payload.get("version", ""))
    if work.job.discovered_at is None and work.job.is_whole_sync:
        Source.objects.in_workspace(work.workspace).filter(pk=source.pk).update(state=SourceState.INDEXING)
    progress = ListingProgress(work)
    with _connected(work, source, version, progress) as connector:
        if work.job.discovered_at is None:
            _follow_versions(work.job, source, version, connector)
            _discover(work, source, version, connector, progress)
        return ItemWorker(work, source, version, lambda item: connector.read(item.path)).run()


@contextmanager
def _connected(
    work: Work, source: Source, version: SourceVersion, progress: ListingProgress
) -> Iterator[Connector]:
    try:
        opening = Opening(
            source=source,
            version=version,
            revision=work.job.counts.get("revision", ""),
            while_waiting=work.go_on,
            when_at=progress.at,
            job_id=work.job.pk,
        )
        with connect(opening) as connector:
            yield connector
    except ListingFailed as error:
        raise JobFailed(f"The source could not be listed, so nothing was changed: {error}") from error


def _follow_versions(job: Job, source: Source, version: SourceVersion, connector: Connector) -> None:
    if isinstance(connector, GitSource) and not version.tag and "only_paths" not in job.payload:
        follow_versions(job, source, connector.named)


def note_end(job: Job, state: JobState) -> None:
    """Say in the source how its sync ended; part of the job's last transaction.

    One of a part of it says nothing of the rest, which may be in error.
    """
    if job.source_id is None:
        return
    sources = Source.objects.in_workspace(job.workspace_id).filter(pk=job.source_id)
    if state == JobState.SUCCEEDED:
        _note_commit(job)
        is_indexed = job.is_whole_sync or sources.filter(state=SourceState.PENDING).exists()
        changes = {"state": SourceState.INDEXED} if is_indexed else {}
        refresh_standing(job.workspace_id, job.source_id, last_indexed_at=timezone.now(), **changes)
    elif job.is_whole_sync:
        was_indexed = sources.filter(last_indexed_at__isnull=False)
        sources.update(state=SourceState.ERROR if state == JobState.FAILED else SourceState.PENDING)
        was_indexed.exclude(state=SourceState.ERROR).update(state=SourceState.INDEXED)


def _note_commit(job: Job) -> None:
    """Say in the version at which commit all of it was read."""
    if job.source is None or job.source.kind != SourceKind.GIT or "only_paths" in job.payload:
        return
    versions = SourceVersion.objects.in_workspace(job.workspace_id).filter(source=job.source_id)
    versions.filter(tag=job.payload.get("version", "")).update(commit=job.counts.get("revision", ""))


def _discover(
    work: Work, source: Source, version: SourceVersion, connector: Connector, progress: ListingProgress
) -> None:
    project = connector.project_file()
    entries = progress.over(connector.entries(walk_rules(project)))
    listing = _listing(work, entries, version)
    items = [
        JobItem(workspace=work.workspace, job=work.job, path=path, action=action)
        for action, paths in (("ingest", listing.to_ingest), ("delete", listing.to_delete))
        for path in paths
    ]
    with transaction.atomic():
        if not version.tag:
            describe_source(source, project)
        JobItem.objects.bulk_create(items, batch_size=_BATCH)
        work.lease.write(
            discovered_at=Now(),
            items_total=len(items),
            counts={
                "unchanged": listing.unchanged,
                "skipped": listing.skipped,
                "failed": listing.failed,
                "examples": listing.examples,
                "project_file": project_report(project),
                "revision": connector.revision,
                "listed": progress.listed,
            },
            stalled_attempts=0,
        )


def _listing(work: Work, entries: Iterable[Entry], version: SourceVersion) -> Listing:
    paths = work.job.payload.get("only_paths")
    only = None if paths is None else frozenset(paths)
    known = _known(work, version, only)
    listing = Listing()
    gone = set(known)
    for entry in entries:
        if isinstance(entry, FoundFile):
            gone.discard(entry.path)
        if only is None or entry.path in only:
            _sort_in(entry, known.get(entry.path), listing, retrying=only is not None)
    listing.to_delete = sorted(gone)
    return listing


def _sort_in(
    entry: FoundFile | SkippedFile, known: Known | None, listing: Listing, *, retrying: bool
) -> None:
    if isinstance(entry, SkippedFile):
        listing.set_aside("skipped", entry.reason, entry.path)
    elif len(entry.path.encode()) > MAX_PATH_BYTES:
        listing.set_aside("skipped", "path_too_long", entry.path)
    elif known is None or retrying or not known.stands_for(entry):
        listing.to_ingest.append(entry.path)
    elif known.outcome is None:
        listing.unchanged += 1
    else:
        listing.set_aside(known.outcome, known.reason, entry.path)


def _known(work: Work, version: SourceVersion, only: Collection[str] | None) -> dict[str, Known]:
    """Return what is known of the version's paths, or of some alone."""
    chosen = {} if only is None else {"path__in": only}
    wanted = chunker_version(chunk_tokens_of(work.workspace))
    documents = Document.objects.in_workspace(work.workspace).filter(version=version, **chosen)
    known = {
        path: Known(
            size_bytes=size,
            mtime_ns=mtime_ns,
            revision=revision,
            parser_version=parser,
            is_cut_as_asked=chunker == wanted,
        )
        for path, size, mtime_ns, revision, parser, chunker in documents.values_list(
            "path", "size_bytes", "source_mtime_ns", "source_revision", "parser_version", "chunker_version"
        )
    }
    for row in Unreadable.objects.in_workspace(work.workspace).filter(version=version, **chosen):
        known[row.path] = Known(
            size_bytes=row.size_bytes,
            mtime_ns=row.source_mtime_ns,
            revision=row.source_revision,
            parser_version=row.parser_version,
            is_cut_as_asked=True,
            outcome="failed" if row.is_quarantined else "skipped",
            reason=row.reason,
        )
    return known
