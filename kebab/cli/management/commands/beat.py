"""`kebab beat`: the scheduler."""

from typing import Any

from kebab.celery import app
from kebab.cli.command import KebabCommand
from kebab.health.exporter import serve_metrics
from kebab.observability.metrics.store import begin_process
from kebab.stack.models import ProcessRole
from kebab.stack.nodes.registry import Heartbeat


class Command(KebabCommand):
    """Sends scheduled tasks. It stores no file: tasks are idempotent, so a second beat is harmless."""

    help = "Send scheduled tasks."
    acts_everywhere = False
    awaits_migrations = "always"

    def run_command(self, **options: Any) -> None:
        """Send tasks until SIGTERM."""
        begin_process("beat")
        serve_metrics()
        with Heartbeat(ProcessRole.BEAT):
            scheduler = "--scheduler=kebab.tasks.schedule:SteadyScheduler"
            app.start(["--quiet", "beat", scheduler, "--pidfile=", "--loglevel=INFO"])
