"""Scene: a worker pauses in the middle of a job for longer than its lease, and then resumes.

Meanwhile another worker has finished the job, with files that have changed since. What the first one still
has in memory is outdated, and must not be written.
"""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.db import connection

from ingest.models import Job, JobItem
from tests.drills.crash.corpus import Corpus
from tests.drills.crash.invariants import documents_equal_what_was_given, jobs_ended_once
from tests.drills.crash.tenant import Tenant
from tests.drills.crash.victims import worker_family
from tests.support.patience import patiently
from tests.support.stack import Stack, eventually

_LIMIT_S = 60.0
# Paragraphs that take long enough to parse for the worker to be stopped between two transactions.
_PARAGRAPHS = 40_000
_REFUSALS = ("is no longer ours", "has gone to another worker", "were finished by another worker")
_IN_TRANSACTION = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'"


def stall_a_worker(stack: Stack, corpus: Corpus) -> Iterator[str]:
    """Play the scene, and yield the violations."""
    corpus.files = {"folder-0/long.md": long_text()}
    corpus.write()
    tenant = Tenant(stack.url, "stall", corpus.folders)
    eventually(lambda: "worker" in stack.pids(), "the worker runs")
    (job,) = tenant.request_syncs()
    eventually(lambda: _has_begun(job), "the job has begun its item", _LIMIT_S, poll_s=0.01)
    with _pause(worker_family(stack)):
        if _has_ended(job):
            raise RuntimeError("The document was parsed too soon; raise _PARAGRAPHS.")
        corpus.files = {"folder-0/long.md": "# Short\n\nThe file has changed since the job began.\n"}
        corpus.write()
        with _second_worker(stack):
            eventually(lambda: _has_ended(job), "another worker takes the job over", _LIMIT_S)
            ended = Job.objects.get(pk=job.pk)
    _await_late_write(stack, job)
    yield from documents_equal_what_was_given(tenant, tenant.files_by_source(corpus.files))
    yield from jobs_ended_once(tenant)
    now = Job.objects.get(pk=job.pk)
    if (now.attempt, now.finished_at, now.items_done) != (ended.attempt, ended.finished_at, ended.items_done):
        yield f"the job ended twice: {ended.finished_at:%X.%f} and {now.finished_at:%X.%f}"


def _await_late_write(stack: Stack, job: Job) -> None:
    """Wait until the first worker has noticed the lost lease, or has written in spite of it."""
    before = Job.objects.values_list("items_done", "finished_at").get(pk=job.pk)

    def has_reacted() -> bool:
        now = Job.objects.values_list("items_done", "finished_at").get(pk=job.pk)
        return now != before or any(refusal in stack.log("worker", 200) for refusal in _REFUSALS)

    eventually(has_reacted, "the first worker goes on", _LIMIT_S)


def long_text() -> str:
    """Return a document that takes a second or so to parse."""
    paragraphs = (
        f"Paragraph {number} of the text as it was in the beginning." for number in range(_PARAGRAPHS)
    )
    return "# Long\n\n" + "\n\n".join(paragraphs)


def _has_begun(job: Job) -> bool:
    return patiently(lambda: JobItem.objects.filter(job=job.pk, attempts=1).exists())


def _has_ended(job: Job) -> bool:
    return patiently(lambda: Job.objects.get(pk=job.pk).is_finished)


@contextmanager
def _pause(pids: Sequence[int]) -> Iterator[None]:
    """Pause processes during the block, but never within a transaction, which Postgres would end."""
    _stop_between_transactions(pids)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def _stop_between_transactions(pids: Sequence[int]) -> None:
    while True:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(0.05)
        with connection.cursor() as cursor:
            if cursor.execute(_IN_TRANSACTION).fetchone() == (0,):
                return
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        time.sleep(0.02)


@contextmanager
def _second_worker(stack: Stack) -> Iterator[None]:
    """Run a worker as another node would."""
    log = Path(settings.KEBAB_DATA_DIR) / "logs" / "second-worker.log"
    with log.open("ab") as stream:
        queues = ("--queues", "ingest,mirror,maintenance")
        worker = stack.start("worker", "--name", "second", *queues, stdout=stream, stderr=stream)
    try:
        yield
    finally:
        worker.terminate()
        worker.wait(_LIMIT_S)
