"""Cross-scoring: each leg scores the other's candidates, or reports that it can't."""

import numpy as np
import pytest

from search.retrieval.types import Fusion
from tests.unit.search.retrieval.static_legs import (
    OFF,
    StaticLeg,
    hide,
    ids_of,
    names,
    rank,
    result,
    scores_by_name,
)


def scoring(names_, scores=None, *, scored=None, **options):
    """Return a result that scores others from a table, 0.25 without one."""
    every = dict.fromkeys("abcdef", 0.25) | (scored or {})
    return result(names_, scores, scored=every, **options)


def convex(*legs, **options):
    return rank(*legs, fusion=Fusion.CONVEX, **options)


def scores_by_leg(ranked):
    return {
        leg: {
            name: score for name, score in zip(names(ranked), scores.tolist(), strict=True) if score == score
        }
        for leg, scores in ranked.known_scores.items()
    }


def test_each_leg_scores_what_only_the_other_found():
    lexical, vector = scoring("ab"), scoring("bc")
    ranked = convex(StaticLeg("lexical", lexical), StaticLeg("vector", vector))
    assert (lexical.asked, vector.asked) == ([["c"]], [["a"]])
    assert scores_by_leg(ranked) == {
        "lexical": {"a": 1 / 2, "b": 1 / 3, "c": 0.25},
        "vector": {"b": 1 / 2, "c": 1 / 3, "a": 0.25},
    }
    assert "scoring" in ranked.timings_ms
    lexical, vector = scoring("ab"), scoring("bc")
    ranked = rank(StaticLeg("lexical", lexical), StaticLeg("vector", vector))
    assert (lexical.asked, vector.asked, ranked.known_scores) == ([], [], {})
    assert "scoring" not in ranked.timings_ms


def test_scores_of_both_legs_decide():
    """Rank a first: its lexical score is far better and its vector score nearly as good as b's."""
    lexical = StaticLeg("lexical", scoring("ab", [0.99, 0.5], scored={"c": 0.0}))
    vector = StaticLeg("vector", scoring("bc", [0.5, 0.1], scored={"a": 0.49}))
    assert names(rank(lexical, vector))[0] == "b"
    assert names(convex(lexical, vector))[0] == "a"
    # 0.999 and 0.998 are a bm25 of 999 and of 499: far apart, as 0.5 and 0.333 are not.
    vector = StaticLeg("vector", scoring("bac"))
    steep = StaticLeg("lexical", scoring("ab", [0.999, 0.5], scored={"c": 0.998}))
    flat = StaticLeg("lexical", scoring("ab", [0.999, 0.5], scored={"c": 0.5}))
    assert scores_by_name(convex(steep, vector))["c"] > scores_by_name(convex(flat, vector))["c"]


@pytest.mark.parametrize("words", ["", "abc"])
def test_passages_in_other_languages_are_lifted_by_little(words):
    """The vectors alone decide where no passage has a word; c is too far behind, public scores stay."""
    vector = StaticLeg("vector", scoring("abc", [0.8, 0.797, 0.79]))
    lexical = StaticLeg("lexical", scoring(words, [0.5] * len(words), scored=dict.fromkeys("abc", 0.5)))
    lifted = convex(lexical, vector, is_foreign=lambda ids: np.isin(ids, ids_of("bc")))
    assert (names(convex(lexical, vector)), names(lifted)) == (list("abc"), list("bac"))
    assert lifted.ranks["vector"].tolist() == [2, 1, 3]
    by_ranks = rank(lexical, vector, is_foreign=lambda ids: np.isin(ids, ids_of("bc")))
    assert names(by_ranks) == list("abc")


def test_convex_fusion_smooths_over_the_vectors_that_a_leg_has():
    places = {name: [1.0, 0.0] for name in "abc"}
    lexical = StaticLeg("lexical", scoring("ab"))
    apart = convex(lexical, StaticLeg("vector", scoring("bc")))
    near = convex(lexical, StaticLeg("vector", scoring("bc", places=places)))
    assert near.scores[0] < apart.scores[0]


def test_order_of_the_only_leg_with_results_is_kept(subtests):
    """Use scores that contradict the order, as bm25 may for passages with some terms behind one with all."""
    for full, empty in (("lexical", "vector"), ("vector", "lexical")):
        with subtests.test(found=full):
            nothing = scoring("", scored={"b": 0.9})
            ranked = convex(StaticLeg(full, scoring("ab", [0.5, 0.9])), StaticLeg(empty, nothing))
            assert names(ranked) == ["a", "b"]
            assert ranked.scores.tolist() == pytest.approx([1 / 2, 61 / 62 / 2])
            assert (nothing.asked, ranked.known_scores, ranked.degraded) == ([], {}, ())

    lexical = scoring("ba")
    ranked = convex(StaticLeg("lexical", lexical), StaticLeg("vector", OFF))
    assert names(ranked) == ["b", "a"]
    assert ranked.scores[0] == 1.0
    assert (ranked.degraded, lexical.asked) == (("vector",), [])

    exact = StaticLeg("exact", "b", weight=3.0, is_skipped_when_empty=True)
    ranked = convex(StaticLeg("lexical", scoring("ab")), StaticLeg("vector", scoring("")), exact)
    assert names(ranked) == ["b", "a"]


def test_leg_that_fails_to_score_keeps_the_scores_it_has():
    unknown = scoring("bc", scored={"a": np.nan})
    ranked = convex(StaticLeg("lexical", scoring("ab")), StaticLeg("vector", unknown))
    assert sorted(names(ranked)) == ["a", "b", "c"]
    assert scores_by_leg(ranked)["vector"].keys() == {"b", "c"}
    late = scoring("a", is_complete=False)
    ranked = convex(StaticLeg("lexical", late), StaticLeg("vector", scoring("bc")))
    assert sorted(names(ranked)) == ["a", "b", "c"]
    assert (late.asked, ranked.degraded) == ([], ("lexical",))


def test_hidden_candidates_are_not_scored():
    vector = scoring("bc")
    ranked = convex(StaticLeg("lexical", scoring("ab")), StaticLeg("vector", vector), check=hide("a"))
    assert (vector.asked, names(ranked)) == ([], ["b", "c"])
