import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.retrieval.score import lexical_score, vector_score

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(("bm25", "score"), [(-1, 0.5), (-2, 0.666667), (-10, 0.909091), (0, 0), (3, 0)])
def test_bm25_becomes_a_score(bm25, score):
    assert lexical_score(bm25) == pytest.approx(score, abs=5e-7)


@pytest.mark.parametrize(("cosine", "score"), [(1, 1), (0, 0.5), (-1, 0), (1.0000001, 1), (-1.1, 0)])
def test_cosine_becomes_a_score(cosine, score):
    assert vector_score(cosine) == score


@pytest.mark.parametrize("bm25", [0.0, -0.0, 5.0])
def test_no_score_is_minus_zero(bm25):
    assert math.copysign(1.0, lexical_score(bm25)) == 1.0
    assert math.copysign(1.0, vector_score(-1.0)) == 1.0


@given(FINITE)
def test_lexical_scores_stay_below_one(bm25):
    assert 0.0 <= lexical_score(bm25) < 1.0


@given(FINITE, FINITE)
def test_a_lower_bm25_never_scores_less_but_for_the_last_bit(one, other):
    better, worse = lexical_score(min(one, other)), lexical_score(max(one, other))
    assert math.nextafter(better, 1.0) >= worse


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_refused(number):
    with pytest.raises(ValueError, match="no score"):
        lexical_score(number)
    with pytest.raises(ValueError, match="no score"):
        vector_score(number)
