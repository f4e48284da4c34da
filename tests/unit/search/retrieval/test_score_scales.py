import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.retrieval.fusion.score_scales import lexical_score, vector_score

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def test_bm25_and_cosine_become_scores(subtests):
    for bm25, score in [(-1, 0.5), (-2, 0.666667), (-10, 0.909091), (0, 0), (3, 0)]:
        with subtests.test(bm25=bm25):
            assert lexical_score(bm25) == pytest.approx(score, abs=5e-7)
    for cosine, score in [(1, 1), (0, 0.5), (-1, 0), (1.0000001, 1), (-1.1, 0)]:
        with subtests.test(cosine=cosine):
            assert vector_score(cosine) == score
    for bm25 in (0.0, -0.0, 5.0):
        with subtests.test(bm25=bm25):
            assert math.copysign(1.0, lexical_score(bm25)) == 1.0
            assert math.copysign(1.0, vector_score(-1.0)) == 1.0

    for number in (math.nan, math.inf, -math.inf):
        with subtests.test(number=number):
            with pytest.raises(ValueError, match="no score"):
                lexical_score(number)
            with pytest.raises(ValueError, match="no score"):
                vector_score(number)


@given(FINITE)
def test_lexical_scores_stay_below_one(bm25):
    assert 0.0 <= lexical_score(bm25) < 1.0


@given(FINITE, FINITE)
def test_a_lower_bm25_never_scores_less_but_for_the_last_bit(one, other):
    better, worse = lexical_score(min(one, other)), lexical_score(max(one, other))
    assert math.nextafter(better, 1.0) >= worse
