"""`kebab init`: everything that has to exist before the stack runs."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import connection

from kebab.stack import preparation
from kebab.stack.configuration import StackConfiguration
from kebab.stack.reachability import connect
from kebab.stack.temporary import borrowed_stack
from kebab.stack.verbs import StackVerb

# Any number will do that nothing else locks; the letters of "kebab".
_ADVISORY_LOCK = 0x6B65626162


class Command(StackVerb):
    """Makes folders, secrets and the database cluster, migrates, and runs the apps' preparation steps."""

    help = "Prepare folders, secrets, servers and the database without running the stack."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """How the supervisor calls it."""
        parser.add_argument(
            "--on-running-servers", action="store_true", help="the servers run: only migrate and prepare"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Prepare, on the servers that run or on our own."""
        if options["on_running_servers"]:
            self._prepare()
            return
        # A stack that starts, for us or for others, prepares itself.
        with borrowed_stack(announce=self.tell):
            if not (settings.KEBAB_EMBEDDED_POSTGRES or settings.KEBAB_EMBEDDED_REDIS):
                self._prepare()
        self.tell(f"{StackConfiguration.from_settings().directory.path} is prepared; `kebab up` runs the stack.")

    def _prepare(self) -> None:
        # Several nodes may start at once on one database, and Django's migrations do not wait for each other.
        with connect(settings.DATABASES["default"]) as lock:
            lock.execute("SELECT pg_advisory_lock(%s)", [_ADVISORY_LOCK])
            with connection.cursor() as cursor:
                cursor.execute("SET statement_timeout = 0")  # an index on a large table takes its time
            call_command("migrate", interactive=False, verbosity=1)
            for name, step in preparation.steps().items():
                self.tell(f"Preparing {name} ...")
                step()
