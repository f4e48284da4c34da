"""`kebab up`: the whole stack in the foreground."""

import signal
from argparse import ArgumentParser
from typing import Any

from kebab.stack.configuration import StackConfiguration
from kebab.stack.holding import held_by_up
from kebab.stack.plan import Roles
from kebab.stack.reachability import check_port
from kebab.stack.supervisor import StopRequest, Supervisor
from kebab.stack.verbs import StackVerb


class Command(StackVerb):
    """Runs servers, web, workers, mirror and beat until SIGINT or SIGTERM; a second signal hastens the end."""

    help = "Run the whole stack in the foreground; Ctrl-C stops it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where the web process listens."""
        parser.add_argument("--host", help="address to listen on (default: KEBAB_HOST)")
        parser.add_argument("--port", type=int, help="port to listen on (default: KEBAB_PORT)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until asked to stop."""
        configuration = StackConfiguration.from_settings(host=options["host"], port=options["port"])
        stop = StopRequest()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop.ask)
        configuration.directory.ensure()
        with held_by_up(configuration.directory, self.tell):
            check_port(configuration.host, configuration.port)
            self.tell(f"Starting the stack on {configuration.directory.path} ...")
            Supervisor(configuration, Roles.ALL, announce=self.tell).run(
                stop, on_ready=lambda: self.tell(f"Kebab serves at {configuration.url} (Ctrl-C stops it)")
            )
        self.tell("The stack has stopped.")
