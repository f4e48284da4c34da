"""Facts about a job, for `kebab inspect job`."""

from typing import Any

from ingest.jobs.queue.report import ingest_report
from ingest.models import READS_DOCUMENTS, ItemState, Job, JobItem
from kebab.cli.errors import CliError, Exit
from kebab.people.models import Workspace
from kebab.uuids import parse_uuid

_FIELDS = (
    "kind",
    "state",
    "attempt",
    "stalled_attempts",
    "cancel_requested",
    "items_done",
    "items_total",
    "bytes_done",
    "chunks_done",
    "calls",
    "current_path",
    "error",
    "seq",
    "requested_by",
    "created_at",
    "discovered_at",
    "started_at",
    "finished_at",
)
_MOST_FAILURES = 100


def find_job(workspace: Workspace, job_id: str) -> Job:
    """Return the job with this id. Raises CliError."""
    wanted = parse_uuid(job_id)
    jobs = Job.objects.in_workspace(workspace).select_related("source")
    job = None if wanted is None else jobs.filter(pk=wanted).first()
    if job is None:
        raise CliError(
            f"There is no job {job_id[:100]!r} in {workspace.slug}; see: kebab list jobs",
            code="not_found",
            exit_code=Exit.NOTHING,
        )
    return job


def job_facts(job: Job) -> dict[str, Any]:
    """Return a job with its report, if it reads documents, and its first hundred failed items."""
    failed = JobItem.objects.in_workspace(job.workspace_id).filter(job=job, state=ItemState.FAILED)
    return {
        "schema_version": "job_inspection.v1",
        "job": {
            "id": str(job.pk),
            "source": None if job.source is None else job.source.key,
            **{name: getattr(job, name) for name in _FIELDS},
        },
        "report": ingest_report(job) if job.kind in READS_DOCUMENTS else None,
        "failures": list(
            failed.order_by("id").values("path", "attempts", "reason", "detail")[:_MOST_FAILURES]
        ),
    }
