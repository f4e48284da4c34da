"""`kebab up`: the whole stack in the foreground."""

import signal
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from kebab.cli import dispatch
from kebab.cli.command import KebabCommand
from kebab.contributions import contributions
from kebab.database.connections import close_connections
from kebab.health.checks import CheckStatus
from kebab.health.server_checks import check_pgvector
from kebab.runtime.role import set_role
from kebab.stack.configuration import StackConfiguration
from kebab.stack.servers.reachability import check_port
from kebab.stack.storage.data_dir_lock import hold_for_stack
from kebab.stack.storage.private_places import ARCHIVE_REMEDY, ARCHIVE_UNUSED
from kebab.stack.supervisor.plan import Roles
from kebab.stack.supervisor.supervisor import StopRequest, Supervisor
from kebab.tenancy.current_workspace import acting_everywhere


class Command(KebabCommand):
    """Runs servers, web, workers, mirror and beat until SIGINT or SIGTERM; a second signal is urgent."""

    help = "Run the whole stack in the foreground; Ctrl-C stops it."
    acts_everywhere = False

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the address of the web process."""
        super().add_arguments(parser)
        parser.add_argument("--host", help="address to listen on (default: KEBAB_HOST)")
        parser.add_argument("--port", type=int, help="port to listen on (default: KEBAB_PORT)")

    def run_command(self, **options: Any) -> None:
        """Run until SIGINT or SIGTERM."""
        set_role("supervisor")
        configuration = StackConfiguration.from_settings(host=options["host"], port=options["port"])
        stop = StopRequest()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop.request)
        configuration.directory.ensure()
        with hold_for_stack(configuration.directory, self.remarks.print):
            check_port(configuration.host, configuration.port)
            self.remarks.print(f"Starting the stack on {configuration.directory.path} ...")
            supervisor = Supervisor(
                configuration, Roles.ALL, announce=self.remarks.print, run_command=dispatch.run
            )
            supervisor.run(stop, on_ready=lambda: self._print_ready(configuration))
        self.remarks.print("The stack has stopped.")

    def _print_ready(self, configuration: StackConfiguration) -> None:
        """Print the address, below what an operator should know."""
        if not settings.KEBAB_ENCRYPTION_KEYS:
            self.remarks.print(
                "KEBAB_ENCRYPTION_KEYS is not set: no source can have credentials. See docs/configuration.md"
            )
        if settings.KEBAB_WAL_ARCHIVE is not None:
            self.remarks.print(f"{ARCHIVE_UNUSED}. {ARCHIVE_REMEDY}")
        with acting_everywhere():
            pgvector = check_pgvector()
            if pgvector.status is CheckStatus.WARNING:
                self.remarks.print(f"pgvector {pgvector.detail}. {pgvector.remedy}")
            for remark in filter(None, (make() for make in contributions("start_remarks"))):
                self.remarks.print(remark)
        close_connections()
        self.remarks.print(f"Kebab serves at {configuration.url} (Ctrl-C stops it)")
