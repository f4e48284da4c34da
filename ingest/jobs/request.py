"""Asking for work. Each request is a row first; a worker is woken once that is committed."""

from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from ingest.errors import JobNotOpen
from ingest.jobs.hints import hint_on_commit
from ingest.models import OPEN_STATES, ItemState, Job, JobItem, JobKind, JobState
from search.models import Source


def request_sync(source: Source, *, requested_by: str = "", **payload: Any) -> Job:
    """Give the job that will bring `source` up to date.

    A request for the same work that comes before an open sync has listed the source joins it; any other
    waits behind it. Raises Source.DoesNotExist when the source is gone.
    """
    with transaction.atomic():
        # Requests for one source come one by one, so that the second finds what the first made.
        Source.objects.in_workspace(source.workspace_id).select_for_update(no_key=True).get(pk=source.pk)
        return _joinable_sync(source, payload) or _create(
            source.workspace_id,
            JobKind.SYNC_SOURCE,
            source=source,
            payload=payload,
            requested_by=requested_by,
        )


def _joinable_sync(source: Source, payload: Mapping[str, Any]) -> Job | None:
    # Work on all paths includes work on some.
    all_paths = {name: value for name, value in payload.items() if name != "only_paths"}
    return (
        Job.objects.in_workspace(source.workspace_id)
        .filter(source=source, kind=JobKind.SYNC_SOURCE, state__in=OPEN_STATES)
        .filter(Q(payload=payload) | Q(payload=all_paths))
        .filter(cancel_requested=False, discovered_at=None)
        .select_for_update()
        .first()
    )


def request_document(source: Source, payload: Mapping[str, Any], *, requested_by: str = "") -> Job:
    """Give the job that will ingest one uploaded document; `payload` names its `path` and its `blob`."""
    with transaction.atomic():
        job = _create(
            source.workspace_id,
            JobKind.INGEST_DOCUMENT,
            source=source,
            payload=dict(payload),
            items_total=1,
            discovered_at=timezone.now(),
            requested_by=requested_by,
        )
        JobItem.objects.create(
            workspace_id=source.workspace_id, job=job, path=payload["path"], action="ingest"
        )
    return job


def request_embedding(workspace_id: Any) -> Job:
    """Give the job that will embed what lacks a vector; an open one is told to look again at its end."""
    with transaction.atomic():
        open_jobs = Job.objects.in_workspace(workspace_id).filter(kind=JobKind.EMBED, state__in=OPEN_STATES)
        job = open_jobs.select_for_update().first()
        if job is not None:
            open_jobs.filter(pk=job.pk).update(rerun_requested=True)
            return job
        try:
            with transaction.atomic():
                return _create(workspace_id, JobKind.EMBED)
        except IntegrityError:
            open_jobs.update(rerun_requested=True)
            return open_jobs.get()


def request_source_deletion(source: Source, *, requested_by: str = "") -> Job:
    """Give the job that will delete `source` with all its documents; its open jobs are cancelled."""
    with transaction.atomic():
        _cancel_all(Job.objects.in_workspace(source.workspace_id).filter(source=source))
        return _create(source.workspace_id, JobKind.DELETE_SOURCE, source=source, requested_by=requested_by)


def request_version_deletion(source: Source, tag: str, *, requested_by: str = "") -> Job:
    """Give the job that will delete the version `tag` with its documents; its open jobs are cancelled."""
    with transaction.atomic():
        jobs = Job.objects.in_workspace(source.workspace_id).filter(source=source)
        _cancel_all(jobs.filter(payload__version=tag))
        return _create(
            source.workspace_id,
            JobKind.DELETE_VERSION,
            source=source,
            payload={"version": tag},
            requested_by=requested_by,
        )


def cancel(job: Job) -> Job:
    """Ask for a job's end: at once when it is queued, within seconds when it runs. Raises JobNotOpen."""
    rows = Job.objects.in_workspace(job.workspace_id).filter(pk=job.pk)
    if _cancel_queued(rows):
        return rows.get()
    if not rows.filter(state=JobState.RUNNING).update(cancel_requested=True, due_at=Now()):
        raise JobNotOpen(f"Job {job.pk} has already ended as {rows.get().state}; there is nothing to cancel.")
    hint_on_commit(job)  # it may have been put off: then whoever claims it ends it
    return rows.get()


def _cancel_all(jobs: QuerySet[Job]) -> None:
    _cancel_queued(jobs)
    jobs.filter(state=JobState.RUNNING).update(cancel_requested=True, due_at=Now())


def _cancel_queued(jobs: QuerySet[Job]) -> int:
    queued = jobs.filter(state=JobState.QUEUED)
    return queued.update(state=JobState.CANCELLED, cancel_requested=True, finished_at=Now())


def retry(job: Job, *, requested_by: str = "") -> Job:
    """Give a new job over what failed in `job`: the failed items, or all of it when it failed as a whole.

    Raises JobNotOpen when the job is still open, or nothing in it failed.
    """
    if not job.is_finished:
        raise JobNotOpen(f"Job {job.pk} is still {job.state}; wait for its end or cancel it.")
    failed = JobItem.objects.in_workspace(job.workspace_id).filter(job=job, state=ItemState.FAILED)
    paths = list(failed.order_by("id").values_list("path", flat=True))
    if job.state == JobState.SUCCEEDED and not paths:
        raise JobNotOpen(f"Nothing failed in job {job.pk}; there is nothing to retry.")
    return _again(job, paths, requested_by)


def _again(job: Job, failed_paths: list[str], requested_by: str) -> Job:
    if job.kind == JobKind.EMBED:
        return request_embedding(job.workspace_id)
    if job.source is None:
        raise JobNotOpen(f"The source of job {job.pk} is gone; there is nothing to retry.")
    if job.kind == JobKind.DELETE_SOURCE:
        return request_source_deletion(job.source, requested_by=requested_by)
    if job.kind == JobKind.DELETE_VERSION:
        return request_version_deletion(job.source, job.payload["version"], requested_by=requested_by)
    if job.kind == JobKind.INGEST_DOCUMENT:
        return request_document(job.source, job.payload, requested_by=requested_by)
    only = {"only_paths": failed_paths} if failed_paths else {}
    return request_sync(job.source, requested_by=requested_by, **{**job.payload, **only})


def _create(workspace_id: Any, kind: str, **fields: Any) -> Job:
    job = Job.objects.create(workspace_id=workspace_id, kind=kind, **fields)
    hint_on_commit(job)
    return job
