"""Scene: Redis stops while all slots of a worker are busy, and jobs end while it is away, unacknowledged.

The worker has to take up new jobs soon after Redis is back, before the supervisor finds it idle a minute
later.
"""

import os
import signal
from collections.abc import Iterator

from ingest.models import Job, JobState
from tests.drills.crash.corpus import Corpus
from tests.drills.crash.stall import long_text
from tests.drills.crash.tenant import Tenant
from tests.support.patience import patiently
from tests.support.stack import GaveUp, Stack, eventually

_LIMIT_S = 60.0
_RECOVERY_LIMIT_S = 120.0
# Log line of the supervisor in that case.
_STUCK = "worker has work and does none"


def outlive_redis(stack: Stack, corpus: Corpus) -> Iterator[str]:
    """Play the scene, and yield the violations."""
    corpus.files = {f"{folder.name}/long.md": long_text() for folder in corpus.folders}
    corpus.write()
    tenant = Tenant(stack.url, "outage", corpus.folders)
    eventually(lambda: {"worker", "redis"} <= stack.pids().keys(), "the worker and Redis run")
    supervisor = stack.pids()["supervisor"]
    helped = stack.log("up", 10_000).count(_STUCK)
    jobs = tenant.request_syncs()
    eventually(lambda: _count(jobs, JobState.RUNNING) == 2, "every slot is busy", _LIMIT_S, poll_s=0.01)
    os.kill(supervisor, signal.SIGSTOP)
    try:
        os.kill(stack.pids()["redis"], signal.SIGKILL)
        eventually(lambda: _count(jobs, JobState.SUCCEEDED), "work ends without Redis", _LIMIT_S)
        eventually(
            lambda: "Couldn't ack" in stack.log("worker", 500), "its end can't be acknowledged", _LIMIT_S
        )
    finally:
        os.kill(supervisor, signal.SIGCONT)
    try:
        jobs += tenant.request_syncs()
        done = len({job.pk for job in jobs})
        eventually(lambda: _count(jobs, JobState.SUCCEEDED) == done, "all work is done", _RECOVERY_LIMIT_S)
    except GaveUp as error:
        yield f"the worker did not reconnect: {error}"
    if stack.log("up", 10_000).count(_STUCK) > helped:
        yield "the supervisor had to restart the worker"


def _count(jobs: list[Job], state: JobState) -> int:
    rows = Job.objects.filter(pk__in=[job.pk for job in jobs], state=state)
    return patiently(rows.count)
