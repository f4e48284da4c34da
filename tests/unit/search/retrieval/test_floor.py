"""The floor: the evidence that a hit needs, by words, by vectors and by both."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from search.engine.ranking_snapshot import RankingSnapshot
from search.retrieval.fusion.floor import CONTRAST, MULTILINGUAL_CONTRAST, apply_floor
from search.retrieval.types import Fusion, Mode
from tests.unit.search.retrieval.static_legs import (
    StaticLeg,
    StaticResult,
    ids_of,
    names,
    names_of,
    rank,
    result,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Words(StaticResult):
    """A result of words: the share of the query's words that each chunk has, by name."""

    shares: dict[str, float] | None

    def word_shares(self, ids: np.ndarray) -> tuple[np.ndarray, float] | None:
        if self.shares is None:
            return None
        return np.array([self.shares.get(name, 0.0) for name in names_of(ids)]), 1.0


def words(shares: dict[str, float] | None, *, tiers=None):
    """Return the lexical leg."""
    listed = list(shares or {})
    base = result(listed, [0.001] * len(listed), tiers=tiers or ["some"] * len(listed))
    return StaticLeg(
        "lexical",
        Words(
            ids=base.ids, scores=base.scores, tiers=base.tiers, scored=dict.fromkeys(listed, 0.001),
            shares=shares,
        ),
    )  # fmt: skip


def vectors(cosines: dict[str, float]):
    best = dict(sorted(cosines.items(), key=lambda each: -each[1]))
    scored = {name: (1 + cosine) / 2 for name, cosine in best.items()}
    return StaticLeg("vector", result(list(best), list(scored.values()), scored=scored))


def floored(*legs, mode=Mode.HYBRID, contrast=None, leaves_out=False):
    wanted = legs[1:] if mode is Mode.VECTOR else legs
    ranked = rank(*wanted, mode=mode, fusion=Fusion.CONVEX, k=100)
    found = legs[0].search(100)
    return apply_floor(ranked, found, contrast=contrast, leaves_out=leaves_out, measures_relevance=True)


def related(*legs: StaticLeg, **options: Any) -> set[str]:
    return set(names_of(floored(*legs, **options).below_floor))


def test_nonsense_has_related_hits_only_and_none_with_the_floor():
    legs = words({}), vectors({"a": 0.4, "b": 0.3})
    marked = floored(*legs)
    assert (names(marked), marked.is_related.tolist()) == (["a", "b"], [True, True])
    assert [entry.retrieval.related for entry in marked.entries(10)] == [True, True]
    left = floored(*legs, leaves_out=True)
    assert (names(left), names_of(left.below_floor)) == ([], ["a", "b"])
    assert len(RankingSnapshot.from_ranking(left)) == 0


def test_related_hits_follow_the_others_in_their_order_with_their_scores():
    cosines = {"a": 0.6, "b": 0.1, "c": 0.5, "d": 0.05}
    legs = words({"a": 0.8, "b": 0.02}), vectors(cosines)
    fused = rank(*legs, fusion=Fusion.CONVEX, k=100)
    marked = floored(*legs)
    order = [name for name in names(fused) if name in "ac"] + [name for name in names(fused) if name in "bd"]
    assert names(marked) == order and marked.is_related.tolist() == [False, False, True, True]
    for column, before in ((marked.scores, fused.scores), (marked.ranks["vector"], fused.ranks["vector"])):
        assert dict(zip(order, column, strict=True)) == dict(zip(names(fused), before, strict=True))
    assert marked.known_scores["vector"].tolist() == [(1 + cosines[name]) / 2 for name in order]
    assert names(floored(*legs, leaves_out=True)) == order[:2]


def test_hit_with_all_words_or_a_name_is_never_related():
    found = vectors({"a": 0.0, "b": 0.0})
    assert related(words({"a": 0.1}, tiers=["all"]), found) == {"b"}
    assert related(words({}), found, StaticLeg("exact", ["b"])) == {"a"}


def test_words_alone_have_a_limit_of_their_own():
    for share, found in ((0.29, {"a"}), (0.31, set())):
        assert related(words({"a": share}), mode=Mode.LEXICAL) == found


def test_words_count_in_vector_mode_and_decide_nothing_if_unknown():
    found = vectors({"a": 0.3, "b": 0.2})
    assert related(words({"a": 0.5}), found, mode=Mode.VECTOR) == {"b"}
    assert related(words({}), found, mode=Mode.VECTOR) == {"a", "b"}
    for mode in (Mode.VECTOR, Mode.HYBRID):
        assert related(words(None), found, mode=mode) == set()


def test_new_hit_without_a_vector_is_judged_by_its_words():
    assert related(words({"new": 0.5}), vectors({"old": 0.1})) == {"old"}


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (0.2, 0.75)])
def test_cosines_of_another_model_count_by_their_contrast(scale, shift):
    def scaled(best: float) -> StaticLeg:
        return vectors({f"{n:02}": shift + scale * (best if n == 0 else 0.1) for n in range(40)})

    assert related(words({}), scaled(0.6), contrast=CONTRAST) == set()
    assert len(related(words({}), scaled(0.15), contrast=CONTRAST)) == 40
    # The one in the middle of few is usual; of fewer than four none is.
    few = {"a": 0.3, "b": 0.1, "c": 0.1, "d": 0.1}
    assert related(words({}), vectors(few), contrast=MULTILINGUAL_CONTRAST) == set()
    assert related(words({}), vectors(few), contrast=CONTRAST) == set(few)
    assert related(words({}), vectors({"a": 0.1}), contrast=CONTRAST) == set()


def test_ids_of_an_empty_ranking_stay_empty():
    assert names(floored(words({}), vectors({}))) == names_of(ids_of([]))


def test_hits_that_are_all_related_are_listed_by_their_vectors():
    legs = words({"a": 0.05, "b": 0.05, "c": 0.05}), vectors({"d": 0.3, "c": 0.2, "b": 0.19})
    assert names(rank(*legs, mode=Mode.HYBRID, fusion=Fusion.CONVEX, k=100)) == ["d", "a", "c", "b"]
    assert names(floored(*legs)) == ["d", "c", "b", "a"]


@pytest.mark.parametrize("contrast", [None, CONTRAST])
def test_words_are_not_read_where_cosines_are_enough(contrast):
    class Unread(Words):
        def word_shares(self, ids: np.ndarray) -> tuple[np.ndarray, float] | None:
            raise AssertionError

    near = vectors({"a": 0.9, "b": 0.6, "c": 0.5, "d": 0.4, "e": 0.3})
    ranked = rank(near, mode=Mode.VECTOR, fusion=Fusion.CONVEX, k=100)
    found = apply_floor(
        ranked, Unread(shares=None), contrast=contrast, leaves_out=True, measures_relevance=True
    )
    assert len(found) == 5
