"""Comparison of two runs: hand-computed figures, and properties."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab.wire import to_wire
from search.evaluation.comparison import (
    EXACT_TOPICS,
    EXCHANGES,
    bootstrap_interval,
    compare,
    compare_values,
    randomisation_test,
)
from search.retrieval.errors import InvalidComparison

FIRST = {
    "q1": {"nDCG@10": 0.5, "empty_rate": 0.0}, "q2": {"nDCG@10": 0.2, "empty_rate": 1.0},
    "q3": {"nDCG@10": 0.9, "empty_rate": 0.0}, "q4": {"nDCG@10": 0.4}, "gone": {"nDCG@10": 1.0},
}  # fmt: skip
SECOND = {
    "q1": {"nDCG@10": 0.8, "empty_rate": 0.0}, "q2": {"nDCG@10": 0.6, "empty_rate": 0.0},
    "q3": {"nDCG@10": 0.8, "empty_rate": 0.0}, "q4": {"nDCG@10": 0.4 + 1e-7, "P@5": 1.0},
    "new": {"nDCG@10": 0.0},
}  # fmt: skip


def test_comparison_of_four_topics_equals_hand_computed_figures():
    """Differences 0.3, 0.4, -0.1 and none: of the 8 ways to choose signs 4 reach their sum of 0.6."""
    found = compare(FIRST, SECOND).measures["nDCG@10"]
    assert (found.topics, found.wins, found.losses, found.draws) == (4, 2, 1, 1)
    assert (found.first, found.second) == (pytest.approx(0.5), pytest.approx(0.65))
    assert found.difference == pytest.approx(0.15)
    assert found.p_value == 0.5
    assert list(found.per_topic) == ["q3", "q4", "q1", "q2"]
    low, high = found.interval
    assert -0.1 <= low < 0.15 < high <= 0.4


def test_unshared_topics_are_named_and_not_compared(subtests):
    found = compare(FIRST, SECOND).measures["empty_rate"]
    assert (found.topics, found.difference, found.wins, found.losses) == (3, pytest.approx(-1 / 3), 1, 0)
    found = compare(FIRST, SECOND, unlike=["q9"])
    assert (found.only_first, found.only_second, found.unlike) == (("gone",), ("new",), ("q9",))
    assert set(found.measures) == {"nDCG@10", "empty_rate"}
    assert set(compare(FIRST, SECOND, ["empty_rate", "P@5"]).measures) == {"empty_rate"}
    found = to_wire(compare(FIRST, SECOND))
    assert found["measures"]["nDCG@10"]["per_topic"]["q2"] == pytest.approx(0.4)
    assert len(found["measures"]["nDCG@10"]["interval"]) == 2
    assert found["only_first"] == ["gone"]
    others = {"other": {"nDCG@10": 1.0}}
    for first, second, measures in (({}, {}, None), (FIRST, others, None), (FIRST, SECOND, ["P@5"])):
        with subtests.test(second=second), pytest.raises(InvalidComparison):
            compare(first, second, measures)


_SMALL = st.lists(st.integers(-10, 10).map(lambda n: n / 10), min_size=1, max_size=8)


@given(_SMALL)
def test_the_exact_test_counts_all_ways_to_choose_signs(differences):
    values = np.array(differences)
    observed = abs(values.sum()) - 1e-9
    ways = [abs((values * signs).sum()) >= observed for signs in product((1, -1), repeat=len(values))]
    assert randomisation_test(values) == pytest.approx(sum(ways) / len(ways))


def test_sampled_p_value_above_sixteen_topics_is_near_the_exact_one():
    """Of 17 equal differences 2 of 131,072 ways reach the sum; of 9 against 8 nearly all."""
    alike = np.full(EXACT_TOPICS + 1, 0.1)
    assert 1 / (1 + EXCHANGES) <= randomisation_test(alike) < 0.001
    balanced = np.array([0.1] * 9 + [-0.1] * 8)
    assert randomisation_test(balanced) == 1.0
    # P(|sum| >= 5) of 17 fair signs: 1 - P(-3 <= sum <= 3), by Pascal's triangle 0.3323.
    leaning = np.array([0.1] * 11 + [-0.1] * 6)
    assert randomisation_test(leaning) == pytest.approx(0.3323, abs=0.015)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=40))
def test_comparison_does_not_depend_on_the_order_of_runs(values):
    ahead = compare_values({str(n): pair for n, pair in enumerate(values)})
    back = compare_values({str(n): pair[::-1] for n, pair in enumerate(values)})
    assert ahead.difference == pytest.approx(-back.difference)
    assert (ahead.wins, ahead.losses, ahead.draws) == (back.losses, back.wins, back.draws)
    assert ahead.p_value == pytest.approx(back.p_value)
    assert ahead.wins + ahead.losses + ahead.draws == ahead.topics == len(values)
    assert 0 < ahead.p_value <= 1
    least, most = min(ahead.per_topic.values()), max(ahead.per_topic.values())
    assert least - 1e-9 <= ahead.interval[0] <= ahead.interval[1] <= most + 1e-9


def test_same_runs_give_the_same_figures():
    values = {str(n): (0.5, 0.5 + (n % 7) / 10) for n in range(50)}
    assert compare_values(values) == compare_values(values)
    found = compare_values({"a": (0.3, 0.3), "b": (0.7, 0.7)})
    assert (found.p_value, found.interval, found.draws) == (1.0, (0.0, 0.0), 2)
    # The mean of 400 values of 0 or 1 has a standard error of 0.025: 1.96 of them to each side.
    values = np.array([0.0, 1.0] * 200)
    low, high = bootstrap_interval(values)
    assert (low, high) == (pytest.approx(0.451, abs=0.005), pytest.approx(0.549, abs=0.005))
