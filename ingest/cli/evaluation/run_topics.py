"""`kebab eval run`: an evaluation of a set of topics in each mode, stored as runs."""

import argparse
import signal
from argparse import ArgumentTypeError
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.conf import settings as configured
from rich.table import Table

from ingest.cli.evaluation.lookup import find_run, shown_id
from ingest.cli.evaluation.subcommands import Options, Subcommand, depth, fusions, modes, named_runs, number
from kebab.cli.command import KebabCommand
from kebab.cli.errors import CliError
from kebab.cli.output import plain, table
from kebab.cli.progress_bars import counting_bar
from kebab.cli.settings import parse_settings
from kebab.exit_codes import Exit
from kebab.identity.caller import Access
from kebab.identity.models import Workspace
from kebab.identity.reader import OPERATOR
from kebab.people.operator import command_line_access
from kebab.wire import to_wire
from search.evaluation.comparison import Comparison
from search.evaluation.metrics import DEFAULT_MEASURES, check_measures
from search.evaluation.runs import compare_runs, end_run, execute_run, format_trec_run, open_run, repeat_run
from search.evaluation.settings import DEFAULT_DEPTH, RunSettings
from search.evaluation.topic_sets import judged_topics
from search.mirror import local_mirrors
from search.models import Run, RunState, RunTopic
from search.models.evaluation import GOLDEN
from search.retrieval.errors import InvalidMeasure
from search.retrieval.types import Mode

_LATENCIES = ("p50_ms", "p95_ms", "p99_ms")
_COMPARED = ("measure", "first", "second", "difference", "wins", "losses", "draws", "p_value", "interval")


def run_facts(run: Run) -> dict[str, Any]:
    """Return a run and its results, JSON-ready."""
    return {
        "id": str(run.pk),
        "name": run.name,
        "set": run.topic_set,
        "state": run.state,
        "settings": run.settings,
        **run.figures.get("measures", {}),
        **{name: value for name, value in run.figures.items() if name != "measures"},
        "error": run.error or None,
        "created_by": run.created_by,
        "created_at": run.created_at,
        "finished_at": run.finished_at,
    }


def figures_table(runs: Mapping[str, Run]) -> Table:
    """Return a table with a row of figures for each run, by name."""
    measures = list(dict.fromkeys(name for run in runs.values() for name in run.figures.get("measures", {})))
    rows = [
        {
            "run": name,
            "id": shown_id(run),
            **_format_floats(run.figures.get("measures", {})),
            **_format_floats(run.figures),
        }
        for name, run in runs.items()
    ]
    return table(("run", *measures, *_LATENCIES, "id"), rows)


def comparison_table(found: Comparison) -> Table:
    """Return a table with a row for each measure."""
    rows = [
        {
            **asdict(each),
            "measure": name,
            **_format_floats({"first": each.first, "second": each.second}),
            "difference": f"{each.difference:+.4f}",
            "p_value": f"{each.p_value:.4f}",
            "interval": "{:+.4f} … {:+.4f}".format(*each.interval),
        }
        for name, each in found.measures.items()
    ]
    return table(_COMPARED, rows)


def differences_table(per_topic: Mapping[str, float], most: int) -> Table:
    """Return a table of the `most` topics that changed most, losses first.

    `per_topic` has the largest loss first.
    """
    changed = [(topic, value) for topic, value in per_topic.items() if value]
    half = most // 2
    shown = changed if len(changed) <= most else [*changed[: most - half], *changed[len(changed) - half :]]
    return table(
        ("topic", "difference"), [{"topic": name, "difference": f"{value:+.4f}"} for name, value in shown]
    )


def _format_floats(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: f"{value:.4g}" for name, value in values.items() if isinstance(value, float)}


def measures(text: str) -> tuple[str, ...]:
    """Return the measures of a comma-separated list. Raises ArgumentTypeError."""
    try:
        return check_measures(name.strip() for name in text.split(","))
    except InvalidMeasure as error:
        raise ArgumentTypeError(str(error)) from error


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--set", metavar="S", help=f"of these topics ({GOLDEN})")
    parser.add_argument(
        "--repeat", metavar="RUN", help="the topics, judgements and settings of this run again"
    )
    parser.add_argument("--modes", type=modes, default=tuple(Mode), help="of lexical,vector,hybrid (all)")
    parser.add_argument(
        "--fusion", type=fusions, default=(), help="of rrf,convex for hybrid (the workspace's)"
    )
    parser.add_argument(
        "--k", type=depth, default=DEFAULT_DEPTH, metavar="N", help=f"documents a query ({DEFAULT_DEPTH})"
    )
    parser.add_argument(
        "--per-file-cap", type=number, metavar="N", help="at most so many hits of one document"
    )
    parser.add_argument("--rerank", action="store_true", help="have the first candidates read again")
    parser.add_argument("--cutoff", action="store_true", help="end where it stops being about the question")
    parser.add_argument(
        "--setting",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the workspace that ranks, for this run alone; may be repeated",
    )
    parser.add_argument(
        "--measures",
        type=measures,
        default=DEFAULT_MEASURES,
        metavar="M,…",
        help=f"as ir-measures writes them ({','.join(DEFAULT_MEASURES)})",
    )
    parser.add_argument("--name", default="", metavar="NAME", help="what the run is called")
    parser.add_argument("--baseline", metavar="RUN", help="compare with this run")
    parser.add_argument("--trec", type=Path, metavar="FILE", help="write the rankings for trec_eval")


def _run(command: KebabCommand, workspace: Workspace, options: Options) -> int:
    # SIGTERM cancels the run, so that it is not left in state running.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    access = command_line_access(workspace)
    baseline = None if options["baseline"] is None else find_run(access, options["baseline"])
    local_mirrors.wait_for_seq(workspace.pk, workspace.head_seq, limit_s=configured.KEBAB_WAIT_LIMIT_S)
    runs = {name: _carry_out(command, run, name) for name, run in _open_runs(access, options).items()}
    written = [] if options["trec"] is None else _write_run_files(runs, options["trec"])
    compared = {} if baseline is None else {name: compare_runs(baseline, run) for name, run in runs.items()}
    if command.as_json:
        comparisons = {name: to_wire(found) for name, found in compared.items()}
        facts = {name: run_facts(run) for name, run in runs.items()}
        extra = {"baseline": str(baseline.pk), "comparisons": comparisons} if baseline is not None else {}
        command.print_json(
            {
                "schema_version": "eval_runs.v1",
                "runs": facts,
                "written": [str(path) for path in written],
                **extra,
            }
        )
        return Exit.DONE
    first = next(iter(runs.values()))
    command.console.print(plain(f"{first.topic_set}: {first.figures['topics']:,} topics"))
    command.console.print(figures_table(runs))
    if baseline is not None:
        for name, found in compared.items():
            command.console.print(plain(f"\n{name} against {shown_id(baseline)}:"))
            command.console.print(comparison_table(found))
    return Exit.DONE


def _open_runs(access: Access, options: Options) -> dict[str, Run]:
    """Queue the requested runs, and return them by the names of their modes. Raises CliError, SearchError."""
    if options["repeat"] is not None:
        run = repeat_run(access, find_run(access, options["repeat"]), name=options["name"])
        return {str(run.settings["mode"]): run}
    topic_set = options["set"] or GOLDEN
    topics = judged_topics(access, topic_set)
    if not topics:
        raise CliError(
            f"There is no topic in the set {topic_set!r}; see: kebab eval topics import --help",
            code="no_topics",
            exit_code=Exit.NOTHING,
        )
    wanted = {
        name: _settings(options, mode, fusion)
        for name, mode, fusion in named_runs(options["modes"], options["fusion"])
    }
    return {
        name: open_run(
            access,
            topics,
            settings,
            topic_set=topic_set,
            measures=options["measures"],
            name=_run_name(options["name"], name, len(wanted)),
        )
        for name, settings in wanted.items()
    }


def _settings(options: Options, mode: Mode, fusion: Any) -> RunSettings:
    given = {
        **parse_settings(options["setting"]),
        "mode": mode.value,
        "k": options["k"],
        "per_file_cap": options["per_file_cap"],
        "rerank": options["rerank"],
        "cutoff": options["cutoff"],
    }
    return RunSettings.of(given if fusion is None else {**given, "fusion": fusion.value})


def _run_name(name: str, mode: str, number: int) -> str:
    return f"{name}-{mode}" if name and number > 1 else name


def _carry_out(command: KebabCommand, run: Run, name: str) -> Run:
    try:
        with counting_bar(
            command.remarks,
            f"Asking, {name}",
            RunTopic.objects.in_workspace(run.workspace_id).filter(run=run.pk).count(),
        ) as advance:
            return execute_run(run, reader=OPERATOR, advance=advance)
    except KeyboardInterrupt:
        end_run(run, RunState.CANCELLED)
        raise


def _write_run_files(runs: dict[str, Run], target: Path) -> list[Path]:
    """Write a run to `target`, several next to it with their modes' names, and return the paths."""
    paths = {name: target if len(runs) == 1 else target.with_stem(f"{target.stem}-{name}") for name in runs}
    try:
        for name, path in paths.items():
            path.write_text(format_trec_run(runs[name]), encoding="utf-8")
    except OSError as error:
        raise CliError(f"{error.filename or target} can't be written: {error.strerror}.") from error
    return list(paths.values())


SUBCOMMANDS = (
    Subcommand(
        name="run",
        meaning="ask a set of topics in each mode, and keep the runs",
        run=_run,
        add_arguments=_add_arguments,
    ),
)
