"""Scores smoothed over neighbours: by hand, and properties."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from search.retrieval.fusion.scores import smooth_scores


def at(*degrees):
    """Return vectors in the plane at these angles."""
    return np.array([[math.cos(math.radians(d)), math.sin(math.radians(d))] for d in degrees])


def test_smoothed_scores_equal_hand_computed_values():
    """Cosines: 0.5 at 60 degrees, 0 at 90, 0.866025 at 30."""
    result = smooth_scores(np.array([1.0, 0.4, 0.1]), at(0, 60, 90))
    second = (0.5 * 1.0 + 0.866025 * 0.1) / (0.5 + 0.866025)
    assert result == pytest.approx([0.6 + 0.4 * 0.4, 0.6 * 0.4 + 0.4 * second, 0.06 + 0.4 * 0.4], abs=1e-6)
    assert smooth_scores(np.array([1.0, 0.5]), at(0, 180)).tolist() == [1.0, 0.5]
    vectors = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    assert smooth_scores(np.array([1.0, 0.5, 0.1]), vectors) == pytest.approx([0.8, 0.7, 0.1])


def test_smoothing_uses_the_eight_nearest_neighbours():
    scores = np.array([0.8, 0.78, 0.77, 0.76, 0.2, 0.2])
    alone, *friends = smooth_scores(scores, at(90, 0, 2, 4, 88, 92))[:4]
    assert alone < min(friends)
    angles = [0, *range(1, 10)]
    scores = np.array([0.0] * 9 + [1.0])
    assert smooth_scores(scores, at(*angles))[0] == 0.0
    assert smooth_scores(scores, at(*angles[:8], 20, 8))[0] > 0.0


def test_smoothing_ignores_vector_length_and_leaves_its_input_unchanged():
    scores, vectors = np.array([0.9, 0.5, 0.1]), at(0, 20, 50)
    longer = vectors * np.array([[1.0], [7.0], [0.1]])
    assert smooth_scores(scores, longer) == pytest.approx(smooth_scores(scores, vectors))
    assert smooth_scores(np.array([]), np.ones((0, 3))).tolist() == []
    assert smooth_scores(np.array([0.7]), np.ones((1, 3))).tolist() == [0.7]
    scores = np.array([0.9, 0.1])
    smooth_scores(scores, at(0, 10))
    assert scores.tolist() == [0.9, 0.1]


@given(st.integers(2, 30), st.data())
def test_smoothing_keeps_copies_equal_and_scores_in_range(count, data):
    scores = data.draw(arrays.arrays(float, count, elements=st.floats(0, 1)))
    vectors = data.draw(arrays.arrays(np.float32, (count, 5), elements=st.floats(-1, 1, width=16)))
    twice = smooth_scores(np.concatenate([scores, scores]), np.concatenate([vectors, vectors]))
    assert twice[:count] == pytest.approx(twice[count:], abs=1e-12)
    result = smooth_scores(scores, vectors)
    assert scores.min() - 1e-9 <= result.min() and result.max() <= scores.max() + 1e-9
