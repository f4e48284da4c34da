"""`kebab search QUERY`."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from kebab.cli.command import BaseVerb
from kebab.cli.errors import CliError, Exit
from kebab.cli.lookup import the_workspace
from kebab.cli.parser import add_workspace, given_path
from kebab.people.models import Workspace
from kebab.people.reader import OPERATOR
from search.api.query import make_query
from search.cli.filters import add_filters, given_filters
from search.cli.hits import print_explanation, print_result, summary
from search.engine.pages import next_page
from search.engine.search import search
from search.models import Door
from search.query_log.recorder import note_query
from search.retrieval.degradation import shortcomings
from search.retrieval.types import MAX_K, Fusion, Mode, SearchResult
from search.retrieval.wire import result_to_wire

# Whom cursors are bound to: whoever may run verbs here.
_CALLER = "command-line"
# Options that are called what the fields of the HTTP API are called.
_FIELDS = ("mode", "fusion", "k", "per_file_cap", "rerank", "cutoff", "explain", "why_not")


class Command(BaseVerb):
    help = (
        "Search a workspace. A filter that is given more than once lets through what any of them does;"
        " --path-not-glob leaves out what fits any."
    )
    needs = "servers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        asked = parser.add_mutually_exclusive_group(required=True)
        asked.add_argument("query", nargs="?")
        asked.add_argument("--cursor", metavar="C", help="the page behind this cursor; only -k goes with it")
        add_workspace(parser)
        parser.add_argument(
            "--bundle",
            type=given_path,
            metavar="FILE",
            help="search what kebab export wrote, as it lies; no servers are needed",
        )
        parser.add_argument("--mode", choices=[mode.value for mode in Mode], help="default: hybrid")
        parser.add_argument(
            "--fusion", choices=[fusion.value for fusion in Fusion], help="default: the workspace's"
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
        parser.add_argument("--explain", action="store_true", help="say how the list came about")
        parser.add_argument(
            "--why-not", metavar="ID", help="say why this chunk or document is not among the hits"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Run without the servers where a file has all that there is to search."""
        if options["bundle"] is not None:
            self.needs = None  # type: ignore[misc]  # of this one run
        super().handle(*args, **options)

    def run_verb(self, *, workspace: str | None, bundle: Path | None, **options: Any) -> int:
        if bundle is not None:
            return self._tell(*_answer_from_bundle(bundle, workspace, options))
        scope = self.act_in(the_workspace(workspace))
        return self._tell(_answer(scope, options), scope)

    def _tell(self, result: SearchResult, workspace: Workspace) -> int:
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
        for sentence in shortcomings(result):
            self.remarks.print(sentence)
        if result.next_cursor is not None:
            self.remarks.print(f"More hits: kebab search --cursor {result.next_cursor}", soft_wrap=True)


def _answer(workspace: Workspace, options: dict[str, Any]) -> SearchResult:
    """Ask what the HTTP API asks for the same fields."""
    given, filters = _given(options), given_filters(options)
    if options["cursor"] is None:
        query = make_query(workspace, given, filters)
        # No mirror follower need run beside this process: it waits for what is committed now.
        result = search(workspace, query, reader=OPERATOR, min_seq=workspace.head_seq, caller=_CALLER)
        note_query(workspace, result, door=Door.CLI, caller=_CALLER)
        return result
    beside = sorted((given | filters).keys() - {"k"})
    if beside:
        raise CliError(f"A cursor has its query already; leave out: {', '.join(beside)}.")
    return next_page(workspace, options["cursor"], _CALLER, reader=OPERATOR, k=given.get("k", 0))


def _answer_from_bundle(
    path: Path, workspace: str | None, options: dict[str, Any]
) -> tuple[SearchResult, Workspace]:
    from search.bundles.search.pipeline import SearchableBundle  # other searches do without

    named = {"--workspace": workspace, "--cursor": options["cursor"], "--why-not": options["why_not"]}
    beside = [name for name, value in named.items() if value is not None]
    if beside:
        raise CliError(f"A bundle is one workspace, and answers at once; leave out: {', '.join(beside)}.")
    bundle = SearchableBundle(path)
    try:
        query = make_query(bundle.workspace, _given(options), given_filters(options))
        return bundle.search(query), bundle.workspace
    finally:
        bundle.close()


def _given(options: dict[str, Any]) -> dict[str, Any]:
    given = {"q": options["query"]} | {name: options[name] for name in _FIELDS}
    return {name: value for name, value in given.items() if value is not None and value is not False}
