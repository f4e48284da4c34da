from functools import cache

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from search.retrieval.query.edit_distance import allowed_errors, distances_to_stems, edit_distance

WORDS = st.text(alphabet="abc", max_size=7)


def reference(word, other):
    """Compute the distance by its recursive definition."""

    @cache
    def distance(i, j):
        if not i or not j:
            return i + j
        best = min(
            distance(i - 1, j) + 1,
            distance(i, j - 1) + 1,
            distance(i - 1, j - 1) + (word[i - 1] != other[j - 1]),
        )
        if i > 1 and j > 1 and word[i - 1] == other[j - 2] and word[i - 2] == other[j - 1]:
            best = min(best, distance(i - 2, j - 2) + 1)
        return best

    return distance(len(word), len(other))


def test_edit_distance_and_allowed_errors_equal_known_values(subtests):
    cases = [
        ("", "", 0), ("teh", "the", 1), ("instal", "install", 1), ("cat", "cut", 1),
        ("kitten", "sitting", 3),
    ]  # fmt: skip
    for word, other, distance in cases:
        with subtests.test(word=word):
            assert edit_distance(word, other) == distance
    for word, errors in [("ab", 0), ("abc", 1), ("abcdef", 1), ("abcdefg", 2)]:
        with subtests.test(word=word):
            assert allowed_errors(word) == errors
    terms = ["configur", "configuraton", "confgur", "co", "configurations"]
    assert distances_to_stems("configuraton", terms).tolist() == [0.5, 0.0, 1.5, np.inf, 2.0]


@given(WORDS, WORDS)
def test_edit_distance_equals_its_definition_and_is_symmetrical(word, other):
    assert edit_distance(word, other) == reference(word, other) == edit_distance(other, word)


@given(
    st.text(alphabet="abc", min_size=3, max_size=9),
    st.lists(st.text(alphabet="abc", min_size=1, max_size=12)),
)
def test_distances_to_many_stems_are_those_to_each(word, terms):
    distances = distances_to_stems(word, terms)
    shortest = max(3, len(word) - 7)
    for term, distance in zip(terms, distances, strict=True):
        beginnings = [word[:end] for end in range(shortest, len(word) + 1)]
        nearest = min(edit_distance(each, term) for each in beginnings) + 0.5
        fits = shortest - allowed_errors(word) <= len(term) <= len(word) + allowed_errors(word)
        assert distance == (min(edit_distance(word, term), nearest) if fits else np.inf)
