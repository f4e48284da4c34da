"""Metrics of Postgres, Redis and the processes of all nodes."""

from collections.abc import Iterator

from django.conf import settings
from django.db import connection
from django.db.models import Count, Sum

from kebab.observability.metrics.collectors import Collector, Sample, declare_gauge
from kebab.observability.metrics.files import Family, declare
from kebab.stack.configuration import EMBED_QUEUES, WORKER_QUEUES
from kebab.stack.models import ProcessRole
from kebab.stack.nodes.registry import living_processes
from kebab.stack.servers.lost_changes import lost_ranges
from kebab.stack.servers.redis_client import quick_redis

_LIMIT_S = 1.0

ALIVE = declare_gauge(
    "kebab_processes_alive", "Number of processes with a recent heartbeat, on all nodes.", "node", "name"
)
SLOTS = declare_gauge("kebab_worker_slots", "Number of worker slots, on all nodes.", "name")
BUSY = declare_gauge("kebab_worker_slots_busy", "Number of worker slots in use, on all nodes.", "name")
CONNECTIONS = declare_gauge("kebab_postgres_connections", "Number of connections to the database.")
SIZE = declare_gauge("kebab_postgres_database_bytes", "Size of the database in bytes.")
WAL = declare(
    Family(name="kebab_postgres_wal_bytes_total", help="Write-ahead log written, in bytes.", kind="counter")
)
MESSAGES = declare_gauge("kebab_queue_messages", "Number of hints in Redis waiting for a worker.", "queue")
LOST = declare_gauge("kebab_lost_ranges", "Number of ranges with lost changes, found in the last week.")
LOST_OF = declare_gauge(
    "kebab_lost_changes", "Number of changes of which some may be lost.", "workspace", "first", "last"
)
MEMORY = declare_gauge("kebab_redis_memory_bytes", "Memory used by Redis for its data, in bytes.")

_ASK_POSTGRES = """
    SELECT (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()),
           pg_database_size(current_database()),
           CASE WHEN pg_is_in_recovery() THEN 0 ELSE pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') END
"""


def _collect_processes() -> Iterator[Sample]:
    alive = living_processes().order_by()
    for node, name, count in alive.values_list("node", "name").annotate(count=Count("pk")):
        yield Sample(family=ALIVE, values=(node, name), amount=count)
    workers = alive.filter(role=ProcessRole.WORKER).values_list("name")
    for name, slots, busy in workers.annotate(n_slots=Sum("slots"), n_busy=Sum("busy")):
        yield Sample(family=SLOTS, values=(name,), amount=slots)
        yield Sample(family=BUSY, values=(name,), amount=busy)


def _collect_postgres() -> Iterator[Sample]:
    with connection.cursor() as cursor:
        cursor.execute(_ASK_POSTGRES)
        connections, size_bytes, wal_bytes = cursor.fetchone()
    yield Sample(family=CONNECTIONS, amount=connections)
    yield Sample(family=SIZE, amount=size_bytes)
    yield Sample(family=WAL, amount=float(wal_bytes))


def _collect_redis() -> Iterator[Sample]:
    with quick_redis(settings.REDIS_URL, connect_limit_s=_LIMIT_S, answer_limit_s=_LIMIT_S) as client:
        for queue in (*WORKER_QUEUES, *EMBED_QUEUES):
            yield Sample(family=MESSAGES, values=(queue,), amount=client.llen(queue))
        yield Sample(family=MEMORY, amount=client.info("memory")["used_memory"])
    found = list(lost_ranges())
    yield Sample(family=LOST, amount=len(found))
    for each in found[:100]:
        values = (each.subject, str(each.first), str(each.last))
        yield Sample(family=LOST_OF, values=values, amount=each.last - each.first + 1)


COLLECTORS = (
    ("processes", Collector(store="postgres", collect=_collect_processes)),
    # The size of a database is computed from each of its files, so it is collected less often.
    ("postgres", Collector(store="postgres", collect=_collect_postgres, interval_s=15.0)),
    ("redis", Collector(store="redis", collect=_collect_redis)),
)
