"""`kebab eval runs | show | compare | delete`: the results of runs."""

import argparse
from typing import Any

from ingest.cli.evaluation.lookup import find_run, shown_id
from ingest.cli.evaluation.run_topics import (
    comparison_table,
    differences_table,
    figures_table,
    measures,
    run_facts,
)
from ingest.cli.evaluation.subcommands import Options, Subcommand, number
from ingest.services.evaluation import cancel_and_delete_run
from kebab.cli.command import KebabCommand
from kebab.cli.output import plain, table
from kebab.exit_codes import Exit
from kebab.identity.models import Workspace
from kebab.people.operator import command_line_access
from kebab.wire import to_wire
from search.evaluation.runs import compare_runs, visible_runs
from search.models import Run, RunTopic

_COLUMNS = ("id", "name", "set", "state", "mode", "measure", "mean", "p50_ms", "created_at", "created_by")
_LISTED = 50
_TOPICS = 20


def _runs_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--set", metavar="S", help="of this set alone (all)")
    parser.add_argument("--limit", type=number, default=_LISTED, metavar="N", help=f"the latest ({_LISTED})")


def _list(command: KebabCommand, workspace: Workspace, options: Options) -> int:
    runs = visible_runs(command_line_access(workspace)).order_by("-created_at", "id")
    if options["set"] is not None:
        runs = runs.filter(topic_set=options["set"])
    listed = list(runs[: options["limit"]])
    if command.as_json:
        command.print_json({"schema_version": "eval_run_list.v1", "runs": [run_facts(run) for run in listed]})
    else:
        command.console.print(table(_COLUMNS, map(_row, listed)))
    return Exit.DONE


def _row(run: Run) -> dict[str, Any]:
    """Return a run's row of the list, with the first of its measures."""
    means = run.figures.get("measures", {})
    name = next((each for each in run.measures if means.get(each) is not None), "")
    return {
        "id": shown_id(run),
        "name": run.name,
        "set": run.topic_set,
        "state": run.state,
        "mode": run.settings.get("mode"),
        "measure": name,
        "mean": f"{means[name]:.4g}" if name else "",
        "p50_ms": run.figures.get("p50_ms"),
        "created_at": run.created_at,
        "created_by": run.created_by,
    }


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="its id, the beginning of it, or its name")
    parser.add_argument(
        "--topics", type=number, default=_TOPICS, metavar="N", help=f"as many of the worst ({_TOPICS})"
    )


def _show(command: KebabCommand, workspace: Workspace, options: Options) -> int:
    run = find_run(command_line_access(workspace), options["run"])
    topics = list(RunTopic.objects.in_workspace(workspace).filter(run=run.pk).order_by("ordinal"))
    if command.as_json:
        per_topic = [_topic_facts(each) for each in topics]
        command.print_json(
            {"schema_version": "eval_run.v1", **run_facts(run), "record": run.record, "per_topic": per_topic}
        )
        return Exit.DONE
    command.console.print(
        plain(f"{run.pk} {run.name} ({run.state}), {run.topic_set}: {len(topics):,} topics")
    )
    command.console.print(figures_table({str(run.settings.get("mode")): run}))
    first = run.measures[0]
    worst = sorted(topics, key=lambda each: (each.measures.get(first, 2.0), each.ordinal))[
        : options["topics"]
    ]
    rows = [_topic_row(each, run.measures) for each in worst]
    command.console.print(table(("topic", "query", *run.measures, "ms", "first"), rows))
    return Exit.DONE


def _topic_facts(topic: RunTopic) -> dict[str, Any]:
    names = (
        *("topic_id", "text", "filters", "is_unanswerable", "judgements", "ranking"),
        *("measures", "ms", "is_empty", "is_refused"),
    )
    facts = {name: getattr(topic, name) for name in names}
    return {"query": facts.pop("text"), **facts}


def _topic_row(topic: RunTopic, names: list[str]) -> dict[str, Any]:
    values = {name: f"{topic.measures[name]:.4g}" for name in names if name in topic.measures}
    first = topic.ranking[0][2] if topic.ranking else ""
    return {"topic": topic.topic_id, "query": topic.text, **values, "ms": topic.ms, "first": first}


def _compare_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("baseline", metavar="BASELINE", help="the run that is compared with")
    parser.add_argument("run", metavar="RUN", help="the run that is better or worse")
    parser.add_argument("--measures", type=measures, metavar="M,…", help="of these measures (all)")
    parser.add_argument(
        "--topics", type=number, default=_TOPICS, metavar="N", help=f"as many that changed most ({_TOPICS})"
    )


def _compare(command: KebabCommand, workspace: Workspace, options: Options) -> int:
    access = command_line_access(workspace)
    baseline, run = find_run(access, options["baseline"]), find_run(access, options["run"])
    found = compare_runs(baseline, run, options["measures"])
    if command.as_json:
        named = {"baseline": str(baseline.pk), "run": str(run.pk)}
        command.print_json({"schema_version": "eval_comparison.v1", **named, **to_wire(found)})
        return Exit.DONE
    command.console.print(plain(f"{shown_id(run)} {run.name} against {shown_id(baseline)} {baseline.name}"))
    command.console.print(comparison_table(found))
    name, first = next(iter(found.measures.items()))
    command.console.print(f"\n{name} by topic:")
    command.console.print(differences_table(first.per_topic, options["topics"]))
    return Exit.DONE


def _delete(command: KebabCommand, workspace: Workspace, options: Options) -> int:
    access = command_line_access(workspace)
    run = find_run(access, options["run"])
    cancel_and_delete_run(access, run)
    facts = {"schema_version": "eval_run_deleted.v1", "id": str(run.pk)}
    return command.answer(facts, plain(f"Deleted the run {run.pk}."))


SUBCOMMANDS = (
    Subcommand(name="runs", meaning="list runs, the latest first", run=_list, add_arguments=_runs_arguments),
    Subcommand(name="show", meaning="say what came of a run", run=_show, add_arguments=_show_arguments),
    Subcommand(
        name="compare",
        meaning="compare a run with a baseline",
        run=_compare,
        add_arguments=_compare_arguments,
    ),
    Subcommand(
        name="delete",
        meaning="delete a run",
        run=_delete,
        add_arguments=lambda parser: parser.add_argument("run", metavar="RUN"),
    ),
)
