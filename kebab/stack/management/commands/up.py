"""`kebab up`: the whole stack in the foreground."""

import signal
from typing import Any

from django.core.management.base import CommandParser

from kebab.cli.command import BaseVerb
from kebab.runtime.role import take_role
from kebab.stack.configuration import StackConfiguration
from kebab.stack.servers.reachability import check_port
from kebab.stack.storage.data_dir_lock import held_by_up
from kebab.stack.supervisor.plan import Roles
from kebab.stack.supervisor.supervisor import StopRequest, Supervisor


class Command(BaseVerb):
    """Runs servers, web, workers, mirror and beat until SIGINT or SIGTERM; a second signal is urgent."""

    help = "Run the whole stack in the foreground; Ctrl-C stops it."
    acts_everywhere = False

    def add_arguments(self, parser: CommandParser) -> None:
        """Return where the web process listens."""
        super().add_arguments(parser)
        parser.add_argument("--host", help="address to listen on (default: KEBAB_HOST)")
        parser.add_argument("--port", type=int, help="port to listen on (default: KEBAB_PORT)")

    def run_verb(self, **options: Any) -> None:
        """Run until asked to stop."""
        take_role("supervisor")
        configuration = StackConfiguration.from_settings(host=options["host"], port=options["port"])
        stop = StopRequest()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop.ask)
        configuration.directory.ensure()
        with held_by_up(configuration.directory, self.remarks.print):
            check_port(configuration.host, configuration.port)
            self.remarks.print(f"Starting the stack on {configuration.directory.path} ...")
            Supervisor(configuration, Roles.ALL, announce=self.remarks.print).run(
                stop,
                on_ready=lambda: self.remarks.print(f"Kebab serves at {configuration.url} (Ctrl-C stops it)"),
            )
        self.remarks.print("The stack has stopped.")
