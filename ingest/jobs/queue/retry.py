"""Retries of ended jobs: a new job does what the other left."""

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from ingest.errors import JobNotOpen
from ingest.jobs.queue.request import (
    create_source_job,
    request_archive,
    request_document,
    request_embedding,
    request_evaluation,
    request_gate,
    request_source_deletion,
    request_sync,
    request_version_deletion,
)
from ingest.jobs.queue.retention import (
    hold_retained_blobs,
    is_retried_by_member,
    missing_upload_message,
    unfinished_items,
)
from ingest.models import UPLOAD_KINDS, ItemState, Job, JobItem, JobKind, JobState
from search.models import Run, RunState


@transaction.atomic
def retry(job: Job, *, requested_by: str = "") -> Job:
    """Return a new job for the failed items of `job`, or for all its items if it was broken off.

    An upload is retried in the same act.

    Raises JobNotOpen when the job is still open, or nothing in it failed.
    """
    _raise_if_refused(_retry_refusal(job))
    failed_paths = list(_failed_items(job).order_by("id").values_list("path", flat=True))
    again = _repeat_job(job, failed_paths, requested_by)
    superseded = {"refused_items": 0} if job.kind == JobKind.INGEST_DOCUMENT else {}
    rows = Job.objects.in_workspace(job.workspace_id).filter(pk=job.pk)
    rows.update(needs_attention=False, **superseded)
    return again


def can_retry(job: Job) -> bool:
    """Return whether `retry` would return a job now."""
    return not _retry_refusal(job)


def _retry_refusal(job: Job) -> str:
    if not job.is_finished:
        return f"Job {job.pk} is still {job.state}; wait for its end or cancel it."
    if job.state == JobState.SUCCEEDED and not _failed_items(job).exists():
        return f"Nothing failed in job {job.pk}; there is nothing to retry."
    if job.kind == JobKind.EVALUATE:
        return _run_refusal(job, _evaluation_runs(job).first())
    if job.source is None and job.kind not in (JobKind.EMBED, JobKind.GATE):
        return f"The source of job {job.pk} is gone; there is nothing to retry."
    return missing_upload_message(job) if job.kind in UPLOAD_KINDS else ""


def _raise_if_refused(why: str) -> None:
    if why:
        raise JobNotOpen(why)


def _failed_items(job: Job) -> QuerySet[JobItem]:
    return JobItem.objects.of_job(job).filter(state=ItemState.FAILED)


def _repeat_job(job: Job, failed_paths: list[str], requested_by: str) -> Job:
    if job.kind == JobKind.EMBED:
        return request_embedding(job.workspace_id, requested_by=requested_by, at_once=True)
    if job.kind == JobKind.EVALUATE:
        return _repeat_evaluation(job, requested_by)
    if job.kind == JobKind.GATE:
        return request_gate(job.workspace_id, job.payload, requested_by=requested_by)
    assert job.source is not None  # noqa: S101  # the caller has checked
    if job.kind == JobKind.DELETE_SOURCE:
        return request_source_deletion(job.source, requested_by=requested_by)
    if job.kind == JobKind.DELETE_VERSION:
        return request_version_deletion(job.source, job.payload["version"], requested_by=requested_by)
    if job.kind == JobKind.RECHUNK:
        return create_source_job(job.source, JobKind.RECHUNK, job.payload, requested_by=requested_by)
    if job.kind in UPLOAD_KINDS:
        hold_retained_blobs(job)
        _raise_if_refused(missing_upload_message(job))
    if job.kind == JobKind.INGEST_DOCUMENT:
        return request_document(
            job.source, {**job.payload, "anew": True}, requested_by=requested_by, batch=job.batch or job.pk
        )
    if job.kind == JobKind.INGEST_ARCHIVE:
        return _repeat_archive(job, requested_by)
    # A job that was broken off has not tried all its paths.
    only = {"only_paths": failed_paths} if job.state == JobState.SUCCEEDED else {}
    return request_sync(job.source, requested_by=requested_by, **{**job.payload, **only})


def _repeat_evaluation(job: Job, requested_by: str) -> Job:
    """Return a job that continues the evaluation run: topics that have a ranking are not evaluated again."""
    run = _evaluation_runs(job).select_for_update().first()
    _raise_if_refused(_run_refusal(job, run))
    assert run is not None  # noqa: S101  # refused above otherwise
    return request_evaluation(run, requested_by=requested_by)


def _evaluation_runs(job: Job) -> QuerySet[Run]:
    return Run.objects.in_workspace(job.workspace_id).filter(pk=job.payload["run"])


def _run_refusal(job: Job, run: Run | None) -> str:
    if run is None:
        return f"The run of job {job.pk} is gone; there is nothing to retry."
    if run.state not in (RunState.FAILED, RunState.CANCELLED):
        return f"Its run is {run.state} under job {run.job_id}; there is nothing to retry."
    return ""


def _repeat_archive(job: Job, requested_by: str) -> Job:
    """Return a job for the unfinished members, whose blobs are retained, or for the archive if that is."""
    assert job.source is not None  # noqa: S101  # the caller has checked
    if not is_retried_by_member(job):
        return request_archive(
            job.source, {**job.payload, "anew": True}, requested_by=requested_by, batch=job.batch or job.pk
        )
    members = unfinished_items(JobItem.objects.of_job(job))
    items_to_repeat = list(members.order_by("id"))
    with transaction.atomic():
        again = create_source_job(
            job.source,
            JobKind.INGEST_ARCHIVE,
            {**job.payload, "blob": "", "anew": True},
            items_total=len(items_to_repeat),
            discovered_at=timezone.now(),
            requested_by=requested_by,
            batch=job.batch or job.pk,
        )
        JobItem.objects.bulk_create(
            JobItem(workspace_id=job.workspace_id, job=again, path=item.path, action="ingest", blob=item.blob)
            for item in items_to_repeat
        )
    return again
