"""Wait of a request for its job, until the job's writes are searchable on this node."""

import time
from itertools import chain, repeat

from django.conf import settings

from ingest.jobs.queue.report import refusal_message, refused_item
from ingest.models import Job, JobState
from kebab.database.querysets import first_or_not_found
from kebab.errors import Unprocessable
from search.mirror import local_mirrors
from search.retrieval.errors import NotSearchableYet

# Poll intervals: a short job is noticed at once, a long one is polled twenty times a second.
_FIRST_STEPS_S = (0.005, 0.005, 0.01, 0.01, 0.02, 0.03, 0.04)
_STEP_S = 0.05


def wait_until_searchable(job: Job, *, limit_s: float | None = None) -> Job | None:
    """Wait until an upload's job has ended and its writes are searchable here; return the ended job.

    None when that takes longer than `limit_s`, or KEBAB_WAIT_LIMIT_S. Raises Unprocessable with the reason
    when the document was not ingested, NotFound when the workspace was deleted.
    """
    deadline = time.monotonic() + (settings.KEBAB_WAIT_LIMIT_S if limit_s is None else limit_s)
    ended_job = _wait_for_end(job, deadline)
    if ended_job is None:
        return None
    if ended_job.state != JobState.SUCCEEDED:
        raise _refusal(ended_job, f"its job {ended_job.state}", ended_job.error)
    refused = refused_item(ended_job)
    if refused is not None:
        raise _refusal(ended_job, refused.reason, refused.detail)
    try:
        local_mirrors.wait_for_seq(
            ended_job.workspace_id, ended_job.seq or 0, limit_s=max(0.0, deadline - time.monotonic())
        )
    except NotSearchableYet:
        return None
    return ended_job


def _wait_for_end(job: Job, deadline: float) -> Job | None:
    rows = Job.objects.in_workspace(job.workspace_id).filter(pk=job.pk)
    for step_s in chain(_FIRST_STEPS_S, repeat(_STEP_S)):
        row = first_or_not_found(rows)
        if row.is_finished:
            return row
        if time.monotonic() + step_s > deadline:
            return None
        time.sleep(step_s)
    return None


def _refusal(job: Job, reason: str, detail: str) -> Unprocessable:
    return Unprocessable(refusal_message(job, reason, detail), code="not_ingested")
