"""`kebab worker`: a Celery worker."""

import os
import signal
import time
from typing import Any

from celery.signals import worker_process_init, worker_ready, worker_shutdown, worker_shutting_down
from celery.worker import state
from django.conf import settings
from django.core.management.base import CommandParser

from kebab.celery import app
from kebab.cli.command import KebabCommand
from kebab.health.exporter import serve_metrics
from kebab.observability import tracing
from kebab.observability.metrics.store import begin_process
from kebab.runtime.lifeline import die_with_parent
from kebab.stack.configuration import EMBED_QUEUES, WORKER_QUEUES
from kebab.stack.models import ProcessRole
from kebab.stack.nodes.registry import Activity, Heartbeat
from kebab.stack.storage.blob_mark import check_own_blobs
from kebab.stack.supervisor import worker_stop
from kebab.stack.supervisor.watchdog import SelfWatchdog


class Command(KebabCommand):
    """Runs a prefork worker, whose children end with it, and writes its heartbeat."""

    help = "Run a Celery worker."
    acts_everywhere = False
    awaits_migrations = "always"

    def add_arguments(self, parser: CommandParser) -> None:
        """Add queues, slots and the worker's name."""
        super().add_arguments(parser)
        queues = ",".join((*WORKER_QUEUES, *EMBED_QUEUES))
        slots = settings.KEBAB_WORKER_SLOTS
        parser.add_argument("--queues", default=queues, help="names, separated by commas (default: all)")
        parser.add_argument("--slots", type=int, default=slots, help="tasks at once")
        parser.add_argument("--name", default="worker", help="tells the workers of a node apart")

    def run_command(self, **options: Any) -> None:
        """Work until SIGTERM, then requeue running jobs for another worker."""
        check_own_blobs()
        queues = tuple(options["queues"].split(","))
        activity = _WorkerActivity()
        heartbeat = Heartbeat(
            ProcessRole.WORKER,
            name=options["name"],
            slots=options["slots"],
            queues=queues,
            activity=activity.now,
            after_beat=SelfWatchdog(activity.now).check,
        )
        begin_process(options["name"])
        serve_metrics()
        _connect_signals(heartbeat, role=options["name"])
        app.worker_main(_celery_arguments(options))


class _WorkerActivity:
    """Counts running tasks, as the main process knows them, and dates the last start to one heartbeat."""

    def __init__(self) -> None:
        self._started = 0
        self._last_started_at: float | None = None

    def now(self) -> Activity:
        """Return the activity since the last call."""
        started = state.all_total_count[0]
        if started != self._started:
            self._started = started
            self._last_started_at = time.monotonic()
        last = self._last_started_at
        return Activity(
            busy=len(state.active_requests),
            idle_s=None if last is None else time.monotonic() - last,
            info={"tasks_started": started},
        )


def _connect_signals(heartbeat: Heartbeat, *, role: str) -> None:
    """Start and stop the heartbeat with the worker, tie its children to it, and forward its stop to them."""
    main_pid = os.getpid()

    def begin_child(**_: object) -> None:
        die_with_parent(signal.SIGKILL, parent_pid=main_pid)
        begin_process(role)
        tracing.begin()

    def start_heartbeat(**_: object) -> None:
        heartbeat.guard_forks()
        heartbeat.start()

    def ask_children_to_stop(**_: object) -> None:
        worker_stop.request()

    def stop_heartbeat(**_: object) -> None:
        heartbeat.stop()

    worker_process_init.connect(begin_child, weak=False)
    worker_ready.connect(start_heartbeat, weak=False)
    worker_shutting_down.connect(ask_children_to_stop, weak=False)
    worker_shutdown.connect(stop_heartbeat, weak=False)


def _celery_arguments(options: dict[str, Any]) -> list[str]:
    return [
        "--quiet",  # no banner in the log
        "worker",
        f"--hostname={options['name']}@{settings.KEBAB_NODE_ID}",
        f"--queues={options['queues']}",
        f"--concurrency={options['slots']}",
        "--pool=prefork",
        "--optimization=fair",
        "--prefetch-multiplier=1",
        "--without-gossip",
        "--without-mingle",
        "--without-heartbeat",
        "--loglevel=INFO",
    ]
