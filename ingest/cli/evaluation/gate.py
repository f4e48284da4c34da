"""`kebab eval gate`: a trial of other settings, or of new chunks, on the golden queries."""

import argparse

from ingest.cli.evaluation.subcommands import Options, Subcommand
from ingest.quality_gate.gate import judge_settings
from ingest.quality_gate.older_chunks import replace_older_chunks
from kebab.cli.command import KebabCommand
from kebab.cli.errors import CliError, Exit
from kebab.cli.output import plain, table
from kebab.cli.progress_bars import bar
from kebab.cli.settings import parse_settings
from kebab.people.models import Workspace
from kebab.people.operator import command_line_access
from search.evaluation.gate import GateVerdict

_TOPICS = 20


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting to try, like fusion=convex; without a value: the default. Without --set: new chunks"
        " in place of those of an older version",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="without --set: replace chunks of an older version, whatever the verdict",
    )


def _judge_settings(command: KebabCommand, workspace: Workspace, options: Options) -> int:
    settings = parse_settings(options["set"])
    if settings and options["force"]:
        raise CliError("--force replaces older chunks; give it without --set.", code="invalid_request")
    done = 0
    with bar(command.remarks, "Asking") as progress:

        def advance() -> None:
            nonlocal done
            done += 1
            progress.show(done, 0)  # the total is not known in advance

        if options["force"]:
            access = command_line_access(workspace)
            verdict = replace_older_chunks(access, is_forced=True, advance=advance)
        else:
            verdict = judge_settings(workspace, settings, advance=advance)
        progress.finish()
    _show(command, verdict)
    return Exit.DONE if verdict.passes or options["force"] else Exit.NOTHING


def _show(command: KebabCommand, verdict: GateVerdict) -> None:
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
    command.console.print(plain(verdict.sentence))
    if changed:
        rows = [{"topic": topic, "query": text, "change": f"{gain:+.4f}"} for topic, text, gain in changed]
        command.console.print(table(("topic", "query", "change"), rows))


SUBCOMMANDS = (
    Subcommand(
        name="gate",
        meaning="ask the golden queries under other settings or new chunks; exit 1 when they get worse",
        run=_judge_settings,
        add_arguments=_arguments,
    ),
)
