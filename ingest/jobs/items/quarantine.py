"""Quarantine of files that every parser died of: tried again when they or a parser change, or on request."""

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import Q

from ingest.blob_cleanup import release_blobs
from ingest.errors import JobNotOpen
from ingest.jobs.queue.context import JobContext
from ingest.jobs.queue.request import cancel_all, lock_source, request_document, request_sync
from ingest.models import Job, JobItem, JobKind, Unreadable
from ingest.parsers.registry import parser_version_for
from kebab.database.transactions import run_on_commit
from kebab.errors import Conflict
from kebab.identity.models import Workspace
from search.corpus.blobs import has_blob, lock_blobs
from search.models import SourceKind

REASON = "quarantined"
#: Reason of a file that kills the worker itself.
KILLED = "killed_its_worker"
# Fields in the payload of an archive's job that describe the archive, not each document.
_ARCHIVE_FIELDS = frozenset({"archive", "prefix"})


class Quarantine:
    """The reasons why contents are in a workspace's quarantine, as far as a job has looked them up.

    Entries of a restricted source count for that source alone: otherwise an upload would reveal to people
    who can't read the source that it has the same bytes. Empty for a retry, which ignores the quarantine.
    """

    def __init__(self, context: JobContext) -> None:
        self._context = context
        self._is_retry = "only_paths" in context.job.payload or context.job.payload.get("anew", False)
        self._reasons: dict[tuple[str, str], str] = {}

    def look_up(self, content_hashes: Iterable[str]) -> None:
        """Load the entries of these contents."""
        if not self._is_retry:
            self._reasons |= _known_reasons(self._context, content_hashes)

    def reason(self, content_hash: str, path: str) -> str | None:
        """Return why these bytes, read as a file of this name, are in quarantine; None when they aren't."""
        return self._reasons.get((content_hash, parser_version_for(path)))

    def add(self, content_hash: str, path: str, reason: str) -> None:
        """Add an entry for this job, in memory only."""
        self._reasons[content_hash, parser_version_for(path)] = reason


def unreadable_files(workspace: Workspace) -> Any:
    """Return the queryset of refused and quarantined files, source and version loaded."""
    rows = Unreadable.objects.in_workspace(workspace).filter(version__workspace=workspace.pk)
    return rows.select_related("version__source")


@transaction.atomic
def request_retry(entry: Unreadable, *, requested_by: str) -> Job:
    """Return the job that reads a refused or quarantined file once more, ignoring its entry.

    Raises JobNotOpen for an upload whose job or bytes are no longer retained.
    """
    source, tag = entry.version.source, entry.version.tag
    if source.kind != SourceKind.UPLOAD:
        return request_sync(source, requested_by=requested_by, version=tag, only_paths=[entry.path])
    lock_blobs(entry.workspace_id, [entry.content_hash])
    latest = _upload_jobs(entry).order_by("-created_at", "id").first()
    payload = _member_payload(entry) if latest is None else latest.payload
    if payload is None or not has_blob(entry.workspace_id, entry.content_hash):
        raise JobNotOpen(f"The upload of {entry.path!r} is not kept; upload it again.")
    return request_document(source, {**payload, "anew": True}, requested_by=requested_by)


def delete_entry(entry: Unreadable) -> None:
    """Delete the entry of an upload, and its blob unless something else needs it.

    A job that would retry it is cancelled; a document at its path stays. Call it in a transaction.
    Raises Conflict for a file of another kind of source: the next sync would find it there again.
    """
    source = entry.version.source
    if source.kind != SourceKind.UPLOAD:
        raise Conflict(
            f"{entry.path!r} comes from the {source.kind} of source {source.key!r}; delete it there,"
            " or leave it out, and sync the source.",
            code="file_of_source",
        )
    # Lock order as in workers: source, entry, jobs. Another order could deadlock.
    lock_source(source)
    Unreadable.objects.in_workspace(entry.workspace_id).filter(pk=entry.pk).delete()
    cancel_all(source, _upload_jobs(entry))
    run_on_commit(release_blobs, entry.workspace_id, [entry.content_hash])


def _upload_jobs(entry: Unreadable) -> Any:
    """Return the jobs that ingest, or have ingested, exactly this upload."""
    return Job.objects.in_workspace(entry.workspace_id).filter(
        kind=JobKind.INGEST_DOCUMENT,
        source=entry.version.source,
        payload__version=entry.version.tag,
        payload__path=entry.path,
        payload__blob=entry.content_hash,
    )


def _member_payload(entry: Unreadable) -> dict[str, Any] | None:
    """Return the payload for an upload of this file alone; None if it did not come together with others."""
    members = JobItem.objects.in_workspace(entry.workspace_id).filter(
        path=entry.path,
        blob=entry.content_hash,
        job__workspace=entry.workspace_id,
        job__source=entry.version.source,
        job__payload__version=entry.version.tag,
    )
    member = members.select_related("job").order_by("-id").first()
    if member is None:
        return None
    stated = {name: value for name, value in member.job.payload.items() if name not in _ARCHIVE_FIELDS}
    return {**stated, **member.record, "path": entry.path, "blob": entry.content_hash}


def _known_reasons(context: JobContext, content_hashes: Iterable[str]) -> dict[tuple[str, str], str]:
    known = Q(version__source__is_restricted=False) | Q(version__source=context.job.source_id)
    quarantined = unreadable_files(context.workspace).filter(is_quarantined=True)
    rows = quarantined.filter(known, content_hash__in=list(content_hashes))
    reasons = rows.values_list("content_hash", "parser_version", "detail")
    return {(content_hash, parsers): detail for content_hash, parsers, detail in reasons}
