"""`kebab init`: everything that has to exist before the stack runs."""

from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandParser

from kebab.cli.verb import BaseVerb
from kebab.stack import preparation
from kebab.stack.configuration import StackConfiguration
from kebab.stack.reachability import connect
from kebab.stack.state import stack_is_running
from kebab.stack.temporary import borrowed_stack
from kebab.tenancy.roles import OWNER

# Any number will do that nothing else locks; the letters of "kebab".
_ADVISORY_LOCK = 0x6B65626162


class Command(BaseVerb):
    """Makes folders, secrets and the database cluster, migrates, and runs the apps' preparation steps."""

    help = "Prepare folders, secrets, servers and the database without running the stack."

    def add_arguments(self, parser: CommandParser) -> None:
        """How the supervisor calls it."""
        super().add_arguments(parser)
        parser.add_argument(
            "--on-running-servers", action="store_true", help="the servers run: only migrate and prepare"
        )

    def run_verb(self, **options: Any) -> None:
        """Prepare, on the servers that run or on our own."""
        if options["on_running_servers"]:
            self._prepare()
            return
        configuration = StackConfiguration.from_settings()
        configuration.directory.ensure()
        has_servers = configuration.has_embedded_postgres or configuration.has_embedded_redis
        prepares_itself = has_servers and not stack_is_running(configuration.directory.path)
        with borrowed_stack(announce=self.remarks.print):
            if not prepares_itself:
                self._prepare()
        self.remarks.print(f"{configuration.directory.path} is prepared; `kebab up` runs the stack.")

    def _prepare(self) -> None:
        # Several nodes may start at once on one database, and Django's migrations do not wait for each other.
        with connect(settings.DATABASES[OWNER]) as lock:
            lock.execute("SELECT pg_advisory_lock(%s)", [_ADVISORY_LOCK])
            call_command("migrate", interactive=False, verbosity=1, stdout=self.stderr)
            for name, step in preparation.steps().items():
                self.remarks.print(f"Preparing {name} ...")
                step()
