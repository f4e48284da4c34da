"""`kebab watch`: the process that watches folders."""

import signal
import threading
from typing import Any

from ingest.watch.watcher import FolderWatcher
from kebab.cli.command import BaseVerb
from kebab.observability.metrics.store import begin
from kebab.stack.models import ProcessRole
from kebab.stack.nodes.heartbeat import Heartbeat


class Command(BaseVerb):
    help = "Ask for syncs of watched folders when something in them changes, until SIGTERM."
    awaits_migrations = "always"

    def run_verb(self, **options: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        begin("watch")
        with Heartbeat(ProcessRole.WATCH):
            FolderWatcher(stop).run()
