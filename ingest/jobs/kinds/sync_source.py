"""Sync jobs: list a source, compare it with the index, and ingest or delete the difference."""

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from ingest.connectors.errors import SYNC_FAILED, ListingFailed, SourceAway
from ingest.connectors.git.repository import NamedCommits
from ingest.connectors.git.source import GitSource
from ingest.connectors.kinds import connect
from ingest.connectors.project_file import ProjectFile
from ingest.connectors.records.source import RecordSource
from ingest.connectors.types import Connector, Entry, FoundFile, OpenOptions, SkippedFile
from ingest.connectors.walk_rules import WalkRules
from ingest.errors import JobFailed
from ingest.jobs.items.worker import ItemWorker
from ingest.jobs.kinds.listing import Listing
from ingest.jobs.kinds.record_sync import (
    IndexedFile,
    ListingProgress,
    discover_records,
    end_record_sync,
    indexed_files,
)
from ingest.jobs.queue.context import Ending, JobContext
from ingest.jobs.queue.request import request_sync
from ingest.models import OPEN_STATES, Job, JobItem, JobKind, JobState
from ingest.services.versions import add_version
from kebab.errors import Conflict
from search.corpus import ensure_version
from search.corpus.paths import MAX_PATH_BYTES
from search.libraries.source_stats import refresh_source_stats
from search.models import Source, SourceKind, SourceState, SourceVersion
from search.models.source import MAX_TAG_CHARS
from search.retrieval.query.glob import compile_glob

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
        raise JobFailed(SYNC_FAILED % {"error": error}) from error


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


# Limit per sync: of a thousand releases the newest come first, the others with the next syncs.
MOST_NEW_VERSIONS = 20


def follow_versions(job: Job, source: Source, named_commits: NamedCommits) -> None:
    """Request a sync of each version whose tag or branch has moved, and add versions for wanted new tags.

    A version whose tag is gone stays as it is. The requests have the requester of `job` and its `embed`
    option.
    """
    embed = job.payload.get("embed", True)
    versions = SourceVersion.objects.in_workspace(source.workspace_id).filter(source=source)
    commits = dict(versions.exclude(tag="").values_list("tag", "commit"))
    for tag, commit in commits.items():
        if named_commits.commit_of_version(tag) not in (None, commit) and not _is_requested(source, tag):
            request_sync(source, requested_by=job.requested_by, version=tag, embed=embed)
    for tag in _new_tags(source, named_commits, commits.keys()):
        try:
            add_version(source, tag=tag, title="", requested_by=job.requested_by, embed=embed)
        except Conflict:  # added concurrently
            continue


def _is_requested(source: Source, tag: str) -> bool:
    jobs = Job.objects.in_workspace(source.workspace_id).filter(
        Q(kind=JobKind.SYNC_SOURCE, discovered_at=None) | Q(kind=JobKind.DELETE_VERSION),
        source=source,
        state__in=OPEN_STATES,
        payload__version=tag,
    )
    return jobs.exists()


def _new_tags(source: Source, named_commits: NamedCommits, known: Collection[str]) -> list[str]:
    patterns = [compile_glob(pattern) for pattern in source.config.get("tags", ())]
    wanted = [
        tag
        for tag in named_commits.tags.keys() - set(known)
        if len(tag) <= MAX_TAG_CHARS and any(pattern.matches(tag) for pattern in patterns)
    ]
    return sorted(wanted, key=_natural_key, reverse=True)[:MOST_NEW_VERSIONS]


def _natural_key(tag: str) -> list[tuple[int, str]]:
    """Return the key of natural order: v9 before v10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", tag)]


def walk_rules(project: ProjectFile | None) -> WalkRules:
    """Return the rules of a walk: the global settings and those of the project file."""
    if project is None:
        return WalkRules.from_settings()
    return WalkRules.from_settings(
        folders=project.folders,
        excluded_folders=project.excluded_folders,
        excluded_files=project.excluded_files,
    )


def project_report(project: ProjectFile | None) -> dict[str, Any] | None:
    """Return the name and the errors of the project file, for the job's report; None without one."""
    if project is None:
        return None
    errors = [{"key": error.key, "message": error.message} for error in project.errors]
    return {"name": project.name, "errors": errors}


def describe_source(source: Source, project: ProjectFile | None) -> None:
    """Apply the fields of the project file to the source and its versions, in the caller's transaction.

    Fields that the file no longer states are reset, unless a person has changed them since. A file with
    errors changes nothing.
    """
    if project is not None and project.errors:
        return
    sources = Source.objects.in_workspace(source.workspace_id).filter(pk=source.pk)
    locked = sources.select_for_update(no_key=True).first()
    if locked is None:
        return
    stated = _stated_fields(project)
    changes = {**_reverted_fields(locked, stated), **stated}
    versions = changes.pop("versions", {})
    sources.update(**changes, project=stated)
    _set_version_titles(source, versions)


def _stated_fields(project: ProjectFile | None) -> dict[str, Any]:
    if project is None:
        return {}
    fields = {
        "title": project.title,
        "description": project.description,
        "rules": None if project.rules is None else list(project.rules),
        "versions": None if project.previous_versions is None else dict(project.previous_versions),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _reverted_fields(source: Source, stated: dict[str, Any]) -> dict[str, Any]:
    defaults = {"title": source.key, "description": "", "rules": []}
    return {
        name: default
        for name, default in defaults.items()
        if name in source.project and name not in stated and getattr(source, name) == source.project[name]
    }


def _set_version_titles(source: Source, titles: dict[str, str]) -> None:
    versions = SourceVersion.objects.in_workspace(source.workspace_id).filter(source=source, tag__in=titles)
    for version in versions.exclude(tag=""):
        if version.title != titles[version.tag]:
            versions.filter(pk=version.pk).update(title=titles[version.tag])
