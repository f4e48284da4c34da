"""Reciprocal rank fusion: the scores of the contract, whatever the order of the legs."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from search.retrieval.fusion.scores import reciprocal_rank_fusion
from tests.unit.search.retrieval.static_legs import StaticLeg, rank, scores_by_name


def fuse(weights=None, k_rrf=60, **ranks):
    places = {name: np.array(each) for name, each in ranks.items()}
    weights = dict.fromkeys(ranks, 1.0) | (weights or {})
    return reciprocal_rank_fusion(places, weights, k_rrf).tolist()


def test_scores_of_two_legs(subtests):
    for lexical, vector, score in [(1, 1, 1.0), (1, 2, 0.991935), (2, 2, 0.983871), (10, 10, 0.871429)]:
        with subtests.test(lexical=lexical, vector=vector):
            assert fuse(lexical=[lexical], vector=[vector]) == [pytest.approx(score, abs=5e-7)]
    assert fuse(lexical=[1], vector=[1]) == [1.0]
    assert fuse(lexical=[1, 0], vector=[0, 1]) == [0.5, 0.5]
    assert fuse(lexical=[1]) == [1.0]
    assert fuse(lexical=[0, 0], vector=[1, 2])[0] == 0.5
    assert fuse() == []
    best = (1 + 1 + 2) / 61
    fused = fuse({"exact": 2.0}, lexical=[1, 2, 3, 0], vector=[2, 0, 1, 3], exact=[0, 1, 0, 0])
    expected = [1 / 61 + 1 / 62, 1 / 62 + 2 / 61, 1 / 63 + 1 / 61, 1 / 63]
    assert fused == pytest.approx([sum_ / best for sum_ in expected])
    assert fuse(k_rrf=1, lexical=[1, 2]) == pytest.approx([1.0, 2 / 3])


def test_ties_are_broken_by_lexical_rank_then_id():
    ranked = rank(StaticLeg("lexical", "zy"), StaticLeg("vector", "yzb"), StaticLeg("exact", "qpa"))
    assert list(scores_by_name(ranked)) == ["z", "y", "q", "p", "a", "b"]


PLACES = st.lists(st.tuples(*[st.integers(0, 9)] * 3), min_size=1)
WEIGHTS = st.tuples(*[st.sampled_from([0.1, 0.7, 1.0, 3.0])] * 3)


@example([(7, 9, 3)], (0.7, 0.7, 1.0), ["vector", "exact", "lexical"])
@example([(1, 1, 1)], (0.1, 0.1, 0.1), ["vector", "exact", "lexical"])
@given(PLACES, WEIGHTS, st.permutations(["lexical", "vector", "exact"]))
def test_scores_are_in_range_whatever_the_order_of_the_legs(places, weights, order):
    names = ("lexical", "vector", "exact")
    ranks = dict(zip(names, zip(*places, strict=True), strict=True))
    weights = dict(zip(names, weights, strict=True))
    fused = fuse(weights, **ranks)
    assert fuse(weights, **{name: ranks[name] for name in order}) == fused
    assert all(0.0 <= score <= 1.0 for score in fused)
    assert [score > 0 for score in fused] == [any(each) for each in places]
