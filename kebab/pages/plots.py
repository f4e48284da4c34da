"""Plots as server-side SVG, without a script, each with a table of the same values.

A plot is as wide as its container and has a fixed height, so that its labels are readable on a phone:
horizontal positions are in percent of the width, vertical ones in pixels.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from math import log10
from typing import Any

from django.utils.formats import number_format
from django.utils.functional import Promise

TOP_PX, FLOOR_PX = 20, 172
_MOST_LABELS = 5
# Room for the labels of the levels, in percent of the width.
_LEFT = 6
_STEPS = (1, 2, 4, 6, 8, 10)
#: The CSS classes of the series, in order: neutral ones, and those of what is good and what is bad.
NEUTRAL, VERDICT = ("first", "second"), ("good", "bad")


def format_number(value: float) -> str:
    """Return a number with at most six digits, as the reader's language writes it."""
    return number_format(Decimal(f"{value:g}"), force_grouping=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The values at one horizontal position, one for each series; None for a missing value."""

    label: str
    values: tuple[float | None, ...]
    #: The URL that the position leads to; '' for none.
    address: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """A bar or a dot; lengths are texts with their unit."""

    kind: str
    x: str
    y: str
    width: str = ""
    height: str = ""
    #: The text shown on hover.
    tooltip: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A horizontal line with its label, or a label below the plot."""

    place: str
    label: str
    anchor: str = "middle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A plot for the template `parts/plot.html`."""

    #: The subject, in a few words.
    name: "str | Promise"
    #: The CSS class and the name of each series.
    series: "Sequence[tuple[str, str | Promise]]"
    bars: Sequence[Mark] = ()
    dots: Sequence[Mark] = ()
    #: CSS class and points of each line, in a square of 100 by 100.
    lines: Sequence[tuple[str, str]] = ()
    #: Links over the whole height of their positions, above all other marks.
    links: Sequence[Mark] = ()
    levels: Sequence[Level]
    labels: Sequence[Level]
    #: The same values as a table.
    first_head: "str | Promise"
    rows: Sequence[tuple[Point, Sequence[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """The labels of a plot's axes, and the format of its values."""

    name: "str | Promise"
    series: "tuple[str | Promise, ...]"
    #: The label of the horizontal axis: Day, Query.
    across: "str | Promise"
    kinds: tuple[str, str] = NEUTRAL
    format_value: Callable[[float], str] = format_number
    #: The minimum of the highest level.
    least: float = 0.0


def bar_plot(axes: Axes, points: Sequence[Point]) -> Plot:
    """Return a bar plot; a second series is stacked on the first one."""
    sums = (sum(value or 0 for value in point.values) for point in points)
    span = (0.0, _round_up(max(sums, default=0), axes))
    bars = []
    for number, point in enumerate(points):
        below = 0.0
        for kind, value in zip(axes.kinds, point.values, strict=False):
            if value:
                bars.append(_bar(axes, points, number, kind, (below, below + value), span))
                below += value
    return _plot(axes, points, span, bars=bars)


def signed_bar_plot(axes: Axes, points: Sequence[Point]) -> Plot:
    """Return a bar plot of one series: good values above the middle, bad (negative) ones below.

    It has no labels below, where they would be too long, but in the tooltips and the table.
    """
    top = _round_up(max((abs(point.values[0] or 0) for point in points), default=0), axes)
    bars = [
        _bar(axes, points, number, VERDICT[value < 0], (min(0, value), max(0, value)), (-top, top))
        for number, value in enumerate(point.values[0] or 0 for point in points)
        if value
    ]
    return replace(_plot(axes, points, (-top, top), bars=bars), labels=())


def line_plot(axes: Axes, points: Sequence[Point]) -> Plot:
    """Return a plot with one line for each series, interrupted at missing values."""
    top = _round_up(max((value for point in points for value in point.values if value), default=0), axes)
    dots: list[Mark] = []
    lines: list[tuple[str, str]] = []
    for index, kind in enumerate(axes.kinds[: len(axes.series)]):
        places = [
            (_middle_percent(number, len(points)), value, point)
            for number, point in enumerate(points)
            if (value := point.values[index]) is not None
        ]
        dots += [
            Mark(kind, f"{x:.2f}%", f"{_height_px(y, (0, top)):.1f}", tooltip=_describe_point(axes, point))
            for x, y, point in places
        ]
        lines += [(kind, line) for line in _line_segments([(x, y) for x, y, _ in places], len(points), top)]
    return _plot(axes, points, (0, top), dots=dots, lines=lines)


def _line_segments(places: Sequence[tuple[float, float]], count: int, top: float) -> Iterator[str]:
    """Yield the line segments between neighbours, in a square of 100 by 100."""
    reach = (100 - _LEFT) / max(1, count) * 1.5
    for (x, y), (next_x, next_y) in pairwise(places):
        if next_x - x < reach:
            yield f"{x:.2f},{100 - 100 * y / top:.2f} {next_x:.2f},{100 - 100 * next_y / top:.2f}"


def _plot(axes: Axes, points: Sequence[Point], span: tuple[float, float], **shapes: Any) -> Plot:
    return Plot(
        name=axes.name,
        series=tuple(zip(axes.kinds, axes.series, strict=False)),
        levels=[
            Level(place=f"{_height_px(value, span):.1f}", label=axes.format_value(value))
            for value in (span[0], (span[0] + span[1]) / 2, span[1])
        ],
        labels=_labels(points),
        links=[
            _bar(axes, points, number, "link", (0, 1), (0, 1))
            for number, point in enumerate(points)
            if point.address
        ],
        first_head=axes.across,
        rows=[(point, [_format_value(axes, value) for value in point.values]) for point in points],
        **shapes,
    )


def _labels(points: Sequence[Point]) -> Sequence[Level]:
    """Return the labels below the plot, at most `_MOST_LABELS` of them, evenly spaced."""
    count = len(points)
    every = max(1, -(-count // _MOST_LABELS))
    return [
        Level(place=f"{_middle_percent(n, count):.2f}%", label=points[n].label, anchor=_anchor(n, count))
        for n in range(0, count, every)
    ]


def _bar(
    axes: Axes,
    points: Sequence[Point],
    number: int,
    kind: str,
    ends: tuple[float, float],
    span: tuple[float, float],
) -> Mark:
    count, (low, high) = len(points), (_height_px(end, span) for end in ends)
    width = (100 - _LEFT) / count * (0.8 if count > 1 else 0.1)
    left, tooltip = _middle_percent(number, count) - width / 2, _describe_point(axes, points[number])
    size = (f"{width:.2f}%", f"{max(1.0, low - high):.1f}")
    return Mark(kind, f"{left:.2f}%", f"{high:.1f}", *size, tooltip, points[number].address)


def _middle_percent(number: int, count: int) -> float:
    """Return the middle of a horizontal position, in percent of the width."""
    return _LEFT + (number + 0.5) * (100 - _LEFT) / count


def _height_px(value: float, span: tuple[float, float]) -> float:
    """Return the vertical position of a value, in pixels from the top."""
    share = (value - span[0]) / (span[1] - span[0])
    return FLOOR_PX - share * (FLOOR_PX - TOP_PX)


def _anchor(number: int, count: int) -> str:
    middle = _middle_percent(number, count)
    return "start" if middle < _LEFT + 6 else "end" if middle > 94 else "middle"


def _round_up(largest: float, axes: Axes) -> float:
    """Return the next round number whose half is round as well."""
    at_least = max(largest, axes.least, 1e-6)
    power = 10.0 ** int(log10(at_least) // 1)
    return next(step * power for step in _STEPS if step * power >= at_least * (1 - 1e-9))


def _describe_point(axes: Axes, point: Point) -> str:
    values = ", ".join(
        f"{name} {_format_value(axes, value)}" for name, value in zip(axes.series, point.values, strict=True)
    )
    return f"{point.label}: {values}"


def _format_value(axes: Axes, value: float | None) -> str:
    return "–" if value is None else axes.format_value(value)
