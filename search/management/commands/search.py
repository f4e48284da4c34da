"""`kebab search QUERY`."""

from typing import Any

from django.core.management.base import CommandParser

from kebab.cli.errors import Exit
from kebab.cli.resolve import the_workspace
from kebab.cli.verb import BaseVerb
from kebab.people.models import Workspace
from search.api.query import make_query
from search.cli.hits import print_explanation, print_result, shortcomings, summary
from search.engine import search
from search.retrieval.filters import TrustLevel
from search.retrieval.types import MAX_K, Mode, SearchResult
from search.retrieval.wire import result_to_wire


class Command(BaseVerb):
    help = "Search a workspace. A filter that is given more than once lets through what any of them does."
    needs = "servers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("query")
        parser.add_argument("--workspace", metavar="W", help="slug or id; not needed when there is only one")
        parser.add_argument("--mode", choices=[mode.value for mode in Mode], default=Mode.HYBRID.value)
        parser.add_argument("-k", type=int, metavar="N", help=f"at most so many hits, up to {MAX_K}")
        for name, meaning in {
            "tag": "documents with this tag",
            "lang": "documents in this language",
            "path-glob": "paths like guides/**/*.md",
            "source": "this source, by name or id",
            "version": "this version; without it the default ones",
        }.items():
            parser.add_argument(f"--{name}", action="append", default=[], metavar="X", help=meaning)
        parser.add_argument(
            "--trust-min",
            choices=[level.value for level in TrustLevel],
            help="this trust level or a better one",
        )
        parser.add_argument("--explain", action="store_true", help="say how the list came about")

    def run_verb(self, *, workspace: str | None, **options: Any) -> int:
        scope = the_workspace(workspace)
        # No mirror follower need run beside this process: it waits for what is committed now.
        result = search(scope, make_query(scope, _given(options), _filters(options)), min_seq=scope.head_seq)
        if self.as_json:
            self.print_json(result_to_wire(result))
        else:
            self._show(result, scope)
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


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """Give the fields of the HTTP API that the arguments stand for: both doors then ask the same query."""
    given = {"q": options["query"], "mode": options["mode"], "explain": options["explain"]}
    return given if options["k"] is None else {**given, "k": options["k"]}


def _filters(options: dict[str, Any]) -> dict[str, Any]:
    filters = {"tags_any": options["tag"]}
    filters |= {name: options[name] for name in ("lang", "path_glob", "source", "version", "trust_min")}
    return {name: value for name, value in filters.items() if value}
