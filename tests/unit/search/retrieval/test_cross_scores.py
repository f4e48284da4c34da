"""Cross-scoring: each leg scores the other's candidates, or reports that it can't."""

from unittest.mock import Mock

import numpy as np
import pytest

from search.retrieval.errors import EmbedderUnavailable, LegTimeout
from search.retrieval.types import Candidate, Fusion
from tests.unit.search.retrieval.static_legs import StaticLeg, candidates, ids, rank


class ScoringLeg(StaticLeg):
    """Scores candidates from a table, others with 0.25."""

    def __init__(self, name, ids, *, scores=None, failure_of_score=None, **leg):
        super().__init__(name, ids, score=self.score, **leg)
        self.scores, self.failure_of_score = scores or {}, failure_of_score
        self.asked = []

    def score(self, chunk_ids):
        self.asked.append(list(chunk_ids))
        if self.failure_of_score is not None:
            raise self.failure_of_score
        return {chunk_id: self.scores.get(chunk_id, 0.25) for chunk_id in chunk_ids}


def convex(*legs, **options):
    return rank(*legs, fusion=Fusion.CONVEX, **options)


def test_each_leg_scores_what_only_the_other_found():
    lexical, vector = ScoringLeg("lexical", "ab"), ScoringLeg("vector", "bc")
    ranked = convex(lexical, vector)
    assert (lexical.asked, vector.asked) == ([["c"]], [["a"]])
    assert ranked.scores == {
        "lexical": {"a": 1 / 2, "b": 1 / 3, "c": 0.25},
        "vector": {"b": 1 / 2, "c": 1 / 3, "a": 0.25},
    }
    assert "scoring" in ranked.timings_ms
    lexical, vector = ScoringLeg("lexical", "ab"), ScoringLeg("vector", "bc")
    ranked = rank(lexical, vector)
    assert (lexical.asked, vector.asked, ranked.scores) == ([], [], {})
    assert "scoring" not in ranked.timings_ms


def test_scores_of_both_legs_decide():
    """The words are far better in a, which the vectors did not find and yet think nearly as good as b."""
    lexical = ScoringLeg("lexical", "", scores={"c": 0.0})
    lexical.found = [Candidate(chunk_id="a", score=0.99), Candidate(chunk_id="b", score=0.5)]
    vector = ScoringLeg("vector", "", scores={"a": 0.49})
    vector.found = [Candidate(chunk_id="b", score=0.5), Candidate(chunk_id="c", score=0.1)]
    assert ids(rank(lexical, vector))[0] == "b"
    assert ids(convex(lexical, vector))[0] == "a"
    # 0.999 and 0.998 are a bm25 of 999 and of 499: far apart, as 0.5 and 0.333 are not.
    lexical = ScoringLeg("lexical", "ab")
    lexical.found = [Candidate(chunk_id="a", score=0.999), Candidate(chunk_id="b", score=0.5)]
    vector = ScoringLeg("vector", "bac")
    lexical.scores = {"c": 0.998}
    fused = {each.chunk_id: each.score for each in convex(lexical, vector).fused}
    flat = ScoringLeg("lexical", "ab")
    flat.found, flat.scores = lexical.found, {"c": 0.5}
    assert fused["c"] > {each.chunk_id: each.score for each in convex(flat, vector).fused}["c"]


def test_convex_fusion_smooths_over_the_vectors_that_a_leg_has():
    vectors = Mock(side_effect=lambda chunk_ids: dict.fromkeys(chunk_ids, np.array([1.0, 0.0])))
    legs = ScoringLeg("lexical", "ab"), ScoringLeg("vector", "bc", vectors=vectors)
    apart, near = convex(legs[0], ScoringLeg("vector", "bc")), convex(*legs)
    assert sorted(vectors.call_args.args[0]) == ["a", "b", "c"]
    assert near.entries[0].score < apart.entries[0].score
    rank(*legs)
    rank(ScoringLeg("lexical", "ab"), StaticLeg("vector", "c", vectors=vectors), fusion=Fusion.CONVEX)
    assert vectors.call_count == 1


def test_order_of_the_only_leg_with_results_is_kept(subtests):
    """Its scores say otherwise, as bm25 does of a passage with some of the terms behind one with all."""
    for found, empty in (("lexical", "vector"), ("vector", "lexical")):
        with subtests.test(found=found):
            finds, finds_nothing = ScoringLeg(found, ""), ScoringLeg(empty, "", scores={"b": 0.9})
            finds.found = [Candidate(chunk_id="a", score=0.5), Candidate(chunk_id="b", score=0.9)]
            ranked = convex(finds, finds_nothing)
            assert ids(ranked) == ["a", "b"]
            assert [entry.score for entry in ranked.entries] == pytest.approx([1 / 2, 61 / 62 / 2])
            assert (finds_nothing.asked, ranked.scores, ranked.degraded) == ([], {}, ())

    off = ScoringLeg("vector", "c", failure=EmbedderUnavailable("off"))
    lexical = ScoringLeg("lexical", "ba")
    ranked = convex(lexical, off)
    assert ids(ranked) == ["b", "a"]
    assert ranked.entries[0].score == 1.0
    assert (ranked.degraded, off.asked, lexical.asked) == (("vector",), [], [])

    exact = StaticLeg("exact", "b", weight=3.0, is_skipped_when_empty=True)
    ranked = convex(ScoringLeg("lexical", "ab"), ScoringLeg("vector", ""), exact)
    assert ids(ranked) == ["b", "a"]


def test_failed_leg_is_not_scored(subtests):
    for failure in (LegTimeout("late"), EmbedderUnavailable("off")):
        with subtests.test(failure=failure):
            vector = ScoringLeg("vector", "bc", failure_of_score=failure)
            ranked = convex(ScoringLeg("lexical", "ab"), vector)
            assert sorted(ids(ranked)) == ["a", "b", "c"]
            assert ranked.scores["vector"].keys() == {"b", "c"}
    late = ScoringLeg("lexical", "", failure=LegTimeout("late", partial=candidates("a")))
    ranked = convex(late, ScoringLeg("vector", "bc"))
    assert sorted(ids(ranked)) == ["a", "b", "c"]
    assert (late.asked, ranked.degraded) == ([], ("lexical",))


def test_hidden_candidates_are_not_scored():
    vector = ScoringLeg("vector", "bc")
    ranked = convex(ScoringLeg("lexical", "ab"), vector, read_back=lambda ids: set(ids) - {"a"})
    assert (vector.asked, ids(ranked)) == ([], ["b", "c"])
    lexical = ScoringLeg("lexical", "")
    lexical.found = [Candidate(chunk_id="a", score=0.5), Candidate(chunk_id="b", score=0.9)]
    ranked = convex(lexical, ScoringLeg("vector", "c"), read_back=lambda ids: set(ids) - {"c"})
    assert ids(ranked) == ["a", "b"]
