"""What the servers say of themselves, and the processes of all nodes."""

from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings
from django.db import connection
from django.db.models import Count, Sum
from django.db.models.functions import Now

from kebab.observability.metrics.collectors import Question, Sample, gauge, register_question
from kebab.observability.metrics.metric import Family, declare
from kebab.stack.configuration import EMBED_QUEUES, WORKER_QUEUES
from kebab.stack.models import ProcessRole, StackProcess
from kebab.stack.nodes.heartbeat import FRESH_S
from kebab.stack.servers.redis_client import quick_redis

_LIMIT_S = 1.0

ALIVE = gauge("kebab_processes_alive", "Processes of all nodes that were heard of in time.", "node", "name")
SLOTS = gauge("kebab_worker_slots", "Jobs that living workers of all nodes can do at once.", "name")
BUSY = gauge("kebab_worker_slots_busy", "Jobs that they do.", "name")
CONNECTIONS = gauge("kebab_postgres_connections", "Connections to the database, everybody's.")
SIZE = gauge("kebab_postgres_database_bytes", "What the database takes on its disk.")
WAL = declare(
    Family(name="kebab_postgres_wal_bytes_total", help="Write-ahead log that was written.", kind="counter")
)
MESSAGES = gauge("kebab_queue_messages", "Hints in Redis that no worker has taken yet.", "queue")
MEMORY = gauge("kebab_redis_memory_bytes", "Memory that Redis has for what it keeps.")

_ASK_POSTGRES = """
    SELECT (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()),
           pg_database_size(current_database()),
           CASE WHEN pg_is_in_recovery() THEN 0 ELSE pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') END
"""


def register() -> None:
    """Have it told with the metrics."""
    register_question("processes", Question(store="postgres", ask=_processes))
    # The size of a database is the sum of its files': a look at each of them.
    register_question("postgres", Question(store="postgres", ask=_postgres, every_s=15.0))
    register_question("redis", Question(store="redis", ask=_redis))


def _processes() -> Iterator[Sample]:
    alive = StackProcess.objects.filter(heartbeat_at__gt=Now() - timedelta(seconds=FRESH_S)).order_by()
    for node, name, count in alive.values_list("node", "name").annotate(count=Count("pk")):
        yield Sample(family=ALIVE, values=(node, name), amount=count)
    workers = alive.filter(role=ProcessRole.WORKER).values_list("name")
    for name, slots, busy in workers.annotate(n_slots=Sum("slots"), n_busy=Sum("busy")):
        yield Sample(family=SLOTS, values=(name,), amount=slots)
        yield Sample(family=BUSY, values=(name,), amount=busy)


def _postgres() -> Iterator[Sample]:
    with connection.cursor() as cursor:
        cursor.execute(_ASK_POSTGRES)
        connections, size_bytes, wal_bytes = cursor.fetchone()
    yield Sample(family=CONNECTIONS, amount=connections)
    yield Sample(family=SIZE, amount=size_bytes)
    yield Sample(family=WAL, amount=float(wal_bytes))


def _redis() -> Iterator[Sample]:
    with quick_redis(settings.REDIS_URL, connect_limit_s=_LIMIT_S, answer_limit_s=_LIMIT_S) as client:
        for queue in (*WORKER_QUEUES, *EMBED_QUEUES):
            yield Sample(family=MESSAGES, values=(queue,), amount=client.llen(queue))
        yield Sample(family=MEMORY, amount=client.info("memory")["used_memory"])
