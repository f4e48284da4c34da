"""Events for webhooks about the end of jobs."""

from collections.abc import Sequence

from ingest.models import Job, JobState
from kebab.webhooks.endpoints import Event, derive_event_id, publish
from kebab.webhooks.models import EventType


def publish_job_ends(jobs: Sequence[Job], state: JobState, error: str = "") -> None:
    """Queue the events of jobs of one workspace that end as `state`, in the transaction of their end."""
    if jobs:
        publish(jobs[0].workspace_id, [_event(job, state, error) for job in jobs])


def _event(job: Job, state: JobState, error: str) -> Event:
    return Event(
        type=EventType.JOB_FAILED if state == JobState.FAILED else EventType.JOB_FINISHED,
        subject=str(job.pk),
        data={
            "job": str(job.pk),
            "kind": job.kind,
            "state": state.value,
            "path": job.payload.get("path", job.payload.get("archive")),
            "error": error or None,
        },
        id=derive_event_id("job", job.pk),
    )
