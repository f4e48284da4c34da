"""`kebab node list` and `kebab node forget`."""

from typing import Any

from django.core.management.base import CommandParser

from kebab.cli.command import KebabCommand, add_subcommand
from kebab.cli.output import table
from kebab.exit_codes import Exit
from kebab.people import audit
from kebab.stack.nodes.registry import forget_node, list_nodes
from kebab.stack.supervisor.plan import Roles


class Command(KebabCommand):
    help = "List the nodes whose processes are heard of, and forget one that has ended."
    needs = Roles.SERVERS

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        subcommands = parser.add_subparsers(dest="what", required=True, metavar="list|forget")
        add_subcommand(subcommands, "list", "list nodes with their processes")
        forget = add_subcommand(
            subcommands, "forget", "take a node that has ended out of status now, not in ten minutes"
        )
        forget.add_argument("node", help="its KEBAB_NODE_ID")

    def run_command(self, *, what: str, **options: Any) -> int:
        if what == "forget":
            return self._forget(options["node"])
        rows = list_nodes()
        if self.as_json:
            self.print_json({"schema_version": "nodes.v1", "nodes": rows})
        elif rows:
            self.console.print(table(list(rows[0]), rows))
        return Exit.DONE if rows else Exit.NOTHING

    def _forget(self, node: str) -> int:
        processes = forget_node(node)
        audit.record_person(audit.operator_actor(), "node.forgotten", node)
        return self.answer({"node": node, "processes": processes}, f"Forgot {node}, {processes} processes.")
