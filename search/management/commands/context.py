"""The command `kebab context REQUEST`."""

from typing import Any

from django.core.management.base import CommandParser

from kebab.cli.command import KebabCommand
from kebab.cli.errors import Exit
from kebab.cli.lookup import find_workspace
from kebab.cli.output import plain
from kebab.cli.parser import add_workspace
from kebab.people.models import Workspace
from kebab.people.reader import OPERATOR
from search.api.context_pack import context_request
from search.cli.filters import add_filters, filters_from_options
from search.context import CODE_BUDGET, MAX_BUDGET, Budget, BudgetUnit, ContextPack, build_context_pack
from search.context.text_format import pack_text
from search.context.wire import pack_to_wire


class Command(KebabCommand):
    help = (
        "Gather what an information request needs, cited and within a budget, as agents are given it."
        " Files are ranked whole, as code asks for; --passages ranks single passages."
    )
    needs = "servers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("request", metavar="REQUEST", help="what is to be known, in plain words")
        parser.add_argument(
            "--term",
            action="append",
            default=[],
            metavar="T",
            help="a name that the answer is likely to hold",
        )
        add_workspace(parser)
        parser.add_argument(
            "--tokens",
            type=int,
            default=CODE_BUDGET.total,
            metavar="N",
            help=f"the budget, 1 to {MAX_BUDGET} (default: {CODE_BUDGET.total})",
        )
        parser.add_argument("--overview", action="store_true", help="list files and names before the text")
        parser.add_argument("--passages", action="store_true", help="rank passages, not files")
        add_filters(parser)

    def run_command(self, *, workspace: str | None, **options: Any) -> int:
        scope = self.act_in(find_workspace(workspace))
        pack = _pack(scope, options)
        if self.as_json:
            self.print_json(pack_to_wire(pack))
        else:
            self._show(pack)
        return Exit.NOTHING if pack.is_empty else Exit.DONE

    def _show(self, pack: ContextPack) -> None:
        self.console.print(plain(pack_text(pack)), markup=False, soft_wrap=True)
        use = pack.budget
        self.remarks.print(f"{use.used:,} of {use.total:,} {use.unit} in {pack.took_ms:.0f} ms.")
        for sentence in pack.warnings:
            self.remarks.print(sentence)


def _pack(workspace: Workspace, options: dict[str, Any]) -> ContextPack:
    """Build the pack as the HTTP API does for the same fields."""
    given = {
        "information_request": options["request"],
        "technical_terms": options["term"],
        "budget": Budget(unit=BudgetUnit.TOKENS, total=options["tokens"]),
        "by_file": not options["passages"],
        "response_mode": "overview" if options["overview"] else "text",
        "cutoff": True,
        "filters": filters_from_options(options),
    }
    request = context_request(workspace, given)
    # No mirror follower has to run: this process waits until the mirror has all that is committed now.
    return build_context_pack(workspace, OPERATOR, request, min_seq=workspace.head_seq)
