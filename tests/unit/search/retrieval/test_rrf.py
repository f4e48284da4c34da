"""Reciprocal rank fusion: the scores of the contract, whatever the order of the legs."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.retrieval.fusion.rrf import RankedList, reciprocal_rank_fusion


def ranked_list(name, ids, weight=1.0):
    return RankedList(name=name, weight=weight, chunk_ids=ids)


def at_rank(rank, chunk_id, filler):
    return [f"{filler}{number}" for number in range(rank - 1)] + [chunk_id]


def scores(fused):
    return {found.chunk_id: found.score for found in fused}


def test_scores_of_two_legs(subtests):
    cases = [(1, 1, 1.0), (1, 2, 0.991935), (2, 2, 0.983871), (10, 10, 0.871429)]
    for lexical_rank, vector_rank, score in cases:
        with subtests.test(lexical_rank=lexical_rank):
            lists = [
                ranked_list("lexical", at_rank(lexical_rank, "c", "l")),
                ranked_list("vector", at_rank(vector_rank, "c", "v")),
            ]
            assert scores(reciprocal_rank_fusion(lists))["c"] == pytest.approx(score, abs=5e-7)
    assert scores(reciprocal_rank_fusion([ranked_list("lexical", ["c"]), ranked_list("vector", ["c"])])) == {
        "c": 1.0
    }
    fused = reciprocal_rank_fusion([ranked_list("lexical", ["a"]), ranked_list("vector", ["b"])])
    assert scores(fused) == {"a": 0.5, "b": 0.5}
    assert [found.chunk_id for found in fused] == ["a", "b"]

    assert scores(reciprocal_rank_fusion([ranked_list("lexical", ["a"])])) == {"a": 1.0}
    fused = reciprocal_rank_fusion([ranked_list("lexical", []), ranked_list("vector", ["z", "a", "m"])])
    assert [found.chunk_id for found in fused] == ["z", "a", "m"]
    assert fused[0].score == 0.5 and fused[0].ranks == {"vector": 1}

    assert reciprocal_rank_fusion([]) == []
    lists = [
        ranked_list("lexical", ["a", "b", "c"]),
        ranked_list("vector", ["c", "a", "d"]),
        ranked_list("exact", ["b"], 2.0),
    ]
    best = (1 + 1 + 2) / 61
    expected = {
        "b": (1 / 62 + 2 / 61) / best, "a": (1 / 61 + 1 / 62) / best, "c": (1 / 63 + 1 / 61) / best,
        "d": (1 / 63) / best,
    }  # fmt: skip
    fused = reciprocal_rank_fusion(lists)
    assert [found.chunk_id for found in fused] == ["b", "a", "c", "d"]
    assert scores(fused) == pytest.approx(expected)
    assert fused[0].ranks == {"lexical": 2, "exact": 1}
    fused = reciprocal_rank_fusion([ranked_list("lexical", ["a", "b"])], k_rrf=1)
    assert scores(fused) == pytest.approx({"a": 1.0, "b": 2 / 3})


def test_ties_names_and_weights(subtests):
    lists = [
        ranked_list("lexical", ["z", "y"]),
        ranked_list("vector", ["y", "z", "b"]),
        ranked_list("other", ["q", "p", "a"]),
    ]
    assert [found.chunk_id for found in reciprocal_rank_fusion(lists)] == ["z", "y", "q", "p", "a", "b"]
    fused = reciprocal_rank_fusion([ranked_list("lexical", ["a", "a", "b"])])
    assert [found.ranks["lexical"] for found in fused] == [1, 2]
    for weight in (0.0, -1.0, float("nan"), float("inf")):
        with subtests.test(weight=weight), pytest.raises(ValueError, match="weight"):
            ranked_list("lexical", [], weight)
    with pytest.raises(ValueError, match="one name"):
        reciprocal_rank_fusion([ranked_list("lexical", ["a"]), ranked_list("lexical", ["b"])])


IDS = st.lists(st.sampled_from("abcdefgh"), unique=True)
LISTS = st.builds(
    lambda lists, weights: [
        ranked_list(*item) for item in zip(("lexical", "vector", "exact"), lists, weights, strict=True)
    ],
    st.tuples(IDS, IDS, IDS),
    st.tuples(*[st.sampled_from([0.1, 0.7, 1.0, 3.0])] * 3),
)


@given(LISTS, st.permutations(range(3)))
def test_scores_are_in_range_and_descend_and_nothing_is_lost_whatever_the_order_of_the_legs(lists, order):
    fused = reciprocal_rank_fusion(lists)
    assert reciprocal_rank_fusion([lists[index] for index in order]) == fused
    assert all(0.0 < found.score <= 1.0 for found in fused)
    assert all(a.score >= b.score for a, b in pairwise(fused))
    assert {found.chunk_id for found in fused} == {chunk_id for one in lists for chunk_id in one.chunk_ids}
