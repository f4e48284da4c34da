"""Convex fusion: by hand, against an independent implementation, and properties."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.retrieval.fusion.convex import ScoredList, convex_combination
from search.retrieval.fusion.rrf import RankedList
from search.retrieval.fusion.smoothing import smooth_scores

IDS = list("abcdefgh")


def scored_list(name, scores, *, found=None, weight=1.0):
    best_first = sorted(scores, key=lambda id_: (-scores[id_], id_))
    return ScoredList(name=name, weight=weight, chunk_ids=found or best_first, scores=scores)


def by_id(fused):
    return {found.chunk_id: found.score for found in fused}


def plain(lexical, vector):
    """Compute the formula in an independent implementation."""
    together = {}
    best = 0.0
    for share, scores in ((0.3, lexical), (0.7, vector)):
        mean, deviation = statistics.fmean(scores.values()), statistics.pstdev(scores.values())
        parts = {
            id_: share * (math.exp((x - mean) / deviation / 3) if deviation else 1.0)
            for id_, x in scores.items()
        }
        best += max(parts.values())
        together = {id_: together.get(id_, 0.0) + part for id_, part in parts.items()}
    return {id_: part / best for id_, part in together.items()}


def test_scores_by_hand():
    """Two scores always stand one deviation from their mean: exp(±1/3) = 1.395612, 0.716531."""
    fused = convex_combination(
        [scored_list("lexical", {"a": 9.0, "b": 1.0}), scored_list("vector", {"a": 0.2, "b": 0.4})]
    )
    high, low = 1.395612, 0.716531
    assert by_id(fused) == {
        "b": pytest.approx((0.3 * low + 0.7 * high) / high, abs=1e-6),
        "a": pytest.approx((0.3 * high + 0.7 * low) / high, abs=1e-6),
    }
    assert [found.chunk_id for found in fused] == ["b", "a"]

    fused = convex_combination(
        [
            scored_list("lexical", {"a": 5.0, "b": 2.0, "c": 0.0}),
            scored_list("vector", {"a": 0.9, "b": 0.1, "c": 0.3}),
        ]
    )
    assert fused[0].chunk_id == "a"
    assert fused[0].score == pytest.approx(1.0)

    same = {"a": 0.1 + 0.2, "b": 0.3, "c": 0.3}
    alone = {"a": 1.0, "b": 3.0, "c": 2.0}
    fused = convex_combination([scored_list("lexical", same), scored_list("vector", alone)])
    assert [found.chunk_id for found in fused] == ["b", "c", "a"]

    empty = [ScoredList(name=name, chunk_ids=[], scores={}) for name in ("lexical", "vector")]
    assert convex_combination(empty) == []


def test_ranks_are_those_of_the_lists():
    lexical = ScoredList(name="lexical", chunk_ids=["b"], scores={"a": 3.0, "b": 1.0})
    vector = ScoredList(name="vector", chunk_ids=["a", "b"], scores={"a": 0.5, "b": 0.4})
    ranks = {found.chunk_id: dict(found.ranks) for found in convex_combination([lexical, vector])}
    assert ranks == {"a": {"vector": 1}, "b": {"lexical": 1, "vector": 2}}
    lexical = ScoredList(name="lexical", chunk_ids=["c"], scores=dict.fromkeys("abc", 1.0))
    vector = ScoredList(name="vector", chunk_ids=["b", "a"], scores=dict.fromkeys("abc", 0.5))
    assert [found.chunk_id for found in convex_combination([lexical, vector])] == ["c", "a", "b"]


def test_unretrieved_and_unknown_scores_count():
    """Only the lexical leg found a, but its vector is nearly as good as b's: the words then decide."""
    lexical = scored_list("lexical", {"a": 10.0, "b": 0.0, "c": 1.0}, found=["a", "c"])
    vector = scored_list("vector", {"a": 0.61, "b": 0.62, "c": 0.1}, found=["b"])
    assert [found.chunk_id for found in convex_combination([lexical, vector])] == ["a", "b", "c"]
    lexical = ScoredList(name="lexical", chunk_ids=[], scores=dict.fromkeys("abc", 0.0))
    fused = convex_combination([lexical, scored_list("vector", {"a": 0.1, "b": 0.3, "c": 0.2})])
    assert [found.chunk_id for found in fused] == ["b", "c", "a"]
    assert fused[0].score == pytest.approx(1.0)
    known = scored_list("vector", {"a": 0.8, "b": 0.2}, found=["a", "b"])
    lexical = scored_list("lexical", {"a": 1.0, "b": 1.0, "c": 1.0})
    fused = by_id(convex_combination([lexical, known]))
    assert fused["a"] > fused["c"] > fused["b"]


def test_weights_and_lists_without_scores():
    lists = [scored_list("lexical", {"a": 9.0, "b": 1.0}), scored_list("vector", {"a": 0.8, "b": 0.2})]
    alone = by_id(convex_combination(lists))
    exact = RankedList(name="exact", weight=2.0, chunk_ids=["x", "b"])
    together = convex_combination(lists, [exact])
    assert by_id(together)["a"] == pytest.approx(2 * alone["a"] / 4)
    assert by_id(together)["b"] == pytest.approx((2 * alone["b"] + 2 * 61 / 62) / 4)
    assert [dict(found.ranks) for found in together if found.chunk_id == "x"] == [{"exact": 1}]
    lexical, vector = {"a": 9.0, "b": 1.0}, {"a": 0.2, "b": 0.8}
    fused = convex_combination([scored_list("lexical", lexical, weight=7 / 3), scored_list("vector", vector)])
    assert by_id(fused)["a"] == pytest.approx(by_id(fused)["b"])


class Vectors:
    """Returns its vectors, and records the ids asked for."""

    def __init__(self, **by_id):
        self.by_id, self.asked = by_id, []

    def __call__(self, chunk_ids):
        self.asked.append(list(chunk_ids))
        return {id_: np.array(self.by_id[id_]) for id_ in chunk_ids if id_ in self.by_id}


def three():
    return [
        scored_list("lexical", {"a": 9.0, "b": 8.0, "c": 1.0}),
        scored_list("vector", {"a": 0.2, "b": 0.1, "c": 0.4}),
    ]


def test_means_are_smoothed_over_neighbours():
    vectors = Vectors(a=[1.0, 0.0], b=[1.0, 0.1], c=[0.5, 1.0])
    alone = by_id(convex_combination(three()))
    column = smooth_scores(
        np.array([alone[id_] for id_ in "abc"]), np.array([vectors.by_id[id_] for id_ in "abc"])
    )
    fused = by_id(convex_combination(three(), vectors_of=vectors))
    assert fused == pytest.approx(dict(zip("abc", column, strict=True)))
    assert fused != pytest.approx(alone)

    alone = by_id(convex_combination(three()))
    fused = by_id(convex_combination(three(), vectors_of=Vectors(a=[1.0, 0.0], c=[1.0, 0.0])))
    assert fused["b"] == pytest.approx(alone["b"])
    assert fused["a"] == pytest.approx(0.6 * alone["a"] + 0.4 * alone["c"])
    assert by_id(convex_combination(three(), vectors_of=Vectors())) == alone

    exact = RankedList(name="exact", weight=2.0, chunk_ids=["c"])
    vectors = Vectors(a=[1.0, 0.0], b=[1.0, 0.1], c=[0.5, 1.0])
    legs = by_id(convex_combination(three(), vectors_of=vectors))
    fused = by_id(convex_combination(three(), [exact], vectors_of=vectors))
    assert fused["c"] == pytest.approx((2 * legs["c"] + 2.0) / 4)
    assert fused["a"] == pytest.approx(2 * legs["a"] / 4)


def test_only_the_best_fifty_are_smoothed_and_stay_before_the_rest():
    ids = [f"{number:03d}" for number in range(120)]
    lists = [
        scored_list("lexical", {id_: float(-n) for n, id_ in enumerate(ids)}),
        scored_list("vector", {id_: -n / 200 for n, id_ in enumerate(ids)}),
    ]
    rng = np.random.default_rng(7)
    vectors = Vectors(**{id_: rng.normal(size=4) for id_ in ids})
    alone, fused = convex_combination(lists), convex_combination(lists, vectors_of=vectors)
    assert vectors.asked == [ids[:50]]
    assert fused[50:] == alone[50:]
    assert {each.chunk_id for each in fused[:50]} == set(ids[:50]) and fused[:50] != alone[:50]


def test_copies_of_a_passage_tie():
    """They have the same scores and vectors: lexical rank and id decide, not how sums are rounded."""
    ids = [f"{number:02d}" for number in range(40)]
    kind = {id_: n % 7 for n, id_ in enumerate(ids)}
    rng = np.random.default_rng(3)
    numbers, places = rng.random(7), rng.normal(size=(7, 384)).astype(np.float32)
    lists = [
        scored_list("lexical", {id_: numbers[kind[id_]] for id_ in ids}),
        scored_list("vector", {id_: numbers[::-1][kind[id_]] for id_ in ids}),
    ]
    fused = by_id(convex_combination(lists, vectors_of=Vectors(**{id_: places[kind[id_]] for id_ in ids})))
    assert len(set(fused.values())) == 7


def scores_of(ids):
    number = st.floats(0, 60, allow_nan=False).map(lambda value: round(value, 6))
    return st.fixed_dictionaries(dict.fromkeys(ids, number))


@given(scores_of(IDS), scores_of(IDS))
def test_fusion_equals_the_plain_formula(lexical, vector):
    fused = by_id(convex_combination([scored_list("lexical", lexical), scored_list("vector", vector)]))
    assert fused == pytest.approx(plain(lexical, vector), abs=1e-9)


@given(st.data())
def test_scores_lie_between_0_and_1_in_the_promised_order_whatever_the_order_of_the_legs(data):
    everything = data.draw(st.lists(st.sampled_from(IDS), min_size=1, unique=True))
    lists = []
    for name in ("lexical", "vector"):
        found = data.draw(st.lists(st.sampled_from(everything), unique=True))
        known = data.draw(st.lists(st.sampled_from(everything), unique=True))
        drawn = data.draw(scores_of(everything))
        scores = {id_: drawn[id_] for id_ in {*found, *known}}
        lists.append(ScoredList(name=name, chunk_ids=found, scores=scores))
    exact = [RankedList(name="exact", weight=3.0, chunk_ids=data.draw(st.permutations(everything))[:2])]
    fused = convex_combination(lists, exact)
    assert all(0 <= found.score <= 1 for found in fused)
    assert fused == convex_combination(lists[::-1], exact)
    keys = [(-f.score, f.ranks.get("lexical", math.inf), f.chunk_id) for f in fused]
    assert keys == sorted(keys)
    assert {f.chunk_id for f in fused} == {id_ for each in [*lists, *exact] for id_ in each.chunk_ids}
