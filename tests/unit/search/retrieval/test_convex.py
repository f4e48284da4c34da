"""Convex fusion: by hand, against an independent implementation, and properties."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.retrieval.fusion.scores import convex_combination, smooth_scores, vector_share_of

WEIGHTS = {"lexical": 1.0, "vector": 1.0, "exact": 2.0}


def fuse(lexical, vector, *, ranks=None, weights=WEIGHTS, vectors=None):
    """Return the fused scores of chunks with these scores; None is unknown."""
    scores = {
        name: np.array([math.nan if value is None else value for value in values])
        for name, values in (("lexical", lexical), ("vector", vector))
    }
    places = {name: np.array(each) for name, each in (ranks or {}).items()}
    vectors_at = None if vectors is None else lambda indexes: np.array(vectors, np.float32)[indexes]
    return convex_combination(scores, places, weights, vectors_at=vectors_at).tolist()


def plain(lexical, vector):
    """Compute the formula in an independent implementation."""
    together = [0.0] * len(lexical)
    best = 0.0
    for share, scores in ((0.3, lexical), (0.7, vector)):
        mean, deviation = statistics.fmean(scores), statistics.pstdev(scores)
        parts = [share * (math.exp((x - mean) / deviation / 3) if deviation else 1.0) for x in scores]
        best += max(parts)
        together = [sum_ + part for sum_, part in zip(together, parts, strict=True)]
    return [part / best for part in together]


def test_convex_scores_equal_hand_computed_values():
    """Two scores always stand one deviation from their mean: exp(±1/3) = 1.395612, 0.716531."""
    high, low = 1.395612, 0.716531
    assert fuse([9.0, 1.0], [0.2, 0.4]) == [
        pytest.approx((0.3 * high + 0.7 * low) / high, abs=1e-6),
        pytest.approx((0.3 * low + 0.7 * high) / high, abs=1e-6),
    ]
    assert fuse([5.0, 2.0, 0.0], [0.9, 0.1, 0.3])[0] == pytest.approx(1.0)
    first, second, third = fuse([0.1 + 0.2, 0.3, 0.3], [1.0, 3.0, 2.0])
    assert second > third > first
    assert fuse([], []) == []


def test_unknown_scores_count_as_the_mean():
    a, b, c = fuse([10.0, 0.0, 1.0], [0.61, 0.62, 0.1])
    assert a > b > c
    a, b, c = fuse([1.0, 1.0, 1.0], [0.8, 0.2, None])
    assert a > c > b


def test_vectors_have_a_smaller_share_of_short_queries():
    shares = [vector_share_of(0.7, count) for count in (0, 1, 2, 3, 4, 20)]
    assert shares == pytest.approx([0.7, 0.5, 0.55, 0.6, 0.7, 0.7])


def test_lexical_scores_decide_when_few_vectors_exist():
    lexical, vector = [12.0, 6.0, 3.0, 0.0, 0.0, 0.0], [None, None, None, 0.7, 0.6, 0.5]
    ranks = {"lexical": [1, 2, 3, 0, 0, 0], "vector": [0, 0, 0, 1, 2, 3]}
    a, b, c, d, *_ = fuse(lexical, vector, ranks=ranks)
    assert a > d and a > b > c
    # With the vector of one of the three, two thirds of what the words tell are presumed.
    deviation = statistics.pstdev([0.6, 0.5, 0.55, 0.7])
    known = [(x - statistics.fmean([0.6, 0.5, 0.55, 0.7])) / deviation for x in (0.55, 0.7, 0.6, 0.5)]
    words = [(x - statistics.fmean(lexical)) / statistics.pstdev(lexical) for x in lexical]
    parts = [words[0] * 2 / 3, words[1] * 2 / 3, *known]
    sums = [0.3 * math.exp(x / 3) + 0.7 * math.exp(y / 3) for x, y in zip(words, parts, strict=True)]
    best = 0.3 * math.exp(max(words) / 3) + 0.7 * math.exp(max(parts) / 3)
    vector[2] = 0.55
    assert fuse(lexical, vector, ranks=ranks) == pytest.approx([each / best for each in sums])


def test_weights_and_lists_without_scores():
    alone = fuse([9.0, 1.0, None], [0.8, 0.2, None])
    together = fuse([9.0, 1.0, None], [0.8, 0.2, None], ranks={"exact": [0, 2, 1]})
    assert together[0] == pytest.approx(2 * alone[0] / 4)
    assert together[1] == pytest.approx((2 * alone[1] + 2 * 61 / 62) / 4)
    assert together[2] == pytest.approx((2 * alone[2] + 2.0) / 4)
    one, other = fuse([9.0, 1.0], [0.2, 0.8], weights={"lexical": 7 / 3, "vector": 1.0})
    assert one == pytest.approx(other)


def test_means_are_smoothed_over_neighbours():
    three = [9.0, 8.0, 1.0], [0.2, 0.1, 0.4]
    vectors = [[1.0, 0.0], [1.0, 0.1], [0.5, 1.0]]
    alone = fuse(*three)
    fused = fuse(*three, vectors=vectors)
    assert fused == pytest.approx(smooth_scores(np.array(alone), np.array(vectors)).tolist())
    assert fused != pytest.approx(alone)

    fused = fuse(*three, vectors=[[1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    assert fused[1] == pytest.approx(alone[1])
    assert fused[0] == pytest.approx(0.6 * alone[0] + 0.4 * alone[2])
    assert fuse(*three, vectors=[[0.0, 0.0]] * 3) == alone

    legs = fuse(*three, vectors=vectors)
    fused = fuse(*three, vectors=vectors, ranks={"exact": [0, 0, 1]})
    assert fused[2] == pytest.approx((2 * legs[2] + 2.0) / 4)
    assert fused[0] == pytest.approx(2 * legs[0] / 4)


def test_only_the_best_fifty_are_smoothed_and_stay_before_the_rest():
    lexical, vector = [float(-n) for n in range(120)], [-n / 200 for n in range(120)]
    vectors = np.random.default_rng(7).normal(size=(120, 4))
    alone, fused = fuse(lexical, vector), fuse(lexical, vector, vectors=vectors)
    assert fused[50:] == alone[50:]
    assert fused[:50] != alone[:50] and min(fused[:50]) > fused[50]


def test_copies_of_a_passage_tie():
    """Break ties of equal scores and vectors by lexical rank and id, independent of rounding."""
    kinds = [n % 7 for n in range(40)]
    rng = np.random.default_rng(3)
    numbers, places = rng.random(7), rng.normal(size=(7, 384)).astype(np.float32)
    lexical, vector = [numbers[kind] for kind in kinds], [numbers[::-1][kind] for kind in kinds]
    assert len(set(fuse(lexical, vector, vectors=places[kinds]))) == 7


NUMBER = st.floats(0, 60, allow_nan=False).map(lambda value: round(value, 6))
EIGHT = st.lists(NUMBER, min_size=8, max_size=8)


@given(EIGHT, EIGHT)
def test_fusion_equals_the_plain_formula(lexical, vector):
    assert fuse(lexical, vector) == pytest.approx(plain(lexical, vector), abs=1e-9)


@given(st.lists(st.tuples(st.none() | NUMBER, st.none() | NUMBER, st.integers(0, 3)), min_size=1))
def test_scores_lie_between_0_and_1_whatever_the_order_of_the_legs(rows):
    lexical, vector, exact = zip(*rows, strict=True)
    fused = fuse(lexical, vector, ranks={"exact": exact})
    assert all(0 <= score <= 1 for score in fused)
    scores = {
        name: np.array([math.nan if value is None else value for value in values])
        for name, values in (("vector", vector), ("lexical", lexical))
    }
    assert convex_combination(scores, {"exact": np.array(exact)}, WEIGHTS).tolist() == fused
