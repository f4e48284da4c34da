"""Evaluation runs and verdicts on settings, requested by a caller and recorded in the audit log."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from django.db import transaction

from ingest.errors import JobNotOpen
from ingest.jobs.queue.request import cancel, request_evaluation, request_gate
from ingest.models import Job
from ingest.quality_gate.gate import refuse_untested
from ingest.quality_gate.older_chunks import UNCONFIRMED
from kebab.errors import InvalidRequest, Unprocessable
from kebab.identity.caller import Access
from kebab.people import audit
from kebab.people.workspace_settings.hooks import changed_settings, proposed_workspace
from kebab.people.workspace_settings.registry import check_rights, summarise
from search.evaluation.metrics import DEFAULT_MEASURES
from search.evaluation.runs import delete_run, open_run, repeat_run
from search.evaluation.settings import RunSettings
from search.evaluation.topic_sets import judged_topics
from search.models import Run


def request_run(
    access: Access,
    *,
    topic_set: str,
    settings: RunSettings,
    measures: Iterable[str] = DEFAULT_MEASURES,
    name: str = "",
) -> Run:
    """Return a queued run over the set's present topics, which a job will carry out.

    Raises Unprocessable for a set without a topic that the caller may see, InvalidMeasure.
    """
    topics = judged_topics(access, topic_set)
    if not topics:
        raise Unprocessable(
            f"There is no topic in the set {topic_set!r}; keep some first, by POST …/eval/topics.",
            code="no_topics",
        )
    with transaction.atomic():
        run = open_run(access, topics, settings, topic_set=topic_set, measures=measures, name=name)
        return _queue_run(access, run)


def request_repetition(access: Access, run: Run, *, name: str = "") -> Run:
    """Return a queued run of the same topics, judgements, settings and measures; a job will carry it out."""
    with transaction.atomic():
        return _queue_run(access, repeat_run(access, run, name=name))


def _queue_run(access: Access, run: Run) -> Run:
    job = request_evaluation(run, requested_by=access.actor)
    audit.record(access, "run.asked", str(run.pk), set=run.topic_set, job=str(job.pk))
    run.refresh_from_db()
    return run


def cancel_and_delete_run(access: Access, run: Run) -> None:
    """Delete a run with its results; a job that carries it out is cancelled."""
    jobs = Job.objects.in_workspace(access.workspace)
    job = None if run.job_id is None else jobs.filter(pk=run.job_id).first()
    if job is not None:
        # In a transaction of its own: a worker locks the run's topics before the job.
        with suppress(JobNotOpen):
            cancel(job)
    delete_run(access, run.pk)


def request_verdict(access: Access, *, settings: Mapping[str, Any], switch: bool, force: bool) -> Job:
    """Return the job that judges `settings` by the golden queries, and with `switch` changes to them.

    Without settings it replaces chunks of an older version. It acts as the caller, with the rights that they
    have when it runs. Raises Forbidden for settings that the caller may not change, InvalidRequest, and
    ChangeUntested for those that can't be judged.
    """
    check_rights(access, settings)
    if not (switch and force):
        if not settings:
            raise InvalidRequest(UNCONFIRMED)
        proposed = proposed_workspace(access.workspace, settings)
        refuse_untested(access.workspace, changed_settings(access.workspace, proposed))
    payload = {"settings": dict(settings), "switch": switch, "force": force, "creator": access.identity}
    with transaction.atomic():
        job = request_gate(access.workspace.pk, payload, requested_by=access.actor)
        facts = {"settings": summarise(settings), "switch": switch, "force": force}
        audit.record(access, "gate.asked", str(job.pk), **facts)
    return job
