"""Waking workers. A message in Redis is a hint with a job's id: lost, doubled or late, it does no harm.

At most twice as many hints as worker slots wait in a queue, chosen round-robin over the workspaces: that is
the fairness between them. A request takes a place of the first half alone: however fast one workspace asks,
the others' turn comes. The sweep sends again what got lost.
"""

import logging
import uuid
from dataclasses import dataclass
from datetime import timedelta
from functools import cache

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
from kebab.stack.nodes.heartbeat import FRESH_S
from kebab.stack.servers.addresses import redis_client_url
from kebab.tasks.base import causes
from kebab.tenancy.current_workspace import acting_everywhere

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Queue:
    """A queue, the Celery task of its messages, and whether its jobs embed."""

    name: str
    task: str
    is_embedding: bool

    def room(self) -> int:
        """Return how many more hints are of use in it, for this node's slots or for more that are known to
        live.
        """
        return 2 * max(self._own_slots, self.living_slots()) - self._waiting()

    def has_room_out_of_turn(self) -> bool:
        """Return whether fewer hints wait in it than this node's slots would take at once."""
        return self._waiting() < self._own_slots

    def living_slots(self) -> int:
        """Return how many jobs of this queue the workers of all nodes do at once."""
        rows = StackProcess.objects.filter(
            role=ProcessRole.WORKER, queues__contains=[self.name], heartbeat_at__gt=Now() - _LIVING
        )
        return int(rows.aggregate(slots=Sum("slots"))["slots"] or 0)

    def send(self, workspace_id: uuid.UUID, job_id: uuid.UUID) -> None:
        _send(self.task, self.name, workspace_id, job_id)
        HINTS.add(self.name)

    @property
    def _own_slots(self) -> int:
        return 1 if self.is_embedding else settings.KEBAB_WORKER_SLOTS

    def _waiting(self) -> int:
        return int(_redis().llen(self.name))


_EMBED = _Queue(name="embed", task="ingest.run_embedding", is_embedding=True)
_INGEST = _Queue(name="ingest", task="ingest.run_job", is_embedding=False)
# A job hinted this recently is left to the worker that the hint will reach.
_FRESH = timedelta(seconds=8)
# A request looks for room before it sends, and waits no longer for Redis: behind a cut line each upload would
# take three seconds, and one that Postgres leaves alone as well would be refused too late.
_LIMIT_S = 0.5
_LIVING = timedelta(seconds=FRESH_S)
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
        HINTS_LOST.add()
        logger.warning("no hints, the next sweep will send them: %s", error)
        return 0


def ask_for_sync(workspace_id: uuid.UUID) -> None:
    """Have this node's mirror of a workspace built or brought up to date soon; never fails.

    A node follows only the workspaces it has a mirror of: without this, the first search would wait for it.
    """
    try:
        if _redis().llen("mirror") < _SYNCS_WAITING:
            _send("search.sync_mirror", "mirror", workspace_id)
    except (redis.RedisError, OperationalError, OSError) as error:
        HINTS_LOST.add()
        logger.warning("no sync of %s was asked for, the mirror process polls: %s", workspace_id, error)


def _hint_if_room(job: Job) -> None:
    queue = _EMBED if job.kind == JobKind.EMBED else _INGEST
    try:
        if queue.has_room_out_of_turn():
            queue.send(job.workspace_id, job.pk)
    except (redis.RedisError, OperationalError, OSError) as error:
        HINTS_LOST.add()
        logger.warning("no hint for job %s, the sweep will send one: %s", job.pk, error)


def _fill(queue: _Queue) -> int:
    room = queue.room()
    if room <= 0:
        return 0
    jobs = Job.objects.all().embedding(queue.is_embedding)
    unheard = jobs.due().exclude(hinted_at__gt=Now() - _FRESH)
    # Not by age: of two workspaces the one with the longer backlog would always come first.
    turned = unheard.annotate(turn=_TURN, had_its=_had_its_turn(jobs))
    in_turn = turned.order_by("turn", "had_its", "workspace_id")
    chosen = list(in_turn.values_list("workspace_id", "pk")[:room])
    return sum(_hint_unless_hinted(queue, *ids) for ids in chosen)


def _had_its_turn(jobs: QuerySet[Job]) -> ExpressionWrapper:
    """Return whether a job's workspace stands, by its id, no later than the one that was hinted at last."""
    hinted = jobs.filter(state__in=OPEN_STATES, hinted_at__isnull=False).order_by("-hinted_at")
    last = hinted.values_list("workspace_id", flat=True).first()
    return ExpressionWrapper(Q(workspace_id__lte=last or uuid.UUID(int=0)), output_field=BooleanField())


def _hint_unless_hinted(queue: _Queue, workspace_id: uuid.UUID, job_id: uuid.UUID) -> bool:
    """Return whether it was ours to hint: of several sweeps one marks the job, and none waits for another."""
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
            headers=causes(),
            producer=producer,
        )


@cache
def _producers() -> pools.ProducerPool:
    """Return connections on which nobody waits long: who has found room may meet a Redis that has
    just gone.
    """
    limits = {"socket_timeout": _LIMIT_S, "socket_connect_timeout": _LIMIT_S}
    once = {"retry_on_timeout": False, "max_retries": 0}
    return pools.producers[app.connection_for_write(transport_options=limits | once)]


@cache
def _redis() -> redis.Redis:
    return redis.Redis.from_url(
        redis_client_url(settings.REDIS_URL), socket_timeout=_LIMIT_S, socket_connect_timeout=_LIMIT_S
    )
