"""Plots of a run's latencies and gauges."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tests.drills.bench.report.plots import STYLE, save_figure

_COLOURS: Final = ("#d9622b", "#3b8ea5", "#8e6bbf", "#5a9e4b", "#a08a3c", "#8a8a8a", "#c0392b")
_SETTLING: Final = "#8a8a8a22"
#: File, title, series.
_GAUGES: Final = (
    (
        "load-memory.svg",
        "Memory, MB",
        ("web MB", "worker MB", "embedder MB", "mirror MB", "beat MB", "postgres MB", "redis MB"),
    ),
    ("load-counts.svg", "Counts", ("connections", "web files", "open jobs", "hints in Redis")),
    ("load-wal.svg", "Write-ahead log kept, MB", ("WAL MB",)),
)


def draw(folder: Path, found: Mapping[str, Any]) -> None:
    """Draw latencies and gauges of the steady load over time."""
    steady = found["steady"]
    with mpl.rc_context(STYLE):
        save_figure(_latencies(steady), folder / "load-latency.svg")
        for name, title, series in _GAUGES:
            save_figure(_gauges(title, steady, series), folder / name)


def _latencies(steady: Mapping[str, Any]) -> Figure:
    figure, axes = _axes("Hybrid search over HTTP, ms: p50 (line) and p95 (dashed)", steady)
    rows = steady["minutes"]
    minutes = [row["at_s"] / 60 for row in rows]
    axes.plot(minutes, [row["p50_ms"] for row in rows], color=_COLOURS[0])
    axes.plot(minutes, [row["p95_ms"] for row in rows], color=_COLOURS[0], linestyle="--")
    axes.set_ylim(bottom=0)
    return figure


def _gauges(title: str, steady: Mapping[str, Any], names: Sequence[str]) -> Figure:
    figure, axes = _axes(title, steady)
    for name, colour in zip(names, _COLOURS, strict=False):
        points = steady["gauges"].get(name, [])
        label = name.removesuffix(" MB")
        axes.plot(
            [at_s / 60 for at_s, _ in points], [value for _, value in points], color=colour, label=label
        )
    axes.set_ylim(bottom=0)
    if len(names) > 1:
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _axes(title: str, steady: Mapping[str, Any]) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(7.2, 2.6))
    axes = figure.subplots()
    axes.set_title(title)
    axes.set_xlabel("minutes")
    axes.grid()
    axes.axvspan(0, steady["settle_s"] / 60, color=_SETTLING, linewidth=0)
    return figure, axes
