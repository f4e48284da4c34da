"""Public scores of bm25 sums and cosines."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.retrieval.fusion.scores import bm25_magnitudes, lexical_scores, vector_scores

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def test_sums_and_cosines_become_scores(subtests):
    sums = np.array([1.0, 2.0, 10.0, 0.0, -3.0])
    assert lexical_scores(sums) == pytest.approx([0.5, 0.666667, 0.909091, 0, 0], abs=5e-7)
    cosines = np.array([1.0, 0.0, -1.0, 1.0000001, -1.1])
    assert vector_scores(cosines).tolist() == [1, 0.5, 0, 1, 0]
    assert bm25_magnitudes(lexical_scores(sums[:4])) == pytest.approx(sums[:4])
    assert np.isnan(vector_scores(np.array([math.nan])))[0]
    for number in (math.nan, math.inf, -math.inf):
        with subtests.test(number=number), pytest.raises(ValueError, match="must be finite"):
            lexical_scores(np.array([number]))
    with pytest.raises(ValueError, match="must be finite"):
        vector_scores(np.array([math.inf]))


@given(FINITE)
def test_lexical_scores_stay_below_one(number):
    assert 0.0 <= lexical_scores(np.array([number]))[0] < 1.0


@given(FINITE, FINITE)
def test_a_higher_sum_never_scores_less_but_for_the_last_bit(one, other):
    worse, better = lexical_scores(np.sort(np.array([one, other])))
    assert math.nextafter(better, 1.0) >= worse
