"""Printed tables of a measurement."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from kebab.cli.output import table

_FIGURES = ("figure", "value", "unit", "budget", "met", "note")
_VERDICTS = {True: "yes", False: "no", None: ""}


def show(console: Console, document: Mapping[str, Any]) -> None:
    """Print a `bench.v1` as tables, and its conditions on a line."""
    if document["figures"]:
        console.print(table(_FIGURES, map(_figure, document["figures"])))
    console.print("  ".join(f"{name} {value}" for name, value in document["conditions"].items()), style="dim")


def _figure(row: Mapping[str, Any]) -> dict[str, Any]:
    value = "-" if row["value"] is None else _amount(row["value"])
    return {**row, "figure": row["name"], "value": value, "met": _VERDICTS[row["is_met"]]}


def _amount(value: float) -> str:
    return f"{value:,.1f}" if value >= 10 else f"{value:.3g}"
