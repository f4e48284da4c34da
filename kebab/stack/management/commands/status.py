"""`kebab status`: which processes run where, and how far behind they are."""

import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, TextIO

from kebab.cli.console import people_console, table, write_json
from kebab.stack.configuration import StackConfiguration
from kebab.stack.listing import Listing, current_listing
from kebab.stack.state import running_state
from kebab.stack.verbs import StackVerb

_UNHEALTHY = 3


class Command(StackVerb):
    """Lists processes, queues and what the apps report; exit status 3 when no stack runs or a process is silent."""

    help = "Show processes with pids, nodes, queues and lag."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """How to print."""
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the listing."""
        configuration = StackConfiguration.from_settings()
        if configuration.has_embedded_postgres and running_state(configuration.directory.path) is None:
            listing = Listing(
                node=configuration.node_id, url="", is_running=False, processes=(), queues=None, reports={}
            )
        else:
            listing = current_listing(configuration)
        if options["json"]:
            write_json(self.stdout, listing.as_json())
        else:
            _print_tables(listing, configuration, self.stdout)
        if not listing.is_running or not all(row.is_alive for row in listing.processes):
            sys.exit(_UNHEALTHY)


def _print_tables(listing: Listing, configuration: StackConfiguration, stream: TextIO) -> None:
    console = people_console(stream)
    if not listing.is_running:
        console.print(f"No stack runs on {configuration.directory.path}; `kebab up` starts one.")
    tables: dict[str, Sequence[Mapping[str, Any]]] = {
        "Processes": [asdict(row) for row in listing.processes],
        "Queues": [{"queue": name, "waiting": n} for name, n in (listing.queues or {}).items()],
        **{name.capitalize(): rows for name, rows in listing.reports.items()},
    }
    for title, rows in tables.items():
        if rows:
            console.print(title)
            console.print(table(list(rows[0]), rows))
            console.print()
