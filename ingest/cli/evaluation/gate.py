"""`kebab eval gate`: a trial of other settings on the golden queries."""

import argparse

from ingest.cli.evaluation.subcommands import Options, Subcommand
from ingest.quality_gate.gate import judge_settings
from ingest.quality_gate.older_chunks import replace_older_chunks
from kebab.cli.command import KebabCommand
from kebab.cli.output import plain, table
from kebab.cli.progress_bars import bar
from kebab.cli.settings import parse_settings
from kebab.exit_codes import Exit
from kebab.identity.models import Workspace
from kebab.people.operator import command_line_access
from search.evaluation.gate import GateVerdict

_TOPICS = 20


def _arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting to try, like fusion=convex; without a value: the default",
    )
    what.add_argument("--force", action="store_true", help="replace chunks of an older version")


def _judge_settings(command: KebabCommand, workspace: Workspace, options: Options) -> int:
    if options["force"]:
        replace_older_chunks(command_line_access(workspace))
        _show(command, GateVerdict(), sentence="New chunks were requested to replace older ones.")
        return Exit.DONE
    settings, done = parse_settings(options["set"]), 0
    with bar(command.remarks, "Asking") as progress:

        def advance() -> None:
            nonlocal done
            done += 1
            progress.show(done, 0)  # the total is not known in advance

        verdict = judge_settings(workspace, settings, advance=advance)
        progress.finish()
    _show(command, verdict)
    return Exit.DONE if verdict.passes else Exit.NOTHING


def _show(command: KebabCommand, verdict: GateVerdict, *, sentence: str = "") -> None:
    changed = verdict.differences(_TOPICS)
    if command.as_json:
        per_topic = [{"topic_id": topic, "query": text, "difference": gain} for topic, text, gain in changed]
        command.print_json(
            {
                "schema_version": "eval_gate.v1",
                "passes": verdict.passes,
                "figures": verdict.figures or None,
                "per_topic": per_topic,
            }
        )
        return
    command.console.print(plain(sentence or verdict.sentence))
    if changed:
        rows = [{"topic": topic, "query": text, "change": f"{gain:+.4f}"} for topic, text, gain in changed]
        command.console.print(table(("topic", "query", "change"), rows))


SUBCOMMANDS = (
    Subcommand(
        name="gate",
        meaning="ask the golden queries under other settings; exit 1 when they get worse",
        run=_judge_settings,
        add_arguments=_arguments,
    ),
)
