"""Runs and comparisons as tables and as JSON."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rich.table import Table

from ingest.cli.evaluation.lookup import shown_id
from kebab.cli.output import table
from search.evaluation.comparison import Comparison
from search.models import Run

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
