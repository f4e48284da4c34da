"""`kebab upkeep`: the mirror, the schedule and the watch of a node in one process."""

import logging
import signal
import threading
from argparse import BooleanOptionalAction
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from celery.beat import Service
from django.conf import settings
from django.core.management.base import CommandParser

from ingest.watch.watcher import FolderWatcher
from kebab.celery import app
from kebab.cli.command import KebabCommand
from kebab.exit_codes import Exit
from kebab.health.exporter import serve_metrics
from kebab.observability import tracing
from kebab.observability.metrics.store import begin_process
from kebab.stack.models import ProcessRole
from kebab.stack.nodes.registry import Heartbeat
from kebab.tasks.schedule import SteadyScheduler
from kebab.tenancy.current_workspace import acting_everywhere
from search.mirror.sync.follow import MirrorFollower

logger = logging.getLogger(__name__)

_LOOK_S = 0.5


class Command(KebabCommand):
    help = "Run the mirror, the schedule and the watch of this node in one process, until SIGTERM."
    awaits_migrations = "always"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--watch", action=BooleanOptionalAction, default=True, help="watch folders, too")

    def run_command(self, *, watch: bool, **_: Any) -> int:
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        begin_process("upkeep")
        serve_metrics()
        tracing.begin()
        schedule = Service(app, scheduler_cls=SteadyScheduler)
        parts: dict[ProcessRole, Callable[[], None]] = {
            ProcessRole.MIRROR: MirrorFollower(settings.KEBAB_MIRROR_DIR, stop).run,
            ProcessRole.BEAT: schedule.start,
        }
        if watch:
            parts[ProcessRole.WATCH] = FolderWatcher(stop).run
        return self._run_parts(parts, stop, schedule)

    def _run_parts(
        self, parts: dict[ProcessRole, Callable[[], None]], stop: threading.Event, schedule: Service
    ) -> int:
        """Run each part in a thread until the stop, or until one of them ends; it takes the others along."""
        # They are not waited for at the end without limit: the schedule sleeps until its next task.
        threads = {
            role: threading.Thread(target=_run_part, args=(part,), name=str(role), daemon=True)
            for role, part in parts.items()
        }
        with ExitStack() as heartbeats:
            for role in parts:
                heartbeats.enter_context(Heartbeat(role))
            for thread in threads.values():
                thread.start()
            while not stop.wait(_LOOK_S) and all(thread.is_alive() for thread in threads.values()):
                pass
            has_failed = not stop.is_set()
            stop.set()
            schedule.stop(wait=False)
            for role, thread in threads.items():
                if role is not ProcessRole.BEAT:
                    thread.join()
        return Exit.ERROR if has_failed else Exit.DONE


def _run_part(part: Callable[[], None]) -> None:
    try:
        with acting_everywhere():
            part()
    except Exception:
        logger.exception("a part of the upkeep ends")
