"""Asking for work. Each request is a row first; a worker is woken once that is committed."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from ingest.errors import JobNotOpen
from ingest.jobs.kinds.upload_completion import note_ended_uploads
from ingest.jobs.queue.hints import hint_on_commit
from ingest.jobs.queue.retention import hold_kept, is_by_members, unfinished, why_not_kept
from ingest.models import OPEN_STATES, UPLOAD_KINDS, ItemState, Job, JobItem, JobKind, JobState
from kebab.observability import tracing
from kebab.observability.log_context import request_id
from search.evaluation.runs import end_run, reopen_run
from search.models import Run, RunState, RunTopic, Source, SourceKind, SourceVersion


def request_sync(
    source: Source,
    *,
    requested_by: str = "",
    version: str = "",
    only_paths: Sequence[str] | None = None,
    embed: bool = True,
) -> Job:
    """Return the job that will bring a version of `source` up to date, '' being the default one.

    A request for the same work that comes before an open sync has listed the source joins it; any other
    waits behind it. A sync of some paths (`only_paths`) tries them whatever is remembered of them, one of all
    doesn't, so that neither stands for the other. Raises Source.DoesNotExist when the source is gone.
    """
    payload = _sync_payload(version, only_paths, embed)
    with transaction.atomic():
        # Requests for one source come one by one, so that the second finds what the first made.
        hold_source(source)
        return _joinable_sync(source, payload) or _create(
            source.workspace_id,
            JobKind.SYNC_SOURCE,
            source=source,
            payload=payload,
            requested_by=requested_by,
        )


def _sync_payload(version: str, only_paths: Sequence[str] | None, embed: bool) -> dict[str, Any]:
    """Return what differs from a plain sync, so that the same work has the same payload."""
    payload: dict[str, Any] = {} if embed else {"embed": False}
    if version:
        payload["version"] = version
    if only_paths is not None:
        payload["only_paths"] = list(only_paths)
    return payload


def _joinable_sync(source: Source, payload: Mapping[str, Any]) -> Job | None:
    same = Job.objects.in_workspace(source.workspace_id).filter(
        source=source, kind=JobKind.SYNC_SOURCE, state__in=OPEN_STATES, payload=payload
    )
    return same.filter(cancel_requested=False, discovered_at=None).select_for_update().first()


def request_document(source: Source, payload: Mapping[str, Any], *, requested_by: str = "") -> Job:
    """Return the job that will ingest one uploaded document; `payload` names `path`, `version`, `blob`."""
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


def request_archive(source: Source, payload: Mapping[str, Any], *, requested_by: str = "") -> Job:
    """Return the job that will ingest an uploaded archive.

    `payload` names its `blob` and `version`, its documents' `prefix` and, for people, the `archive`.
    """
    return _create(
        source.workspace_id,
        JobKind.INGEST_ARCHIVE,
        source=source,
        payload=dict(payload),
        requested_by=requested_by,
    )


def request_rechunking(version: SourceVersion, *, requested_by: str = "") -> Job:
    """Return the job that will cut those uploads of a version again that are cut otherwise than asked."""
    return _create(
        version.workspace_id,
        JobKind.RECHUNK,
        source=version.source,
        payload={"version": version.tag, "prefix": ""},
        requested_by=requested_by,
    )


def request_gate(workspace_id: Any, payload: Mapping[str, Any], *, requested_by: str = "") -> Job:
    """Return the job that will have the golden queries say what they think of other settings.

    `payload` names the `settings`, whether they are to be had (`switch`), and in spite of all (`force`).
    """
    return _create(workspace_id, JobKind.GATE, payload=dict(payload), requested_by=requested_by)


def request_embedding(workspace_id: Any, *, requested_by: str = "", at_once: bool = False) -> Job:
    """Return the job that will embed what lacks a vector; an open one is told to look again at its end.

    With `at_once` one that waits for its embedder does so no longer.
    """
    with transaction.atomic():
        open_jobs = Job.objects.in_workspace(workspace_id).filter(kind=JobKind.EMBED, state__in=OPEN_STATES)
        job = open_jobs.select_for_update().first()
        if job is not None:
            due = {"due_at": Now()} if at_once else {}
            open_jobs.filter(pk=job.pk).update(rerun_requested=True, **due)
            if at_once:
                hint_on_commit(job)
            return job
        try:
            with transaction.atomic():
                return _create(workspace_id, JobKind.EMBED, requested_by=requested_by)
        except IntegrityError:
            open_jobs.update(rerun_requested=True)
            return open_jobs.get()


def request_evaluation(run: Run, *, requested_by: str = "") -> Job:
    """Return the job that will ask the topics which `run` has not asked yet, and queue the run for it."""
    pending = RunTopic.objects.in_workspace(run.workspace_id).filter(run=run.pk, ranking__isnull=True)
    with transaction.atomic():
        job = _create(
            run.workspace_id,
            JobKind.EVALUATE,
            payload={"run": str(run.pk)},
            items_total=pending.count(),
            requested_by=requested_by,
        )
        reopen_run(run, job.pk)
    return job


def request_source_deletion(source: Source, *, requested_by: str = "") -> Job:
    """Return the job that will delete `source` with all its documents; its open jobs are cancelled.

    Raises Source.DoesNotExist when another has deleted it meanwhile.
    """
    with transaction.atomic():
        hold_source(source)
        _ask_for_ends(Job.objects.in_workspace(source.workspace_id).filter(source=source))
        return _create(source.workspace_id, JobKind.DELETE_SOURCE, source=source, requested_by=requested_by)


def request_version_deletion(source: Source, tag: str, *, requested_by: str = "") -> Job:
    """Return the job that will delete the version `tag` with its documents; its open jobs are cancelled.

    Raises Source.DoesNotExist when another has deleted the source meanwhile.
    """
    with transaction.atomic():
        hold_source(source)
        jobs = Job.objects.in_workspace(source.workspace_id).filter(source=source)
        cancel_all(source, jobs.filter(payload__version=tag))
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
    with transaction.atomic():
        source = _held(job.workspace_id, job.source_id).first()
        if _cancel_queued(rows):
            _note_ends(source)
            note_run_end(job, RunState.CANCELLED)
            return rows.get()
    if not rows.filter(state=JobState.RUNNING).update(cancel_requested=True, due_at=Now()):
        raise JobNotOpen(f"Job {job.pk} has already ended as {rows.get().state}; there is nothing to cancel.")
    hint_on_commit(job)  # it may have been put off: then whoever claims it ends it
    return rows.get()


def cancel_all(source: Source, jobs: QuerySet[Job]) -> None:
    """Ask for the end of those of `jobs`, all of `source`, that are open; call `hold_source` before."""
    _ask_for_ends(jobs)
    _note_ends(source)


def _ask_for_ends(jobs: QuerySet[Job]) -> None:
    _cancel_queued(jobs)
    jobs.filter(state=JobState.RUNNING).update(cancel_requested=True, due_at=Now())


def _cancel_queued(jobs: QuerySet[Job]) -> int:
    queued = jobs.filter(state=JobState.QUEUED)
    return queued.update(state=JobState.CANCELLED, cancel_requested=True, finished_at=Now())


def note_run_end(job: Job, state: str, error: str = "") -> None:
    """Bring the run that the job carries out, if it does, to the same end; one that has ended stays so."""
    if job.kind != JobKind.EVALUATE:
        return
    runs = Run.objects.in_workspace(job.workspace_id).filter(pk=job.payload["run"], job_id=job.pk)
    for run in runs:
        end_run(run, RunState(state), error)


def _note_ends(source: Source | None) -> None:
    if source is not None and source.kind == SourceKind.UPLOAD:
        note_ended_uploads(source.workspace_id, source.pk)


def retry(job: Job, *, requested_by: str = "") -> Job:
    """Return a new job over what failed in `job`: the failed items, or all of it unless it came to its end.

    Raises JobNotOpen when the job is still open, or nothing in it failed.
    """
    _refuse(_why_no_retry(job))
    return _again(job, list(_failed(job).order_by("id").values_list("path", flat=True)), requested_by)


def can_retry(job: Job) -> bool:
    """Return whether `retry` would give a job now."""
    return not _why_no_retry(job)


def _why_no_retry(job: Job) -> str:
    if not job.is_finished:
        return f"Job {job.pk} is still {job.state}; wait for its end or cancel it."
    if job.state == JobState.SUCCEEDED and not _failed(job).exists():
        return f"Nothing failed in job {job.pk}; there is nothing to retry."
    if job.kind == JobKind.EVALUATE:
        return _why_no_run(job, _runs(job).first())
    if job.source is None and job.kind not in (JobKind.EMBED, JobKind.GATE):
        return f"The source of job {job.pk} is gone; there is nothing to retry."
    return why_not_kept(job) if job.kind in UPLOAD_KINDS else ""


def _refuse(why: str) -> None:
    if why:
        raise JobNotOpen(why)


def _failed(job: Job) -> QuerySet[JobItem]:
    return JobItem.objects.in_workspace(job.workspace_id).filter(job=job, state=ItemState.FAILED)


@transaction.atomic
def _again(job: Job, failed_paths: list[str], requested_by: str) -> Job:
    if job.kind == JobKind.EMBED:
        return request_embedding(job.workspace_id, requested_by=requested_by, at_once=True)
    if job.kind == JobKind.EVALUATE:
        return _evaluation_again(job, requested_by)
    if job.kind == JobKind.GATE:
        return request_gate(job.workspace_id, job.payload, requested_by=requested_by)
    assert job.source is not None  # noqa: S101  # its caller has looked
    if job.kind == JobKind.DELETE_SOURCE:
        return request_source_deletion(job.source, requested_by=requested_by)
    if job.kind == JobKind.DELETE_VERSION:
        return request_version_deletion(job.source, job.payload["version"], requested_by=requested_by)
    if job.kind == JobKind.RECHUNK:
        return _create(
            job.workspace_id,
            JobKind.RECHUNK,
            source=job.source,
            payload=job.payload,
            requested_by=requested_by,
        )
    if job.kind in UPLOAD_KINDS:
        hold_kept(job)
        _refuse(why_not_kept(job))
    if job.kind == JobKind.INGEST_DOCUMENT:
        return request_document(job.source, {**job.payload, "anew": True}, requested_by=requested_by)
    if job.kind == JobKind.INGEST_ARCHIVE:
        return _archive_again(job, requested_by)
    # One that broke off has not come to all that it was to do.
    only = {"only_paths": failed_paths} if job.state == JobState.SUCCEEDED else {}
    return request_sync(job.source, requested_by=requested_by, **{**job.payload, **only})


def _evaluation_again(job: Job, requested_by: str) -> Job:
    """Return a job that goes on with the run: what it has asked it doesn't ask again."""
    run = _runs(job).select_for_update().first()
    _refuse(_why_no_run(job, run))
    assert run is not None  # noqa: S101  # else it is refused
    return request_evaluation(run, requested_by=requested_by)


def _runs(job: Job) -> QuerySet[Run]:
    return Run.objects.in_workspace(job.workspace_id).filter(pk=job.payload["run"])


def _why_no_run(job: Job, run: Run | None) -> str:
    if run is None:
        return f"The run of job {job.pk} is gone; there is nothing to retry."
    if run.state not in (RunState.FAILED, RunState.CANCELLED):
        return f"Its run is {run.state} under job {run.job_id}; there is nothing to retry."
    return ""


def _archive_again(job: Job, requested_by: str) -> Job:
    """Return a job over the members that are not done, whose bytes are kept, or over the archive if
    that is.
    """
    assert job.source is not None  # noqa: S101  # its caller has looked
    if not is_by_members(job):
        return request_archive(job.source, {**job.payload, "anew": True}, requested_by=requested_by)
    members = unfinished(JobItem.objects.in_workspace(job.workspace_id).filter(job=job))
    unfinished_items = list(members.order_by("id"))
    with transaction.atomic():
        again = _create(
            job.workspace_id,
            JobKind.INGEST_ARCHIVE,
            source=job.source,
            payload={**job.payload, "blob": "", "anew": True},
            items_total=len(unfinished_items),
            discovered_at=timezone.now(),
            requested_by=requested_by,
        )
        JobItem.objects.bulk_create(
            JobItem(workspace_id=job.workspace_id, job=again, path=item.path, action="ingest", blob=item.blob)
            for item in unfinished_items
        )
    return again


def hold_source(source: Source) -> None:
    """Lock the source before its jobs, as their workers do: two orders would be a deadlock.

    Raises Source.DoesNotExist when it is gone.
    """
    _held(source.workspace_id, source.pk).get()


def _held(workspace_id: Any, source_id: Any) -> QuerySet[Source]:
    return Source.objects.in_workspace(workspace_id).filter(pk=source_id).select_for_update(no_key=True)


# When a job was asked for is for one clock to say.
_BY_POSTGRES = ("due_at", "created_at")


def _create(workspace_id: Any, kind: str, **fields: Any) -> Job:
    causes = {"request_id": request_id(), "traceparent": tracing.traceparent()}
    job = Job.objects.create(workspace_id=workspace_id, kind=kind, **causes, **fields)
    job.refresh_from_db(fields=_BY_POSTGRES)
    hint_on_commit(job)
    return job
