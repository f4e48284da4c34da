"""Files that every parser died of: left alone while content and parsers stand, tried again on request."""

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import Q

from ingest.blob_cleanup import release_blobs
from ingest.errors import JobNotOpen
from ingest.jobs.queue.context import Work
from ingest.jobs.queue.request import cancel_all, hold_source, request_document, request_sync
from ingest.models import Job, JobItem, JobKind, Unreadable
from ingest.parsers.registry import parser_version_for
from kebab.database.on_commit import once_committed
from kebab.http.api.errors import Conflict
from kebab.people.models import Workspace
from search.corpus.blobs import has_blob, hold_blobs
from search.models import SourceKind

REASON = "quarantined"
#: Of a file that no parser dies of, but the worker itself.
KILLED = "killed_its_worker"
# What the payload of an archive's job says of the archive, not of each document.
_OF_ARCHIVES = frozenset({"archive", "prefix"})


class Quarantine:
    """Why contents are in a workspace's quarantine, as far as a job has looked them up.

    Those of a restricted source hold for itself alone: else an upload would tell who can't read it that it
    has the same bytes. Empty for a retry, which is there to try again.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._is_retry = "only_paths" in work.job.payload or work.job.payload.get("anew", False)
        self._reasons: dict[tuple[str, str], str] = {}

    def look_up(self, content_hashes: Iterable[str]) -> None:
        """Reads what is known of these contents."""
        if not self._is_retry:
            self._reasons |= _known_reasons(self._work, content_hashes)

    def reason(self, content_hash: str, path: str) -> str | None:
        """Return why these bytes, read as a file of this name, are not tried; None when they are to
        be tried.
        """
        return self._reasons.get((content_hash, parser_version_for(path)))

    def add(self, content_hash: str, path: str, reason: str) -> None:
        """Remembers what was found out just now."""
        self._reasons[content_hash, parser_version_for(path)] = reason


def quarantined(workspace: Workspace) -> Any:
    """Return the queryset of quarantined files, source and version loaded."""
    rows = Unreadable.objects.in_workspace(workspace).filter(is_quarantined=True)
    return rows.filter(version__workspace=workspace.pk).select_related("version__source")


@transaction.atomic
def try_again(entry: Unreadable, *, requested_by: str) -> Job:
    """Return the job that reads a quarantined file once more, whatever is remembered of it.

    Raises JobNotOpen for an upload whose job, or whose bytes, are not kept.
    """
    source, tag = entry.version.source, entry.version.tag
    if source.kind != SourceKind.UPLOAD:
        return request_sync(source, requested_by=requested_by, version=tag, only_paths=[entry.path])
    hold_blobs(entry.workspace_id, [entry.content_hash])
    latest = _uploads(entry).order_by("-created_at", "id").first()
    payload = _member_payload(entry) if latest is None else latest.payload
    if payload is None or not has_blob(entry.workspace_id, entry.content_hash):
        raise JobNotOpen(f"The upload of {entry.path!r} is not kept; upload it again.")
    return request_document(source, {**payload, "anew": True}, requested_by=requested_by)


def delete_quarantined(entry: Unreadable) -> None:
    """Forget an upload in quarantine, and its bytes unless something else needs them.

    A job that is to try it again is cancelled; a document at its path stays. Call it in a transaction.
    Raises Conflict for the file of another source: what its source still has, the next sync would find.
    """
    source = entry.version.source
    if source.kind != SourceKind.UPLOAD:
        raise Conflict(
            f"{entry.path!r} comes from the {source.kind} of source {source.key!r}; delete it there,"
            " or leave it out, and sync the source.",
            code="file_of_source",
        )
    # Source, entry, jobs, as workers take them: in another order the two could wait for each other.
    hold_source(source)
    Unreadable.objects.in_workspace(entry.workspace_id).filter(pk=entry.pk).delete()
    cancel_all(source, _uploads(entry))
    once_committed(release_blobs, entry.workspace_id, [entry.content_hash])


def _uploads(entry: Unreadable) -> Any:
    """Return the jobs that ingest, or have ingested, just this upload."""
    return Job.objects.in_workspace(entry.workspace_id).filter(
        kind=JobKind.INGEST_DOCUMENT,
        source=entry.version.source,
        payload__version=entry.version.tag,
        payload__path=entry.path,
        payload__blob=entry.content_hash,
    )


def _member_payload(entry: Unreadable) -> dict[str, Any] | None:
    """Return what an upload of this file alone would say, had it not come in an archive; None if it
    didn't.
    """
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
    stated = {name: value for name, value in member.job.payload.items() if name not in _OF_ARCHIVES}
    return {**stated, "path": entry.path, "blob": entry.content_hash}


def _known_reasons(work: Work, content_hashes: Iterable[str]) -> dict[tuple[str, str], str]:
    known = Q(version__source__is_restricted=False) | Q(version__source=work.job.source_id)
    rows = quarantined(work.workspace).filter(known, content_hash__in=list(content_hashes))
    reasons = rows.values_list("content_hash", "parser_version", "detail")
    return {(content_hash, parsers): detail for content_hash, parsers, detail in reasons}
