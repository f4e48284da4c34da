"""Hints that wake workers: messages in Redis with a job's id. A lost, doubled or late hint does no harm.

At most twice as many hints as worker slots wait in a queue, chosen round-robin over the workspaces, so that
they share the workers fairly. A request may only fill the first half: however many requests one workspace
makes, the others get their turn. The sweep sends lost hints again.
"""

import logging
import uuid
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any

import redis
from django.conf import settings
from django.db import transaction
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet, Sum, Window
from django.db.models.functions import Now, RowNumber
from kombu import pools
from kombu.exceptions import OperationalError

from ingest.metrics import HINTS, HINTS_LOST
from ingest.models import OPEN_STATES, Job, JobKind
from kebab.celery import app
from kebab.stack.models import ProcessRole, StackProcess
from kebab.stack.nodes.registry import FRESH_S
from kebab.stack.servers.redis_client import redis_client, sync_reply
from kebab.tasks.base import cause_headers
from kebab.tenancy.current_workspace import acting_everywhere

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Queue:
    """A queue, the Celery task of its messages, and whether its jobs embed."""

    name: str
    task: str
    is_embedding: bool

    def room(self) -> int:
        """Return how many more hints the queue can use: two for each of this node's slots, or for each live
        slot if those are more.
        """
        rows = StackProcess.objects.filter(
            role=ProcessRole.WORKER, queues__contains=[self.name], heartbeat_at__gt=Now() - _LIVING
        )
        live_slots = int(rows.aggregate(slots=Sum("slots"))["slots"] or 0)
        return 2 * max(self._own_slots, live_slots) - self._queue_length()

    def has_room_for_request(self) -> bool:
        """Return whether fewer hints wait than this node has slots for."""
        return self._queue_length() < self._own_slots

    def send(self, workspace_id: uuid.UUID, job_id: uuid.UUID) -> None:
        _send(self.task, self.name, workspace_id, job_id)
        HINTS.add(self.name)

    @property
    def _own_slots(self) -> int:
        return 1 if self.is_embedding else settings.KEBAB_WORKER_SLOTS

    def _queue_length(self) -> int:
        return sync_reply(_redis().llen(self.name))


_EMBED = _Queue(name="embed", task="ingest.run_embedding", is_embedding=True)
_INGEST = _Queue(name="ingest", task="ingest.run_job", is_embedding=False)
# A job hinted this recently gets no second hint: the first will still reach a worker.
_FRESH = timedelta(seconds=8)
# Timeout for Redis while a request sends a hint. With a longer one each upload would take three seconds when
# the connection is cut, and one without Postgres as well would be refused too late.
_LIMIT_S = 0.5
_LIVING = timedelta(seconds=FRESH_S)
# More waiting requests for a mirror sync than this are of no use.
_SYNCS_WAITING = 20
# The first job of each workspace, then the second of each, and so on: computed in SQL, so that the backlog of
# one workspace does not hide the jobs of others.
_TURN = Window(RowNumber(), partition_by="workspace_id", order_by=("due_at", "created_at"))


def hint_on_commit(job: Job) -> None:
    """Wake a worker for `job` once the transaction that made it due is committed; never fails."""
    transaction.on_commit(lambda: _hint_if_room(job))


def hint_due_jobs() -> int:
    """Send hints for due jobs, round-robin over the workspaces, as the queues have room; return their number.

    Without Redis none are sent, and the next sweep tries again.
    """
    try:
        with acting_everywhere():
            return sum(map(_send_due_hints, (_INGEST, _EMBED)))
    except (redis.RedisError, OperationalError, OSError) as error:
        HINTS_LOST.add()
        logger.warning("no hints, the next sweep will send them: %s", error)
        return 0


def request_mirror_sync(workspace_id: uuid.UUID) -> None:
    """Request a sync of this node's mirror of a workspace, which builds it if there is none; never fails.

    A node follows only workspaces that it has a mirror of: without this, the first search would wait for it.
    """
    try:
        if sync_reply(_redis().llen("mirror")) < _SYNCS_WAITING:
            _send("search.sync_mirror", "mirror", workspace_id)
    except (redis.RedisError, OperationalError, OSError) as error:
        HINTS_LOST.add()
        logger.warning("no sync of %s was asked for, the mirror process polls: %s", workspace_id, error)


def _hint_if_room(job: Job) -> None:
    queue = _EMBED if job.kind == JobKind.EMBED else _INGEST
    try:
        if queue.has_room_for_request():
            queue.send(job.workspace_id, job.pk)
    except (redis.RedisError, OperationalError, OSError) as error:
        HINTS_LOST.add()
        logger.warning("no hint for job %s, the sweep will send one: %s", job.pk, error)


def _send_due_hints(queue: _Queue) -> int:
    room = queue.room()
    if room <= 0:
        return 0
    jobs = Job.objects.all().embedding(queue.is_embedding)
    unheard = jobs.due().exclude(hinted_at__gt=Now() - _FRESH)
    # Not ordered by age: of two workspaces the one with the longer backlog would always come first.
    turned = unheard.annotate(turn=_TURN, had_turn=_has_had_turn(jobs))
    in_turn = turned.order_by("turn", "had_turn", "workspace_id")
    chosen = list(in_turn.values_list("workspace_id", "pk")[:room])
    return sum(_hint_once(queue, *ids) for ids in chosen)


def _has_had_turn(jobs: QuerySet[Job]) -> "ExpressionWrapper[Any]":
    """Return an expression: the job's workspace comes, by id, no later than the one hinted last."""
    hinted = jobs.filter(state__in=OPEN_STATES, hinted_at__isnull=False).order_by("-hinted_at")
    last = hinted.values_list("workspace_id", flat=True).first()
    return ExpressionWrapper(Q(workspace_id__lte=last or uuid.UUID(int=0)), output_field=BooleanField())


def _hint_once(queue: _Queue, workspace_id: uuid.UUID, job_id: uuid.UUID) -> bool:
    """Hint a job unless another sweep just did; return whether it was sent. No sweep blocks another."""
    unheard = Job.objects.in_workspace(workspace_id).filter(pk=job_id).exclude(hinted_at__gt=Now() - _FRESH)
    if not unheard.update(hinted_at=Now()):
        return False
    queue.send(workspace_id, job_id)
    return True


def _send(task: str, queue: str, *ids: uuid.UUID) -> None:
    with _producers().acquire(block=True) as producer:
        app.send_task(
            task,
            args=[str(id_) for id_ in ids],
            queue=queue,
            retry=False,
            ignore_result=True,
            headers=cause_headers(),
            producer=producer,
        )


@cache
def _producers() -> pools.ProducerPool:
    """Return the connection pool, with short timeouts: Redis may go away after room was found."""
    limits = {"socket_timeout": _LIMIT_S, "socket_connect_timeout": _LIMIT_S}
    once = {"retry_on_timeout": False, "max_retries": 0}
    pool: pools.ProducerPool = pools.producers[app.connection_for_write(transport_options=limits | once)]
    return pool


@cache
def _redis() -> redis.Redis:
    return redis_client(_LIMIT_S)
