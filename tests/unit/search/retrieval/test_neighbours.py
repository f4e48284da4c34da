"""Scores smoothed over neighbours: by hand, and what holds whatever the vectors are."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from search.retrieval.neighbours import smoothed


def at(*degrees):
    """Vectors in the plane at these angles."""
    return np.array([[math.cos(math.radians(d)), math.sin(math.radians(d))] for d in degrees])


def test_three_by_hand():
    """Cosines: 0.5 at 60 degrees, 0 at 90, 0.866025 at 30."""
    result = smoothed(np.array([1.0, 0.4, 0.1]), at(0, 60, 90))
    second = (0.5 * 1.0 + 0.866025 * 0.1) / (0.5 + 0.866025)
    assert result == pytest.approx([0.6 + 0.4 * 0.4, 0.6 * 0.4 + 0.4 * second, 0.06 + 0.4 * 0.4], abs=1e-6)


def test_one_among_others_that_are_liked_passes_one_that_stands_alone():
    scores = np.array([0.8, 0.78, 0.77, 0.76, 0.2, 0.2])
    alone, *friends = smoothed(scores, at(90, 0, 2, 4, 88, 92))[:4]
    assert alone < min(friends)


def test_eight_neighbours_are_heard_and_no_ninth():
    angles = [0, *range(1, 10)]
    scores = np.array([0.0] * 9 + [1.0])
    assert smoothed(scores, at(*angles))[0] == 0.0
    assert smoothed(scores, at(*angles[:8], 20, 8))[0] > 0.0


def test_what_points_the_other_way_is_no_neighbour():
    assert smoothed(np.array([1.0, 0.5]), at(0, 180)).tolist() == [1.0, 0.5]


def test_a_vector_without_a_direction_changes_nothing():
    vectors = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    assert smoothed(np.array([1.0, 0.5, 0.1]), vectors) == pytest.approx([0.8, 0.7, 0.1])


def test_the_length_of_a_vector_changes_nothing():
    scores, vectors = np.array([0.9, 0.5, 0.1]), at(0, 20, 50)
    longer = vectors * np.array([[1.0], [7.0], [0.1]])
    assert smoothed(scores, longer) == pytest.approx(smoothed(scores, vectors))


@pytest.mark.parametrize("scores", [[], [0.7]])
def test_without_others_there_is_nothing_to_hear(scores):
    assert smoothed(np.array(scores), np.ones((len(scores), 3))).tolist() == scores


def test_the_scores_that_came_in_stay_as_they_are():
    scores = np.array([0.9, 0.1])
    smoothed(scores, at(0, 10))
    assert scores.tolist() == [0.9, 0.1]


@given(st.integers(2, 30), st.data())
def test_copies_come_out_the_same_and_nothing_leaves_the_range(count, data):
    scores = data.draw(arrays.arrays(float, count, elements=st.floats(0, 1)))
    vectors = data.draw(arrays.arrays(np.float32, (count, 5), elements=st.floats(-1, 1, width=16)))
    twice = smoothed(np.concatenate([scores, scores]), np.concatenate([vectors, vectors]))
    assert twice[:count] == pytest.approx(twice[count:], abs=1e-12)
    result = smoothed(scores, vectors)
    assert scores.min() - 1e-9 <= result.min() and result.max() <= scores.max() + 1e-9
