"""Waking workers. A message in Redis is a hint with a job's id: lost, doubled or late, it does no harm.

At most twice as many hints as worker slots wait in a queue, chosen in turn over the workspaces: that is the
fairness between them. The sweep sends again what got lost.
"""

import logging
import uuid
from dataclasses import dataclass
from datetime import timedelta
from functools import cache

import redis
from django.conf import settings
from django.db import transaction
from django.db.models import Window
from django.db.models.functions import Now, RowNumber
from django.utils import timezone
from kombu.exceptions import OperationalError

from ingest.models import Job, JobKind
from kebab.celery import app
from kebab.stack.addresses import redis_client_url
from kebab.tenancy.acting import acting_everywhere

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Queue:
    """A queue, the Celery task of its messages, and whether its jobs embed."""

    name: str
    task: str
    is_embedding: bool

    @property
    def room(self) -> int:
        """How many more hints are of use in it."""
        slots = 1 if self.is_embedding else settings.KEBAB_WORKER_SLOTS
        return 2 * slots - int(_redis().llen(self.name))

    def send(self, workspace_id: uuid.UUID, job_id: uuid.UUID) -> None:
        arguments = [str(workspace_id), str(job_id)]
        app.send_task(self.task, args=arguments, queue=self.name, retry=False, ignore_result=True)


_EMBED = _Queue(name="embed", task="ingest.run_embedding", is_embedding=True)
_INGEST = _Queue(name="ingest", task="ingest.run_job", is_embedding=False)
# A job hinted this recently is left to the worker that the hint will reach.
_FRESH = timedelta(seconds=8)
# More requests for a sync than this in the queue are no use.
_SYNCS_WAITING = 20
# The first job of each workspace, then the second of each, and so on: in SQL, so that no backlog hides
# the jobs of others.
_TURN = Window(RowNumber(), partition_by="workspace_id", order_by=("due_at", "created_at"))


def hint_on_commit(job: Job) -> None:
    """Wake a worker for `job` once the transaction that made it due is committed; never fails."""
    transaction.on_commit(lambda: _hint_if_room(job))


def hint_due_jobs() -> int:
    """Send hints for due jobs up to the queues' room, in turn over the workspaces; give how many.

    Without Redis there are none, and the next sweep tries again.
    """
    try:
        with acting_everywhere():
            return sum(map(_fill, (_INGEST, _EMBED)))
    except (redis.RedisError, OperationalError, OSError) as error:
        logger.warning("no hints, the next sweep will send them: %s", error)
        return 0


def ask_for_sync(workspace_id: uuid.UUID) -> None:
    """Have this node's mirror of a workspace built or brought up to date soon; never fails.

    A node follows only the workspaces it has a mirror of: without this, the first search would wait for it.
    """
    try:
        if _redis().llen("mirror") < _SYNCS_WAITING:
            app.send_task("search.sync_mirror", args=[str(workspace_id)], queue="mirror", retry=False)
    except (redis.RedisError, OperationalError, OSError) as error:
        logger.warning("no sync of %s was asked for, the mirror process polls: %s", workspace_id, error)


def _hint_if_room(job: Job) -> None:
    queue = _EMBED if job.kind == JobKind.EMBED else _INGEST
    try:
        if queue.room > 0:
            queue.send(job.workspace_id, job.pk)
    except (redis.RedisError, OperationalError, OSError) as error:
        logger.warning("no hint for job %s, the sweep will send one: %s", job.pk, error)


def _fill(queue: _Queue) -> int:
    room = queue.room
    if room <= 0:
        return 0
    due = Job.objects.all().due().embedding(queue.is_embedding)
    fresh = timezone.now() - _FRESH
    in_turn = due.exclude(hinted_at__gt=fresh).annotate(turn=_TURN).order_by("turn", "due_at", "created_at")
    chosen = list(in_turn.values_list("workspace_id", "pk")[:room])
    for workspace_id, job_id in chosen:
        queue.send(workspace_id, job_id)
        Job.objects.in_workspace(workspace_id).filter(pk=job_id).update(hinted_at=Now())
    return len(chosen)


@cache
def _redis() -> redis.Redis:
    return redis.Redis.from_url(
        redis_client_url(settings.REDIS_URL), socket_timeout=5, socket_connect_timeout=3
    )
