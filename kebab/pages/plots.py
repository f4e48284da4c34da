"""Plots as SVG that is made here: without a script, with the same figures as a table beneath.

A plot is as wide as its place and of one height, so that its labels can be read on a phone: places across are
shares of the width in percent, places up are pixels.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import log10

TOP_PX, FLOOR_PX = 20, 172
_MOST_LABELS = 5
# Room for the levels, in percent.
_LEFT = 6
_STEPS = (1, 2, 4, 6, 8, 10)
#: The classes of the series, in order.
_KINDS = ("first", "second")


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The values of one place across, one a series; None: there is none."""

    label: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A bar or a dot; lengths as texts with their unit."""

    kind: str
    x: str
    y: str
    width: str = ""
    height: str = ""
    #: What it says when it is pointed at.
    told: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A line across, or a word below."""

    place: str
    label: str
    anchor: str = "middle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """What `parts/plot.html` shows."""

    #: What it is of, in a few words.
    name: str
    #: The class and the name of each series.
    series: Sequence[tuple[str, str]]
    bars: Sequence[Mark] = ()
    dots: Sequence[Mark] = ()
    #: Class and points of each line, in a square of 100.
    lines: Sequence[tuple[str, str]] = ()
    levels: Sequence[Level]
    labels: Sequence[Level]
    #: The same as a table.
    first_head: str
    rows: Sequence[tuple[str, Sequence[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """What the places of a plot are called, and how its values are written."""

    name: str
    series: tuple[str, ...]
    #: What stands across: Day, Query.
    across: str
    written: Callable[[float], str] = "{:g}".format
    #: The least that the highest level stands for.
    least: float = 0.0


def bar_plot(axes: Axes, points: Sequence[Point]) -> Plot:
    """Return bars; a second series stands on the first one."""
    span = (
        0.0,
        _ceiling(max((sum(value or 0 for value in point.values) for point in points), default=0), axes),
    )
    bars = []
    for number, point in enumerate(points):
        below = 0.0
        for kind, value in zip(_KINDS, point.values, strict=False):
            if value:
                ends = (below, below + value)
                bars.append(_bar(kind, number, len(points), ends, span, _told(axes, point)))
                below += value
    return _plot(axes, points, span, bars=bars)


def signed_bar_plot(axes: Axes, points: Sequence[Point], *, with_labels: bool = True) -> Plot:
    """Return bars of one series, above the middle those of positive values, as the second kind those below.

    Where words across would be too long they are left to the bars and to the table.
    """
    top = _ceiling(max((abs(point.values[0] or 0) for point in points), default=0), axes)
    span, bars = (-top, top), []
    for number, point in enumerate(points):
        value = point.values[0]
        if value:
            ends = (min(0, value), max(0, value))
            bars.append(_bar(_KINDS[value < 0], number, len(points), ends, span, _told(axes, point)))
    plot = _plot(axes, points, span, bars=bars)
    return plot if with_labels else replace(plot, labels=())


def line_plot(axes: Axes, points: Sequence[Point]) -> Plot:
    """Return a line a series, broken where there is no value."""
    top = _ceiling(max((value for point in points for value in point.values if value), default=0), axes)
    dots: list[Mark] = []
    lines: list[tuple[str, str]] = []
    for index, kind in enumerate(_KINDS[: len(axes.series)]):
        known = [(number, point.values[index], point) for number, point in enumerate(points)]
        places = [
            (_middle(number, len(points)), value, point)
            for number, value, point in known
            if value is not None
        ]
        dots += [
            Mark(kind=kind, x=f"{x:.2f}%", y=f"{_height(y, (0, top)):.1f}", told=_told(axes, point))
            for x, y, point in places
        ]
        lines += [(kind, line) for line in _lines([(x, y) for x, y, _ in places], len(points), top)]
    return _plot(axes, points, (0, top), dots=dots, lines=lines)


def _lines(places: Sequence[tuple[float, float]], count: int, top: float) -> Iterator[str]:
    """Return the lines between neighbours, in a square of 100."""
    reach = (100 - _LEFT) / max(1, count) * 1.5
    for (x, y), (next_x, next_y) in pairwise(places):
        if next_x - x < reach:
            yield f"{x:.2f},{100 - 100 * y / top:.2f} {next_x:.2f},{100 - 100 * next_y / top:.2f}"


def _plot(axes: Axes, points: Sequence[Point], span: tuple[float, float], **shapes: Sequence[object]) -> Plot:
    return Plot(
        name=axes.name,
        series=tuple(zip(_KINDS, axes.series, strict=False)),
        levels=[
            Level(place=f"{_height(value, span):.1f}", label=axes.written(value))
            for value in (span[0], (span[0] + span[1]) / 2, span[1])
        ],
        labels=_labels(points),
        first_head=axes.across,
        rows=[(point.label, [_written(axes, value) for value in point.values]) for point in points],
        **shapes,  # type: ignore[arg-type]  # bars, dots, lines
    )


def _labels(points: Sequence[Point]) -> Sequence[Level]:
    """Return the words below, of every so-manieth place."""
    count = len(points)
    every = max(1, -(-count // _MOST_LABELS))
    return [
        Level(place=f"{_middle(n, count):.2f}%", label=points[n].label, anchor=_anchor(n, count))
        for n in range(0, count, every)
    ]


def _bar(
    kind: str, number: int, count: int, ends: tuple[float, float], span: tuple[float, float], told: str
) -> Mark:
    low, high = (_height(end, span) for end in ends)
    width = (100 - _LEFT) / count * (0.8 if count > 1 else 0.1)
    return Mark(
        kind=kind,
        x=f"{_middle(number, count) - width / 2:.2f}%",
        y=f"{high:.1f}",
        width=f"{width:.2f}%",
        height=f"{max(1.0, low - high):.1f}",
        told=told,
    )


def _middle(number: int, count: int) -> float:
    """Return where the middle of a place is, in percent of the width."""
    return _LEFT + (number + 0.5) * (100 - _LEFT) / count


def _height(value: float, span: tuple[float, float]) -> float:
    """Return where a value lies, in pixels from the top."""
    share = (value - span[0]) / (span[1] - span[0])
    return FLOOR_PX - share * (FLOOR_PX - TOP_PX)


def _anchor(number: int, count: int) -> str:
    middle = _middle(number, count)
    return "start" if middle < _LEFT + 6 else "end" if middle > 94 else "middle"


def _ceiling(largest: float, axes: Axes) -> float:
    """Return a round number that is no smaller, whose half is round as well."""
    wanted = max(largest, axes.least, 1e-6)
    power = 10.0 ** int(log10(wanted) // 1)
    return next(step * power for step in _STEPS if step * power >= wanted * (1 - 1e-9))


def _told(axes: Axes, point: Point) -> str:
    values = ", ".join(
        f"{name} {_written(axes, value)}" for name, value in zip(axes.series, point.values, strict=True)
    )
    return f"{point.label}: {values}"


def _written(axes: Axes, value: float | None) -> str:
    return "–" if value is None else axes.written(value)
