"""Plots of the report, as SVG that is reproducible and readable on light and on dark pages."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

# A contrast of 4.5 with both white and black.
_INK: Final = "#767676"
_KEBAB, _PEER, _MISSED = "#d9622b", "#3b8ea5", "#c0392b"
_MODES: Final = {"lexical": "#3b8ea5", "vector": "#8e6bbf", "hybrid": "#d9622b", "http": "#5a9e4b"}
_LABELS: Final = {"http": "hybrid over HTTP"}
#: Style of all plots of the documentation.
STYLE: Final = {
    "svg.hashsalt": "kebab",
    "svg.fonttype": "path",
    "font.size": 9,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.titlecolor": _INK,
    "axes.edgecolor": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.axisbelow": True,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "grid.color": _INK,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "legend.labelcolor": _INK,
}
_WIDTH = 7.2
# Longer bars are cut at this percentage of the budget.
_LONGEST_SHARE = 160.0

Rows = Sequence[Mapping[str, Any]]


def draw(folder: Path, kind: str, found: Mapping[str, Any]) -> list[str]:
    """Draw the plots of one kind of figures, and return the names of the files."""
    names: list[str] = []

    def save(name: str, rows: Any, paint: Callable[[Any], Figure]) -> None:
        if rows:
            with mpl.rc_context(STYLE):
                save_figure(paint(rows), folder / name)
            names.append(name)

    if kind == "figures":
        save("budgets.svg", _with_budget(found["figures"]), _budgets)
    elif kind == "peers":
        peers = found["peers"]
        save("peers-latency.svg", peers["speed"], _peer_latencies)
        save("peers-throughput.svg", peers["http"], _throughput)
        hybrid = [row for row in peers["quality"] if row["group"] == "hybrid"]
        save("peers-quality.svg", hybrid, _quality)
    elif kind == "growth":
        rows = found["growth"]["rows"]
        for name, paint in _GROWTH.items():
            save(f"growth-{name}.svg", rows, paint)
    return names


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as SVG without metadata that differs from run to run."""
    metadata = {"Date": None, "Creator": None}
    figure.savefig(path, format="svg", transparent=True, metadata=metadata, bbox_inches="tight")


def _with_budget(figures: Rows) -> Rows:
    return [row for row in figures if row["is_met"] is not None]


def _budgets(figures: Rows) -> Figure:
    """Plot the used share of each budget: up to 100 % is met, for rates as for times."""
    shares = [
        row["value"] / row["at_most"] if row["at_most"] is not None else row["at_least"] / row["value"]
        for row in figures
    ]
    axes = _bars(len(figures), "Share of each budget that is used, % (dashed: the limit)")
    colours = [_PEER if row["is_met"] else _MISSED for row in figures]
    lengths = [min(share * 100, _LONGEST_SHARE) for share in shares]
    axes.barh(range(len(figures)), lengths, color=colours, height=0.65)
    for place, (row, share, length) in enumerate(zip(figures, shares, lengths, strict=True)):
        far = f", {share:.1f} × the budget" if share * 100 > _LONGEST_SHARE else ""
        axes.text(length, place, f" {row['value']:,.4g} {row['unit']}{far}", va="center", fontsize=8)
    axes.axvline(100, color=_INK, linewidth=1, linestyle="--")
    _label(axes, [row["name"] for row in figures])
    axes.set_xlim(0, _LONGEST_SHARE * 1.35)
    return _figure_of(axes)


def _peer_latencies(rows: Rows) -> Figure:
    axes = _bars(len(rows), "One search in one process, ms: p50 (bar) and p95 (line)")
    for place, row in enumerate(rows):
        colour = _colour(row["system"])
        axes.barh(place, row["p50_ms"], color=colour, height=0.6)
        axes.plot([row["p50_ms"], row["p95_ms"]], [place, place], color=colour, linewidth=1.5, marker="|")
        ratio = "" if row["system"] == "Kebab" else f", {row['p50_ratio']:.2g} × Kebab"
        axes.text(row["p95_ms"], place, f"  {row['p50_ms']:.1f} / {row['p95_ms']:.1f}{ratio}", va="center")
    _label(axes, [f"{row['system']} ({row['group']})" for row in rows])
    axes.set_xlim(right=max(row["p95_ms"] for row in rows) * 1.45)
    return _figure_of(axes)


def _throughput(rows: Rows) -> Figure:
    axes = _bars(len(rows), "Eight clients over HTTP, requests a second (p95 ms)")
    for place, row in enumerate(rows):
        axes.barh(place, row["requests_per_s"], color=_colour(row["system"]), height=0.6)
        text = f" {row['requests_per_s']:,.0f} ({row['p95_ms']:.0f} ms)"
        axes.text(row["requests_per_s"], place, text, va="center")
    _label(axes, [row["system"] for row in rows])
    axes.set_xlim(right=max(row["requests_per_s"] for row in rows) * 1.25)
    return _figure_of(axes)


def _quality(rows: Rows) -> Figure:
    """Plot a group of bars for each set."""
    sets = list(dict.fromkeys(row["set"] for row in rows))
    systems = list(dict.fromkeys(row["system"] for row in rows))
    worth = {(row["system"], row["set"]): row["nDCG@10"] for row in rows}
    axes = _axes(max(2.4, 0.2 * len(rows) / max(1, len(sets)) + 2.2), "nDCG@10, hybrid")
    width = 0.8 / len(systems)
    others = iter(("#3b8ea5", "#8e6bbf", "#5a9e4b", "#a08a3c", "#8a8a8a"))
    for number, system in enumerate(systems):
        colour = _KEBAB if system == "Kebab" else next(others, _PEER)
        places = [place + (number - (len(systems) - 1) / 2) * width for place in range(len(sets))]
        heights = [worth.get((system, name), 0.0) for name in sets]
        axes.bar(places, heights, width * 0.92, color=colour, label=system)
    axes.set_xticks(range(len(sets)), sets)
    axes.set_ylim(0, 1)
    axes.grid(axis="y")
    axes.legend(ncols=2, loc="upper left", bbox_to_anchor=(0, -0.12), fontsize=8)
    return _figure_of(axes)


def _latencies_by_size(rows: Rows) -> Figure:
    axes = _growing("Latency of a search, ms: p50 (line) and p95 (dashed)")
    for mode, colour in _MODES.items():
        found = [(row["chunks"], row["http"] if mode == "http" else row["modes"].get(mode)) for row in rows]
        known = [(chunks, each) for chunks, each in found if each]
        if known:
            _line(axes, [(chunks, each["p50_ms"]) for chunks, each in known], colour, _LABELS.get(mode, mode))
            _line(axes, [(chunks, each["p95_ms"]) for chunks, each in known], colour, None, "--")
    return _finish(axes, rows)


def _disk_by_size(rows: Rows) -> Figure:
    axes = _growing("Disk, MB")
    named = {
        "tables": "Postgres tables",
        "vector_index": "vector index",
        "mirror": "mirror",
        "codes": "vector codes",
    }
    for (name, label), colour in zip(named.items(), _MODES.values(), strict=False):
        known = [(row["chunks"], row["disk_mb"][name]) for row in rows if name in row["disk_mb"]]
        _line(axes, known, colour, label)
    return _finish(axes, rows)


def _rates_by_size(rows: Rows) -> Figure:
    axes = _growing("Ingest to searchable, chunks a second")
    _line(axes, [(row["chunks"], row["ingest_chunks_per_s"]) for row in rows], _KEBAB, None)
    axes.set_yscale("linear")
    axes.set_ylim(bottom=0)
    return _finish(axes, rows)


def _memory_by_size(rows: Rows) -> Figure:
    axes = _growing("Memory, MB")
    names = list(dict.fromkeys(name for row in rows for name in row["memory_mb"]))
    for name, colour in zip(names, _MODES.values(), strict=False):
        known = [(row["chunks"], row["memory_mb"][name]) for row in rows if name in row["memory_mb"]]
        _line(axes, known, colour, name)
    axes.set_yscale("linear")
    axes.set_ylim(bottom=0)
    return _finish(axes, rows)


_GROWTH: Final[Mapping[str, Callable[[Rows], Figure]]] = {
    "latency": _latencies_by_size,
    "ingest": _rates_by_size,
    "disk": _disk_by_size,
    "memory": _memory_by_size,
}


def _axes(height: float, title: str) -> Axes:
    axes: Axes = Figure(figsize=(_WIDTH, height)).subplots()
    axes.set_title(title)
    return axes


def _bars(number: int, title: str) -> Axes:
    """Return axes for `number` horizontal bars, the first on top."""
    axes = _axes(0.9 + 0.3 * number, title)
    axes.invert_yaxis()
    axes.grid(axis="x")
    return axes


def _growing(title: str) -> Axes:
    axes = _axes(3.4, title)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("chunks")
    axes.grid()
    return axes


def _line(
    axes: Axes, points: Iterable[tuple[float, float]], colour: str, label: str | None, style: str = "-"
) -> None:
    shown = [(x, y) for x, y in points if y > 0]
    if shown:
        axes.plot(
            *zip(*shown, strict=True), color=colour, label=label, linestyle=style, marker="o", markersize=4
        )


def _finish(axes: Axes, rows: Rows) -> Figure:
    """Label the sizes on the x axis, and add the legend next to the plot."""
    axes.set_xticks([row["chunks"] for row in rows], [f"{row['chunks']:,}" for row in rows])
    axes.minorticks_off()
    if axes.get_yscale() == "log":
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    else:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return _figure_of(axes)


def _label(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0)


def _colour(system: str) -> str:
    return _KEBAB if system.startswith("Kebab") else _PEER


def _figure_of(axes: Axes) -> Figure:
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    return figure
