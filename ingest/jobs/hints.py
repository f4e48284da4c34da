"""Waking workers. A message in Redis is a hint with a job's id: lost, doubled or late, it does no harm.

At most twice as many hints as worker slots wait in a queue, chosen in turn over the workspaces: that is the
fairness between them. The sweep sends again what got lost.
"""

import logging
import uuid
from collections import defaultdict
from datetime import timedelta
from functools import cache
from itertools import chain, zip_longest

import redis
from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone
from kombu.exceptions import OperationalError

from ingest.models import Job, JobKind
from kebab.celery import app
from kebab.stack.addresses import redis_client_url

logger = logging.getLogger(__name__)

#: Celery task and queue by what a job does.
_EMBED = ("ingest.run_embedding", "embed")
_INGEST = ("ingest.run_job", "ingest")
# A job hinted this recently is left to the worker that the hint will reach.
_FRESH = timedelta(seconds=8)
# How many due jobs are looked at, per queue, to choose from.
_WINDOW = 500


def hint_on_commit(job: Job) -> None:
    """Wake a worker for `job` once the transaction that made it due is committed; never fails."""
    transaction.on_commit(lambda: _hint_if_room(job))


def hint_due_jobs() -> int:
    """Send hints for due jobs up to the queues' room, in turn over the workspaces; give how many.

    Without Redis there are none, and the next sweep tries again.
    """
    try:
        return sum(
            _fill_queue(task, queue, is_embedding=queue == "embed") for task, queue in (_INGEST, _EMBED)
        )
    except (redis.RedisError, OperationalError, OSError) as error:
        logger.warning("no hints, the next sweep will send them: %s", error)
        return 0


def _hint_if_room(job: Job) -> None:
    task, queue = _EMBED if job.kind == JobKind.EMBED else _INGEST
    try:
        if _room(queue) > 0:
            _send(task, queue, job.workspace_id, job.pk)
    except (redis.RedisError, OperationalError, OSError) as error:
        logger.warning("no hint for job %s, the sweep will send one: %s", job.pk, error)


def _fill_queue(task: str, queue: str, *, is_embedding: bool) -> int:
    room = _room(queue)
    if room <= 0:
        return 0
    due = Job.objects.all().due().order_by("due_at", "created_at")
    due = due.filter(kind=JobKind.EMBED) if is_embedding else due.exclude(kind=JobKind.EMBED)
    fresh = timezone.now() - _FRESH
    waiting = due.exclude(hinted_at__gt=fresh).values_list("workspace_id", "pk")[:_WINDOW]
    chosen = _in_turn(list(waiting))[:room]
    for workspace_id, job_id in chosen:
        _send(task, queue, workspace_id, job_id)
        Job.objects.in_workspace(workspace_id).filter(pk=job_id).update(hinted_at=Now())
    return len(chosen)


def _in_turn(waiting: list[tuple[uuid.UUID, uuid.UUID]]) -> list[tuple[uuid.UUID, uuid.UUID]]:
    by_workspace: dict[uuid.UUID, list[tuple[uuid.UUID, uuid.UUID]]] = defaultdict(list)
    for workspace_id, job_id in waiting:
        by_workspace[workspace_id].append((workspace_id, job_id))
    rounds = zip_longest(*by_workspace.values())
    return [entry for entry in chain.from_iterable(rounds) if entry is not None]


def _send(task: str, queue: str, workspace_id: uuid.UUID, job_id: uuid.UUID) -> None:
    app.send_task(task, args=[str(workspace_id), str(job_id)], queue=queue, retry=False, ignore_result=True)


def _room(queue: str) -> int:
    slots = 1 if queue == "embed" else settings.KEBAB_WORKER_SLOTS
    return 2 * slots - int(_redis().llen(queue))


@cache
def _redis() -> redis.Redis:
    return redis.Redis.from_url(
        redis_client_url(settings.REDIS_URL), socket_timeout=5, socket_connect_timeout=3
    )
