"""`kebab status`: the running processes, queues and lag of all nodes."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console

from kebab.cli.command import KebabCommand
from kebab.cli.errors import Exit
from kebab.cli.output import table
from kebab.stack.configuration import StackConfiguration
from kebab.stack.nodes.process_list import Listing, build_listing
from kebab.stack.supervisor.state import running_state


class Command(KebabCommand):
    """Lists processes, queues and the apps' reports; exit code 3 if no stack runs or a process is silent."""

    help = "Show processes with pids, nodes, queues and lag."

    def run_command(self, **options: Any) -> Exit:
        """Print the listing."""
        configuration = StackConfiguration.from_settings()
        if configuration.has_embedded_postgres and running_state(configuration.directory.path) is None:
            listing = Listing(
                node=configuration.node_id, url="", is_running=False, processes=(), queues=None, reports={}
            )
        else:
            listing = build_listing(configuration)
        if self.as_json:
            self.print_json(listing.as_json())
        else:
            _print_tables(listing, configuration, self.console)
        is_healthy = listing.is_running and all(row.is_alive for row in listing.processes)
        return Exit.DONE if is_healthy else Exit.UNHEALTHY


def _print_tables(listing: Listing, configuration: StackConfiguration, console: Console) -> None:
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
