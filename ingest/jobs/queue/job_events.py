"""Events for webhooks about the end of jobs, and about files that they refuse."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ingest.jobs.queue.report import refused_by_reason
from ingest.models import DOCUMENT_KINDS, Job, JobState
from ingest.skip_messages import is_refusal
from kebab.webhooks.endpoints import Event, derive_event_id, publish
from kebab.webhooks.models import EventType
from search.corpus import DocumentLocation
from search.models import SourceVersion


class FileEnd(NamedTuple):
    """The outcome of a file that was read, or of a member of an archive that can't be."""

    path: str
    outcome: str
    reason: str
    detail: str = ""


def publish_refusals(job: Job, version: SourceVersion, ends: Iterable[FileEnd]) -> None:
    """Queue the events of the files that were refused, in the transaction that records their outcomes."""
    is_upload = job.kind in DOCUMENT_KINDS
    refused = [end for end in ends if is_refusal(end.outcome, end.reason, is_upload=is_upload)]
    publish(job.workspace_id, [_refusal(job, version, end) for end in refused])


def _refusal(job: Job, version: SourceVersion, end: FileEnd) -> Event:
    place = DocumentLocation(workspace=job.workspace, source=version.source, version=version, path=end.path)
    return Event(
        type=EventType.DOCUMENT_REFUSED,
        subject=place.doc_id.hex,
        data={
            "document": place.doc_id.hex,
            "job": str(job.pk),
            "source": version.source.key,
            "version": version.tag or None,
            "path": end.path,
            "reason": end.reason,
            "detail": end.detail or None,
        },
        id=derive_event_id("refusal", job.pk, end.path),
    )


def publish_job_ends(
    jobs: Sequence[Job], state: JobState, error: str = "", counts: Mapping[str, Any] | None = None
) -> None:
    """Queue the events of jobs of one workspace that end as `state`, in the transaction of their end.

    `counts` are the final ones of a job that ran.
    """
    if jobs:
        publish(jobs[0].workspace_id, [_event(job, state, error, counts or {}) for job in jobs])


def _event(job: Job, state: JobState, error: str, counts: Mapping[str, Any]) -> Event:
    return Event(
        type=EventType.JOB_FAILED if state == JobState.FAILED else EventType.JOB_FINISHED,
        subject=str(job.pk),
        data={
            "job": str(job.pk),
            "kind": job.kind,
            "state": state.value,
            "path": job.payload.get("path", job.payload.get("archive")),
            "error": error or None,
            "refused": refused_by_reason(job.kind, counts),
        },
        id=derive_event_id("job", job.pk),
    )
