"""`kebab eval gate`: what the golden queries say of other settings, without having them."""

import argparse

from ingest.cli.evaluation.subcommands import Options, SubVerb
from ingest.quality_gate.gate import verdict_of
from kebab.cli.command import BaseVerb
from kebab.cli.errors import Exit
from kebab.cli.output import plain, table
from kebab.cli.settings import settings_of
from kebab.people.models import Workspace
from search.cli.progress_bars import bar
from search.evaluation.gate import Verdict

_TOPICS = 20


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        action="append",
        required=True,
        metavar="NAME=VALUE",
        help="a setting to try, like fusion=convex; without a value: the default",
    )


def _gate(verb: BaseVerb, workspace: Workspace, options: Options) -> int:
    asked = 0
    with bar(verb.remarks, "Asking") as shown:

        def advance() -> None:
            nonlocal asked
            asked += 1
            shown.show(asked, 0)  # of how many is not known before it is done

        verdict = verdict_of(workspace, settings_of(options["set"]), advance=advance)
        shown.finish()
    _show(verb, verdict)
    return Exit.DONE if verdict.passes else Exit.NOTHING


def _show(verb: BaseVerb, verdict: Verdict) -> None:
    changed = verdict.differences(_TOPICS)
    if verb.as_json:
        told = [{"topic_id": topic, "query": text, "difference": gain} for topic, text, gain in changed]
        verb.print_json(
            {
                "schema_version": "eval_gate.v1",
                "passes": verdict.passes,
                "figures": verdict.figures or None,
                "per_topic": told,
            }
        )
        return
    verb.console.print(plain(verdict.sentence))
    if changed:
        rows = [{"topic": topic, "query": text, "change": f"{gain:+.4f}"} for topic, text, gain in changed]
        verb.console.print(table(("topic", "query", "change"), rows))


SUBVERBS = (
    SubVerb(
        name="gate",
        meaning="ask the golden queries under other settings; exit 1 when they get worse",
        run=_gate,
        add_arguments=_arguments,
    ),
)
