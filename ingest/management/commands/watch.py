"""`kebab watch`: the process that watches folders."""

import signal
import threading
from typing import Any

from ingest.watch.watcher import FolderWatcher
from kebab.cli.command import KebabCommand
from kebab.observability.metrics.store import begin_process
from kebab.stack.models import ProcessRole
from kebab.stack.nodes.registry import Heartbeat


class Command(KebabCommand):
    help = "Ask for syncs of watched folders when something in them changes, until SIGTERM."
    awaits_migrations = "always"

    def run_command(self, **options: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        begin_process("watch")
        with Heartbeat(ProcessRole.WATCH):
            FolderWatcher(stop).run()
