"""`kebab init`: the preparation of everything that has to exist before the stack runs."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandParser

from kebab.cli.command import KebabCommand
from kebab.cli.report import report
from kebab.contributions import contributions
from kebab.exit_codes import Exit
from kebab.http.api.outages import OUTAGES, outage_of
from kebab.stack.configuration import StackConfiguration
from kebab.stack.servers.borrowed_servers import borrow_stack
from kebab.stack.servers.postgres_requirements import check_requirements
from kebab.stack.storage.blob_mark import check_blob_store
from kebab.stack.supervisor.state import stack_is_running
from kebab.tenancy.postgres.pool import connect
from kebab.tenancy.roles import OWNER

# Any number that nothing else locks; the letters of "kebab".
_ADVISORY_LOCK = 0x6B65626162
_RETRY_S = 0.2


class Command(KebabCommand):
    """Creates folders, secrets and the database cluster, migrates, and runs the apps' init steps."""

    help = "Prepare folders, secrets, servers and the database without running the stack."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the supervisor's option and the adoption of blobs."""
        super().add_arguments(parser)
        parser.add_argument(
            "--on-running-servers", action="store_true", help="the servers run: only migrate and prepare"
        )
        parser.add_argument(
            "--adopt-blobs",
            action="store_true",
            help="the documents' bytes here are the database's from now on (after a restore)",
        )

    def run_command(self, **options: Any) -> Exit | None:
        """Prepare, on running servers or on servers of our own."""
        if options["on_running_servers"]:
            return self._prepare_on_running_servers(**options)
        configuration = StackConfiguration.from_settings()
        configuration.directory.ensure()
        has_servers = configuration.has_embedded_postgres or configuration.has_embedded_redis
        prepares_itself = has_servers and not stack_is_running(configuration.directory.path)
        with borrow_stack(announce=self.remarks.print):
            if not prepares_itself:
                self._prepare(**options)
        self.remarks.print(f"{configuration.directory.path} is prepared; `kebab up` runs the stack.")
        if self.as_json:
            self.print_json({"schema_version": "init.v1", "data_dir": str(configuration.directory.path)})
        return None

    def _run_steps(self, kind: str) -> None:
        for name, step in contributions(kind):
            self.remarks.print(f"Preparing {name} ...")
            step()

    def _prepare_on_running_servers(self, **options: Any) -> Exit:
        """Prepare, and report a lost server to the supervisor by the exit status, so that it retries."""
        try:
            self._prepare(**options)
        except OUTAGES as error:
            outage = outage_of(error)
            if outage is None or outage.code in {"storage_full", "database_read_only"}:
                raise
            report(error, self._stderr, as_json=self.as_json)
            return Exit.UNHEALTHY
        return Exit.DONE

    def _prepare(self, *, adopt_blobs: bool, **_: Any) -> None:
        # Several nodes may start at once on one database, and Django's migrations do not wait for each other.
        with connect(settings.DATABASES[OWNER]) as lock:
            # Polled: a waiting statement holds a snapshot, and an index that another node builds concurrently
            # waits for every snapshot to end.
            while lock.execute("SELECT pg_try_advisory_lock(%s)", [_ADVISORY_LOCK]).fetchone() != (True,):
                time.sleep(_RETRY_S)
            check_requirements(lock)
            with ThreadPoolExecutor(1) as beside:
                early = beside.submit(self._run_steps, "early_init_steps")
                verbosity = 0 if self.as_json else 1
                call_command("migrate", interactive=False, verbosity=verbosity, stdout=self.stderr)
                early.result()
            self._run_steps("init_steps")
            if adopt_blobs:
                check_blob_store(adopt=True)
