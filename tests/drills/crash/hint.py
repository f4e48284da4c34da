"""Scene: the only hint of a job is lost, as when a worker dies between taking and recording it."""

import os
import signal
from collections.abc import Iterator

import redis
from django.conf import settings

from ingest.models import Job, JobState
from kebab.stack.servers.addresses import redis_client_url
from tests.drills.crash.corpus import Corpus
from tests.drills.crash.tenant import Tenant
from tests.drills.crash.victims import worker_family
from tests.support.patience import patiently
from tests.support.stack import GaveUp, Stack, eventually


def lose_a_hint(stack: Stack, corpus: Corpus, limit_s: float) -> Iterator[str]:
    """Play the scene, and yield the violations: the job has to be found within `limit_s`."""
    tenant = Tenant(stack.url, "lost-hint", corpus.folders)
    eventually(lambda: "worker" in stack.pids(), "the worker runs")
    worker = worker_family(stack)
    for pid in worker:
        os.kill(pid, signal.SIGSTOP)
    jobs = tenant.request_syncs()
    _empty_redis()
    os.kill(worker[0], signal.SIGKILL)
    try:
        eventually(lambda: all(_is_done(job) for job in jobs), "the job is found again", limit_s)
    except GaveUp:
        states = [patiently(lambda job=job: Job.objects.get(pk=job.pk).state) for job in jobs]
        yield f"a job whose hint was lost is {', '.join(states)} after {limit_s:.0f} s"


def _is_done(job: Job) -> bool:
    return patiently(lambda: Job.objects.get(pk=job.pk).state) == JobState.SUCCEEDED


def _empty_redis() -> None:
    with redis.Redis.from_url(redis_client_url(settings.REDIS_URL), socket_timeout=5) as client:
        patiently(client.flushall)
