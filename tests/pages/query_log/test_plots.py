"""Plots: positions of their marks, and the table with the same figures."""

import re
from itertools import pairwise, product

import pytest
from django.template.loader import render_to_string
from django.utils.translation import override

from kebab.pages.plots import FLOOR_PX, TOP_PX, Axes, Point, bar_plot, line_plot, signed_bar_plot


def axes(*series, **fields):
    return Axes(name="Things", series=series or ("one",), across="Day", **fields)


def points(*values):
    each = [value if isinstance(value, tuple) else (value,) for value in values]
    return [Point(label=f"d{number}", values=value) for number, value in enumerate(each)]


def test_the_highest_level_is_round_and_holds_every_bar():
    plot = bar_plot(axes(), points(3, 57, 0))

    assert [level.label for level in plot.levels] == ["0", "30", "60"]
    assert [float(level.place) for level in plot.levels] == [FLOOR_PX, (FLOOR_PX + TOP_PX) / 2, TOP_PX]
    assert len(plot.bars) == 2
    assert all(TOP_PX <= float(bar.y) <= FLOOR_PX for bar in plot.bars)


def test_levels_are_round():
    tops = {1: "1", 2: "2", 3: "4", 10: "10", 11: "20", 99: "100", 0.03: "0.04"}

    assert {value: bar_plot(axes(), points(value)).levels[-1].label for value in tops} == tops


def test_second_series_is_stacked_on_the_first():
    first, second = bar_plot(axes("one", "two"), points((3, 1))).bars

    assert (first.kind, second.kind) == ("first", "second")
    assert float(second.y) + float(second.height) == pytest.approx(float(first.y))
    assert float(first.y) + float(first.height) == FLOOR_PX
    assert first.tooltip == second.tooltip == "d0: one 3, two 1"


def test_losses_hang_below_the_middle_and_wins_stand_on_it():
    loss, win = signed_bar_plot(axes(), points(-0.5, 1.0)).bars
    middle = (FLOOR_PX + TOP_PX) / 2

    assert (loss.kind, win.kind) == ("bad", "good")
    assert float(loss.y) == middle
    assert (float(win.y), float(win.height)) == (TOP_PX, middle - TOP_PX)
    assert float(loss.height) == (middle - TOP_PX) / 2


def test_line_plot_is_interrupted_at_missing_values():
    plot = line_plot(axes(), points(1, 2, None, 1, 2))

    assert len(plot.lines) == 2
    assert len(plot.dots) == 4
    assert plot.lines[0] == ("first", "15.40,50.00 34.20,0.00")


def test_the_table_has_every_value():
    given = points((1, 2), (None, 3))
    plot = line_plot(axes("one", "two", format_value="{:.0f} ms".format), given)

    assert plot.rows == [(given[0], ["1 ms", "2 ms"]), (given[1], ["–", "3 ms"])]


def test_plot_shows_at_most_five_labels_within_its_bounds():
    for count in (1, 2, 7, 30, 90):
        plot = bar_plot(axes(), points(*range(1, count + 1)))
        edges = [(float(bar.x[:-1]), float(bar.x[:-1]) + float(bar.width[:-1])) for bar in plot.bars]

        assert 1 <= len(plot.labels) <= 5
        assert all(6 <= left < right <= 100.01 for left, right in edges)
        assert all(right <= next_left + 0.01 for (_, right), (next_left, _) in pairwise(edges))


def test_plot_without_values_is_empty():
    for plot, given in product(
        (bar_plot, signed_bar_plot, line_plot), (points(), points(0, 0), points(None, None))
    ):
        found = plot(axes(), given)
        assert list(found.bars) == []
        assert len(found.levels) == 3


def test_positions_of_marks_are_numbers_in_every_language():
    with override("de"):
        plot = bar_plot(axes(), [Point(label="d", values=(1_234.5,), address="?day=d")])
        markup = render_to_string("parts/plot.html", {"plot": plot})

    assert plot.rows[0][1] == ["1.234,5"]
    positions = re.findall(r' (?:x|y|x1|x2|y1|y2|width|height|dy)="([^"]+)"', markup)
    assert positions and all(re.fullmatch(r"-?\d+(\.\d+)?%?", each) for each in positions)
    assert 'href="?day=d"' in markup
