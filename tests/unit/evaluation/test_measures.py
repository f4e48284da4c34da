"""Measures against five judgements worked out by hand."""

from math import log2

import pytest

from search.evaluation.metrics import measure

QRELS = {
    "q1": {"a": 2, "b": 1, "c": 0, "d": 1},
    "q2": {"e": 1},
}


def test_five_judgements_by_hand():
    """q1 finds its grade 1 first and its grade 2 third; q2 finds nothing that is relevant."""
    found = measure(QRELS, {"q1": ["b", "x", "a"], "q2": ["x", "y"]})
    dcg = 1 / log2(2) + 2 / log2(4)
    ideal = 2 / log2(2) + 1 / log2(3) + 1 / log2(4)
    assert found == {
        "nDCG@10": pytest.approx(dcg / ideal / 2),
        "R@10": pytest.approx(2 / 3 / 2),
        "R@100": pytest.approx(2 / 3 / 2),
        "RR@10": pytest.approx(1 / 2),
    }


def test_a_query_without_an_answer_counts_as_nothing_found():
    assert measure(QRELS, {"q2": ["e"]}) == {"nDCG@10": 0.5, "R@10": 0.5, "R@100": 0.5, "RR@10": 0.5}
    assert set(measure(QRELS, {}).values()) == {0.0}


def test_the_order_given_is_the_order_measured():
    """As trec_eval breaks ties by id, equal scores would put z before e."""
    assert measure({"q": {"e": 1}}, {"q": ["e", "z"]})["RR@10"] == 1.0
    assert measure({"q": {"e": 1}}, {"q": ["z", "e"]})["RR@10"] == 0.5


def test_depths_are_kept():
    ranking = [f"x{n}" for n in range(10)]
    found = measure({"q": {"e": 1}}, {"q": [*ranking, "e"]})
    assert found == {"nDCG@10": 0.0, "R@10": 0.0, "R@100": 1.0, "RR@10": 0.0}
    beyond = [f"y{n}" for n in range(100)]
    assert measure({"q": {"e": 1}}, {"q": [*beyond, "e"]})["R@100"] == 0.0
