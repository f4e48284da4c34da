"""Waiting for a job that somebody asked for just now, until what it wrote is searchable on this node."""

import time
from itertools import chain, repeat

from django.conf import settings

from ingest.jobs.queue.report import not_ingested, refused_item
from ingest.models import Job, JobState
from kebab.http.api.errors import NotFound, Unprocessable
from search.mirror import local_mirrors
from search.retrieval.errors import NotSearchableYet

# A short job is noticed at once, a long one asked after twenty times a second.
_FIRST_STEPS_S = (0.005, 0.005, 0.01, 0.01, 0.02, 0.03, 0.04)
_STEP_S = 0.05


def wait_until_searchable(job: Job) -> Job | None:
    """Return the job of an upload as it ended, once searches here find what it wrote.

    None when that takes longer than KEBAB_WAIT_LIMIT_S. Raises Unprocessable with the reason when the
    document was not ingested, NotFound when the workspace went.
    """
    deadline = time.monotonic() + settings.KEBAB_WAIT_LIMIT_S
    ended = _wait_for_end(job, deadline)
    if ended is None:
        return None
    _refuse_failure(ended)
    try:
        local_mirrors.wait_for_seq(
            ended.workspace_id, ended.seq or 0, limit_s=max(0.0, deadline - time.monotonic())
        )
    except NotSearchableYet:
        return None
    return ended


def _wait_for_end(job: Job, deadline: float) -> Job | None:
    rows = Job.objects.in_workspace(job.workspace_id).filter(pk=job.pk)
    for step_s in chain(_FIRST_STEPS_S, repeat(_STEP_S)):
        row = rows.first()
        if row is None:
            raise NotFound
        if row.is_finished:
            return row
        if time.monotonic() + step_s > deadline:
            return None
        time.sleep(step_s)
    return None


def _refuse_failure(job: Job) -> None:
    if job.state != JobState.SUCCEEDED:
        raise _not_ingested(job, f"its job {job.state}", job.error)
    refused = refused_item(job)
    if refused is not None:
        raise _not_ingested(job, refused.reason, refused.detail)


def _not_ingested(job: Job, reason: str, detail: str) -> Unprocessable:
    return Unprocessable(not_ingested(job, reason, detail), code="not_ingested")
