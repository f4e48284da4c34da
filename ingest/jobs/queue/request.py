"""Requests for jobs. Each is a row first; once that is committed, a hint wakes a worker."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from ingest.chunking.types import CHUNKER_VERSION
from ingest.errors import JobNotOpen
from ingest.jobs.queue.hints import hint_on_commit
from ingest.jobs.queue.job_events import publish_job_ends
from ingest.models import OPEN_STATES, UPLOAD_KINDS, Job, JobItem, JobKind, JobState
from kebab.observability import tracing
from kebab.observability.log_formats import request_id
from search.corpus.chunk_rows import insert_rows
from search.evaluation.runs import end_run, reopen_run
from search.libraries.source_stats import refresh_upload_stats
from search.models import Run, RunState, RunTopic, Source, SourceKind, SourceVersion


def request_sync(
    source: Source,
    *,
    requested_by: str = "",
    version: str = "",
    only_paths: Sequence[str] | None = None,
    embed: bool = True,
) -> Job:
    """Return the job that will sync a version of `source`; '' is the default version.

    An equal request that comes before an open sync has listed the source joins that sync; any other waits
    behind it. A sync of some paths (`only_paths`) retries those that failed before, a whole sync doesn't, so
    neither can replace the other. Raises Source.DoesNotExist when the source is gone.
    """
    # Only what differs from a plain sync, so that equal syncs have equal payloads.
    payload: dict[str, Any] = {} if embed else {"embed": False}
    if version:
        payload["version"] = version
    if only_paths is not None:
        payload["only_paths"] = list(only_paths)
    with transaction.atomic():
        # Requests for one source run one after the other, so that the second finds the job of the first.
        lock_source(source)
        return _joinable_sync(source, payload) or create_source_job(
            source, JobKind.SYNC_SOURCE, payload, requested_by=requested_by
        )


def _joinable_sync(source: Source, payload: Mapping[str, Any]) -> Job | None:
    same = Job.objects.in_workspace(source.workspace_id).filter(
        source=source, kind=JobKind.SYNC_SOURCE, state__in=OPEN_STATES, payload=payload
    )
    return same.filter(cancel_requested=False, discovered_at=None).select_for_update().first()


def request_document(
    source: Source, payload: Mapping[str, Any], *, requested_by: str = "", batch: UUID | None = None
) -> Job:
    """Return the job that will ingest one uploaded document; `payload` names `path`, `version`, `blob`."""
    with transaction.atomic():
        job = create_source_job(
            source,
            JobKind.INGEST_DOCUMENT,
            payload,
            items_total=1,
            discovered_at=timezone.now(),
            requested_by=requested_by,
            batch=batch,
        )
        JobItem.objects.create(
            workspace_id=source.workspace_id, job=job, path=payload["path"], action="ingest"
        )
    return job


def request_members(
    source: Source,
    kind: JobKind,
    payload: Mapping[str, Any],
    items: Sequence[JobItem],
    *,
    requested_by: str = "",
    batch: UUID | None = None,
) -> Job:
    """Return the job that will ingest documents with blobs of their own: `items` with path, blob, record.

    `payload` names their `version`, the `blob` of their pack, '' for none, and the `prefix` of their paths.
    """
    with transaction.atomic():
        job = create_source_job(
            source,
            kind,
            payload,
            items_total=len(items),
            discovered_at=timezone.now(),
            requested_by=requested_by,
            batch=batch,
        )
        for item in items:
            item.workspace_id, item.job, item.action = source.workspace_id, job, "ingest"
        insert_rows(items)
    return job


def request_archive(
    source: Source, payload: Mapping[str, Any], *, requested_by: str = "", batch: UUID | None = None
) -> Job:
    """Return the job that will ingest an uploaded archive.

    `payload` names its `blob` and `version`, its documents' `prefix` and, for people, the `archive`.
    """
    return create_source_job(source, JobKind.INGEST_ARCHIVE, payload, requested_by=requested_by, batch=batch)


def request_rechunking(version: SourceVersion, *, requested_by: str = "") -> Job:
    """Return the job that will chunk those documents of a version again that have another chunker version."""
    payload = {"version": version.tag, "prefix": "", "chunker": CHUNKER_VERSION}
    return create_source_job(version.source, JobKind.RECHUNK, payload, requested_by=requested_by)


def request_restating(
    version: SourceVersion, path: str, stated: Mapping[str, Any], *, requested_by: str = ""
) -> Job:
    """Return the job that will ingest the document at `path` again, with the fields `stated` about it."""
    payload = {"version": version.tag, "prefix": "", "path": path, **stated}
    return create_source_job(version.source, JobKind.RECHUNK, payload, requested_by=requested_by)


def request_default_trust(source: Source, *, requested_by: str = "") -> Job:
    """Return the job that will give the source's documents its default trust, without reading them."""
    payload = {"version": "", "prefix": "", "embed": False, "default_trust": True}
    return create_source_job(source, JobKind.RECHUNK, payload, requested_by=requested_by)


def request_gate(workspace_id: Any, payload: Mapping[str, Any], *, requested_by: str = "") -> Job:
    """Return the job that will judge other settings by the golden queries.

    `payload` names the `settings` ({}: those there are, with chunks of older versions replaced), whether to
    change to them (`switch`), even if they are worse (`force`).
    """
    return create_job(workspace_id, JobKind.GATE, payload=dict(payload), requested_by=requested_by)


def request_embedding(
    workspace_id: Any, *, requested_by: str = "", at_once: bool = False, batch: UUID | None = None
) -> Job:
    """Return the job that will embed all chunks without a vector; an open job will run once more at its end.

    With `at_once` a job that waits for its embedder becomes due now. A new job belongs to `batch`.
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
                return create_job(workspace_id, JobKind.EMBED, requested_by=requested_by, batch=batch)
        except IntegrityError:
            open_jobs.update(rerun_requested=True)
            return open_jobs.get()


def request_evaluation(run: Run, *, requested_by: str = "") -> Job:
    """Return the job that will evaluate the topics that `run` has not evaluated yet, and queue the run."""
    pending = RunTopic.objects.in_workspace(run.workspace_id).filter(run=run.pk, ranking__isnull=True)
    with transaction.atomic():
        job = create_job(
            run.workspace_id,
            JobKind.EVALUATE,
            payload={"run": str(run.pk)},
            items_total=pending.count(),
            requested_by=requested_by,
        )
        reopen_run(run, job.pk)
    return job


def request_source_deletion(source: Source, *, requested_by: str = "") -> Job:
    """Return the job that will delete `source` with all its documents; cancel its open jobs.

    Raises Source.DoesNotExist when it was deleted meanwhile.
    """
    with transaction.atomic():
        lock_source(source)
        jobs = Job.objects.in_workspace(source.workspace_id).filter(source=source)
        _cancel_open_jobs(jobs)
        jobs.filter(needs_attention=True).update(needs_attention=False)
        payload = {"title": source.title or source.key}
        return create_source_job(source, JobKind.DELETE_SOURCE, payload, requested_by=requested_by)


def request_version_deletion(source: Source, tag: str, *, requested_by: str = "") -> Job:
    """Return the job that will delete the version `tag` with its documents; cancel its open jobs.

    Raises Source.DoesNotExist when the source was deleted meanwhile.
    """
    with transaction.atomic():
        lock_source(source)
        jobs = Job.objects.in_workspace(source.workspace_id).filter(source=source)
        cancel_all(source, jobs.filter(payload__version=tag))
        return create_source_job(source, JobKind.DELETE_VERSION, {"version": tag}, requested_by=requested_by)


def cancel(job: Job) -> Job:
    """Cancel a job: at once when it is queued, within seconds when it runs. Raises JobNotOpen."""
    rows = Job.objects.in_workspace(job.workspace_id).filter(pk=job.pk)
    with transaction.atomic():
        source = _source_for_update(job.workspace_id, job.source_id).first()
        if _cancel_queued_jobs(rows):
            _update_upload_source(source)
            record_run_end(job, RunState.CANCELLED)
            return rows.get()
    if not rows.filter(state=JobState.RUNNING).update(cancel_requested=True, due_at=Now()):
        raise JobNotOpen(f"Job {job.pk} has already ended as {rows.get().state}; there is nothing to cancel.")
    hint_on_commit(job)  # a postponed job is ended by the worker that claims it
    return rows.get()


def cancel_all(source: Source, jobs: QuerySet[Job]) -> None:
    """Cancel the open ones among `jobs`, all of `source`; call `lock_source` before."""
    _cancel_open_jobs(jobs)
    _update_upload_source(source)


def _cancel_open_jobs(jobs: QuerySet[Job]) -> None:
    _cancel_queued_jobs(jobs)
    jobs.filter(state=JobState.RUNNING).update(cancel_requested=True, due_at=Now())


def _cancel_queued_jobs(jobs: QuerySet[Job]) -> int:
    queued = list(jobs.filter(state=JobState.QUEUED).select_for_update())
    publish_job_ends(queued, JobState.CANCELLED)
    rows = jobs.filter(pk__in=[job.pk for job in queued])
    return rows.update(state=JobState.CANCELLED, cancel_requested=True, finished_at=Now())


def record_run_end(job: Job, state: str, error: str = "") -> None:
    """End the evaluation run of the job, if it has one, in the same state; an ended run stays as it is."""
    if job.kind != JobKind.EVALUATE:
        return
    runs = Run.objects.in_workspace(job.workspace_id).filter(pk=job.payload["run"], job_id=job.pk)
    for run in runs:
        end_run(run, RunState(state), error)


def _update_upload_source(source: Source | None) -> None:
    if source is not None and source.kind == SourceKind.UPLOAD:
        update_upload_source(source.workspace_id, source.pk)


def lock_source(source: Source) -> None:
    """Lock the source; before its jobs, as their workers do, since another order could deadlock.

    Raises Source.DoesNotExist when it is gone.
    """
    _source_for_update(source.workspace_id, source.pk).get()


def _source_for_update(workspace_id: Any, source_id: Any) -> QuerySet[Source]:
    return Source.objects.in_workspace(workspace_id).filter(pk=source_id).select_for_update(no_key=True)


# Both times come from Postgres' clock alone.
_BY_POSTGRES = ("due_at", "created_at")


def create_job(workspace_id: Any, kind: str, **fields: Any) -> Job:
    """Create a job, and wake a worker once it is committed."""
    causes = {"request_id": request_id(), "traceparent": tracing.traceparent()}
    job = Job.objects.create(workspace_id=workspace_id, kind=kind, **causes, **fields)
    job.refresh_from_db(fields=_BY_POSTGRES)
    hint_on_commit(job)
    return job


def create_source_job(source: Source, kind: JobKind, payload: Mapping[str, Any], **fields: Any) -> Job:
    """Create a job of a source, as `create_job` does."""
    return create_job(source.workspace_id, kind, source=source, payload=dict(payload), **fields)


def update_upload_source(workspace_id: uuid.UUID, source_id: uuid.UUID, *, is_indexed: bool = False) -> None:
    """Update the state of an upload source, in the transaction in which one or more of its uploads end.

    `is_indexed` when one has succeeded. The source is locked: of uploads that end concurrently the last one
    finds none that is open.
    """
    uploads = Job.objects.in_workspace(workspace_id).filter(kind__in=UPLOAD_KINDS, source=source_id)
    more_follow = uploads.filter(state__in=OPEN_STATES).exists()
    refresh_upload_stats(workspace_id, source_id, is_indexed=is_indexed, more_follow=more_follow)
