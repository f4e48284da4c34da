"""`kebab beat`: the schedule."""

from typing import Any

from kebab.celery import app
from kebab.stack.heartbeat import Heartbeat
from kebab.stack.models import ProcessRole
from kebab.stack.verbs import StackVerb


class Command(StackVerb):
    """Sends the tasks of the schedule; keeps no file, for the tasks are idempotent and a second beat is harmless."""

    help = "Send scheduled tasks."

    def handle(self, *args: Any, **options: Any) -> None:
        """Send until SIGTERM."""
        with Heartbeat(ProcessRole.BEAT):
            app.start(["beat", "--scheduler=celery.beat:Scheduler", "--pidfile=", "--loglevel=INFO"])
