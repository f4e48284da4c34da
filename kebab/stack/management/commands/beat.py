"""`kebab beat`: the schedule."""

from typing import Any

from kebab.celery import app
from kebab.cli.command import BaseVerb
from kebab.observability.metrics.exporter import serve_counts
from kebab.observability.metrics.store import begin
from kebab.stack.models import ProcessRole
from kebab.stack.nodes.heartbeat import Heartbeat


class Command(BaseVerb):
    """Sends the tasks of the schedule. It keeps no file: they are idempotent, a second beat is harmless."""

    help = "Send scheduled tasks."
    acts_everywhere = False
    awaits_migrations = "always"

    def run_verb(self, **options: Any) -> None:
        """Send until SIGTERM."""
        begin("beat")
        serve_counts()
        with Heartbeat(ProcessRole.BEAT):
            scheduler = "--scheduler=kebab.tasks.schedule:SteadyScheduler"
            app.start(["--quiet", "beat", scheduler, "--pidfile=", "--loglevel=INFO"])
