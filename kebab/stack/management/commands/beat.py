"""`kebab beat`: the schedule."""

from typing import Any

from kebab.celery import app
from kebab.cli.verb import BaseVerb
from kebab.stack.heartbeat import Heartbeat
from kebab.stack.models import ProcessRole


class Command(BaseVerb):
    """Sends the tasks of the schedule. It keeps no file: they are idempotent, a second beat is harmless."""

    help = "Send scheduled tasks."
    acts_everywhere = False

    def run_verb(self, **options: Any) -> None:
        """Send until SIGTERM."""
        with Heartbeat(ProcessRole.BEAT):
            app.start(["beat", "--scheduler=celery.beat:Scheduler", "--pidfile=", "--loglevel=INFO"])
