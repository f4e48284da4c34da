"""The command `kebab search QUERY`."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from kebab.cli.command import KebabCommand, Needs
from kebab.cli.errors import CliError, Exit
from kebab.cli.lookup import find_workspace
from kebab.cli.parser import add_workspace, path_argument
from kebab.people.models import Workspace
from kebab.people.reader import OPERATOR
from search.api.query import make_query
from search.cli.filters import add_filters, filters_from_options
from search.cli.hits import print_explanation, print_result, summary
from search.engine.pages import fetch_next_page
from search.engine.search import search
from search.models import Door
from search.query_log.recorder import record_query
from search.retrieval.degradation import degradation_messages
from search.retrieval.types import MAX_K, Fusion, Group, Mode, SearchResult
from search.retrieval.wire import result_to_wire

# The identity that cursors are bound to: anybody who may run commands here.
_CALLER = "command-line"
# Options with the names of the HTTP API's fields.
_FIELDS = (
    *("mode", "fusion", "group", "k", "per_file_cap"),
    *("rerank", "cutoff", "floor", "explain", "why_not"),
)


class Command(KebabCommand):
    help = (
        "Search a workspace. A filter that is given more than once lets through what any of them does;"
        " --path-not-glob leaves out what fits any."
    )
    needs: Needs = "servers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        query_group = parser.add_mutually_exclusive_group(required=True)
        query_group.add_argument("query", nargs="?")
        query_group.add_argument(
            "--cursor", metavar="C", help="the page behind this cursor; only -k goes with it"
        )
        add_workspace(parser)
        parser.add_argument(
            "--bundle",
            type=path_argument,
            metavar="FILE",
            help="search what kebab export wrote, as it lies; no servers are needed",
        )
        parser.add_argument("--mode", choices=[mode.value for mode in Mode], help="default: hybrid")
        parser.add_argument(
            "--fusion", choices=[fusion.value for fusion in Fusion], help="default: the workspace's"
        )
        parser.add_argument(
            "--group", choices=[group.value for group in Group], help="what a hit is; default: passage"
        )
        parser.add_argument("-k", type=int, metavar="N", help=f"at most so many hits, up to {MAX_K}")
        add_filters(parser)
        parser.add_argument(
            "--per-file-cap", type=int, metavar="N", help="at most so many hits of one document"
        )
        parser.add_argument("--rerank", action="store_true", help="have the first candidates read again")
        parser.add_argument(
            "--cutoff", action="store_true", help="end where it stops being about the question"
        )
        parser.add_argument(
            "--floor", action="store_true", help="leave out hits that are only related to the query"
        )
        parser.add_argument("--explain", action="store_true", help="say how the list came about")
        parser.add_argument(
            "--why-not", metavar="ID", help="say why this chunk or document is not among the hits"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Run without the servers if a bundle is searched."""
        if options["bundle"] is not None:
            self.needs = None  # for this run only
        super().handle(*args, **options)

    def run_command(self, *, workspace: str | None, bundle: Path | None, **options: Any) -> int:
        if bundle is not None:
            return self._report(*_search_bundle(bundle, workspace, options))
        scope = self.act_in(find_workspace(workspace))
        return self._report(_run_search(scope, options), scope)

    def _report(self, result: SearchResult, workspace: Workspace) -> int:
        if self.as_json:
            self.print_json(result_to_wire(result))
        else:
            self._show(result, workspace)
        return Exit.DONE if result.hits else Exit.NOTHING

    def _show(self, result: SearchResult, workspace: Workspace) -> None:
        if result.explain is not None:
            print_explanation(self.console, result)
        print_result(self.console, result)
        if result.hits:
            self.remarks.print(summary(result))
        else:
            self.remarks.print(f"Nothing was found in {workspace.slug}. Try fewer words or fewer filters.")
        for sentence in degradation_messages(result):
            self.remarks.print(sentence)
        if result.next_cursor is not None:
            self.remarks.print(f"More hits: kebab search --cursor {result.next_cursor}", soft_wrap=True)


def _run_search(workspace: Workspace, options: dict[str, Any]) -> SearchResult:
    """Run the search that the HTTP API runs for the same fields."""
    given, filters = _request_fields(options), filters_from_options(options)
    if options["cursor"] is None:
        query = make_query(workspace, given, filters)
        # No mirror follower has to run: this process waits until the mirror has all that is committed now.
        result = search(workspace, query, reader=OPERATOR, min_seq=workspace.head_seq, caller=_CALLER)
        record_query(workspace, result, door=Door.CLI, caller=_CALLER)
        return result
    extra = sorted((given | filters).keys() - {"k"})
    if extra:
        raise CliError(f"A cursor has its query already; leave out: {', '.join(extra)}.")
    return fetch_next_page(workspace, options["cursor"], _CALLER, reader=OPERATOR, k=given.get("k", 0))


def _search_bundle(
    path: Path, workspace: str | None, options: dict[str, Any]
) -> tuple[SearchResult, Workspace]:
    from search.bundles.search.pipeline import SearchableBundle  # other searches don't need it

    unusable = {"--workspace": workspace, "--cursor": options["cursor"], "--why-not": options["why_not"]}
    extra = [name for name, value in unusable.items() if value is not None]
    if extra:
        raise CliError(f"A bundle is one workspace, and answers at once; leave out: {', '.join(extra)}.")
    bundle = SearchableBundle(path)
    try:
        query = make_query(bundle.workspace, _request_fields(options), filters_from_options(options))
        return bundle.search(query), bundle.workspace
    finally:
        bundle.close()


def _request_fields(options: dict[str, Any]) -> dict[str, Any]:
    given = {"q": options["query"]} | {name: options[name] for name in _FIELDS}
    return {name: value for name, value in given.items() if value is not None and value is not False}
