"""The ranking over legs: concurrency, visibility before fusion, refill, reported gaps."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search.retrieval.errors import InvalidQuery
from search.retrieval.fusion.legs import candidate_limit
from search.retrieval.fusion.ranking import rank_candidates
from search.retrieval.query.exact import ALONE_WEIGHT
from search.retrieval.types import Fusion, Mode
from tests.unit.search.retrieval.static_legs import (
    OFF,
    StaticLeg,
    hide,
    names,
    names_of,
    rank,
    result,
    scores_by_name,
)


def test_each_leg_is_asked_for_twice_k_and_100_at_least(subtests):
    for k, wanted in ((1, 100), (50, 100), (51, 102), (1000, 2000)):
        with subtests.test(k=k):
            legs = StaticLeg("lexical", ["a"]), StaticLeg("vector", ["b"])
            rank(*legs, k=k)
            assert candidate_limit(k) == wanted
            assert [leg.limits for leg in legs] == [[wanted], [wanted]]


def test_full_list_of_a_leg_may_have_more():
    for found, has_more in ((99, False), (100, True)):
        legs = StaticLeg("lexical", ["a"]), StaticLeg("vector", numbered(found))
        assert rank(*legs, k=10).may_have_more is has_more


def test_hybrid_fuses_both_legs():
    ranked = rank(StaticLeg("lexical", ["a", "b"]), StaticLeg("vector", ["b", "c"]))
    assert names(ranked) == ["b", "a", "c"]
    first, _, last = ranked.entries(10)
    assert (first.rank, first.retrieval.method) == (1, Mode.HYBRID)
    assert first.score == first.retrieval.fusion_score == pytest.approx(0.991935, abs=5e-7)
    assert (first.retrieval.lexical_rank, first.retrieval.vector_rank) == (2, 1)
    assert (first.retrieval.lexical_score, first.retrieval.vector_score) == (1 / 3, 1 / 2)
    assert (last.retrieval.lexical_rank, last.retrieval.lexical_score) == (None, None)
    assert last.retrieval.vector_rank == 2
    assert ranked.degraded == ()
    ranked = rank(StaticLeg("lexical", "abc"), StaticLeg("vector", "xyz"))
    assert sorted(names(ranked)) == list("abcxyz")
    ranked = rank(StaticLeg("lexical", ""), StaticLeg("vector", "zam"))
    assert names(ranked) == list("zam")
    assert ranked.scores[0] == 0.5 and ranked.degraded == ()


def test_ranked_entries_keep_their_tier_and_exact_rank():
    leg = StaticLeg("lexical", result("ab", tiers=["all", "some"]))
    ranked = rank(leg, mode=Mode.LEXICAL)
    assert [entry.retrieval.tier for entry in ranked.entries(10)] == ["all", "some"]

    lexical, vector = StaticLeg("lexical", "eab"), StaticLeg("vector", "ab")
    assert names(rank(lexical, vector)) == ["a", "b", "e"]
    ranked = rank(lexical, vector, StaticLeg("exact", "e", weight=1.5))
    assert names(ranked) == ["e", "a", "b"]
    assert ranked.entries(1)[0].retrieval.exact_rank == 1

    for exact in ("a", "b", ""):
        legs = StaticLeg("lexical", "a"), StaticLeg("vector", "a")
        ranked = rank(*legs, StaticLeg("exact", exact, is_skipped_when_empty=True))
        assert scores_by_name(ranked)["a"] == pytest.approx(1.0)
        assert ("exact" in ranked.lists) == bool(exact)


@pytest.mark.parametrize("fusion", Fusion)
def test_exact_leg_never_lowers_the_first_hit_of_both_other_legs(fusion):
    words, exact = StaticLeg("lexical", "abc"), StaticLeg("exact", "cbd", weight=10.0)
    assert names(rank(words, StaticLeg("vector", "abc"), exact, fusion=fusion))[0] == "a"
    assert names(rank(words, StaticLeg("vector", "bac"), exact, fusion=fusion))[0] == "c"
    alone = StaticLeg("exact", "cbd", weight=ALONE_WEIGHT)
    assert names(rank(words, StaticLeg("vector", "abc"), alone, fusion=fusion))[0] == "c"


def test_single_mode_keeps_the_order_and_scores_of_its_leg(subtests):
    for mode, name in ((Mode.LEXICAL, "lexical"), (Mode.VECTOR, "vector")):
        with subtests.test(mode=mode):
            ranked = rank(StaticLeg(name, "cab"), mode=mode)
            assert names(ranked) == ["c", "a", "b"]
            entries = ranked.entries(2)
            assert [entry.score for entry in entries] == [1 / 2, 1 / 3]
            detail = entries[1].retrieval
            assert (detail.method, detail.fusion_score) == (mode, 1 / 3)
            assert getattr(detail, f"{name}_rank") == 2 and getattr(detail, f"{name}_score") == 1 / 3
            assert rank(StaticLeg(name, ""), mode=mode).entries(2) == ()
    with pytest.raises(ValueError, match="hybrid"):
        rank(StaticLeg("lexical", "a"), StaticLeg("vector", "b"), mode=Mode.LEXICAL)


def test_missing_leg_is_reported_as_degraded():
    ranked = rank(StaticLeg("lexical", "ab"), StaticLeg("vector", OFF))
    assert names(ranked) == ["a", "b"]
    assert ranked.scores[0] == 1.0
    assert ranked.degraded == ("vector",) and list(ranked.lists) == ["lexical"]

    ranked = rank(StaticLeg("vector", "a"), StaticLeg("lexical", result("xa", is_complete=False)))
    assert names(ranked) == ["a", "x"]
    assert ranked.degraded == ("lexical",)
    assert names_of(ranked.lists["lexical"].ids) == ["x", "a"]

    ranked = rank(StaticLeg("vector", OFF), StaticLeg("lexical", OFF))
    assert names(ranked) == [] and ranked.degraded == ("lexical", "vector")


def test_a_leg_s_errors_are_raised(subtests):
    for failing in ("lexical", "vector"):
        with subtests.test(failing=failing), ThreadPoolExecutor(1) as executor:
            legs = {name: StaticLeg(name, "a") for name in ("lexical", "vector")}
            legs[failing].search = lambda limit: (_ for _ in ()).throw(InvalidQuery("syntax"))
            with pytest.raises(InvalidQuery):
                rank(*legs.values(), executor=executor)


def test_hidden_candidate_leaves_no_trace():
    legs = StaticLeg("lexical", "hab"), StaticLeg("vector", "ahc")
    ranked = rank(*legs, check=hide("h"))
    entries = ranked.entries(10)
    assert [entry.retrieval.lexical_rank for entry in entries] == [1, 2, None]
    assert [entry.retrieval.vector_rank for entry in entries] == [1, None, 2]
    assert all("h" not in names_of(found.ids) for found in ranked.lists.values())
    assert not ranked.is_whole and rank(*legs).is_whole


def test_pipeline_checks_visibility_once_per_leg():
    asked = []

    def check(ids):
        asked.append(names_of(ids))
        return np.zeros(len(ids), bool)

    lexical, vector = StaticLeg("lexical", "ab"), StaticLeg("vector", "cd")
    lexical.is_checked = True
    ranked = rank(lexical, vector, check=check)
    assert (names(ranked), asked) == (["a", "b"], [["c", "d"]])


def numbered(n):
    return [f"{number:05d}" for number in range(n)]


def test_leg_is_asked_for_more_when_hidden_candidates_are_dropped(subtests):
    check = hide(*numbered(150))
    leg, other = StaticLeg("lexical", numbered(1000)), StaticLeg("vector", ["x"])
    ranked = rank(leg, other, check=check)
    assert leg.limits == [100, 200, 400] and other.limits == [100]
    assert names_of(ranked.lists["lexical"].ids) == numbered(1000)[150:250]

    stopped = result(numbered(500)[:50], is_complete=False)
    for later in (stopped, OFF):
        with subtests.test(later=later is OFF):
            leg = StaticLeg("vector", numbered(500), later=[later])
            ranked = rank(leg, mode=Mode.VECTOR, check=hide("00000"))
            assert leg.limits == [100, 200]
            assert len(ranked.lists["vector"].ids) == 99 and ranked.degraded == ("vector",)

    leg = StaticLeg("lexical", numbered(99))
    rank(leg, mode=Mode.LEXICAL, check=hide(*numbered(99)))
    assert leg.limits == [100]

    leg = StaticLeg("lexical", numbered(10_000))
    assert names(rank(leg, mode=Mode.LEXICAL, check=lambda ids: np.zeros(len(ids), bool))) == []
    assert leg.limits == [100, 200, 400, 800, 1600]


HIDDEN = st.sets(st.integers(0, 299))


@settings(max_examples=20)
@given(HIDDEN, st.permutations(range(300)), st.integers(1, 60))
def test_the_answer_is_as_if_the_hidden_had_never_been_indexed(hidden, order, k):
    every = numbered(300)
    hidden_names = {every[number] for number in hidden}

    def legs(without):
        lists = (every, [every[number] for number in order])
        return [
            StaticLeg(name, [each for each in listed if each not in without])
            for name, listed in zip(("lexical", "vector"), lists, strict=True)
        ]

    filtered = rank(*legs(set()), k=k, check=hide(*hidden_names))
    clean = rank(*legs(hidden_names), k=k)
    # A refilled leg's scores are its own, by place; ranks and fused scores must agree.
    assert names(filtered) == names(clean)
    assert filtered.scores.tolist() == clean.scores.tolist()
    for name, ranks in filtered.ranks.items():
        assert ranks.tolist() == clean.ranks[name].tolist()


def test_the_legs_run_at_the_same_time_each_where_it_belongs():
    both_running = threading.Barrier(2, timeout=5)
    threads = {}

    class Leg(StaticLeg):
        def search(self, limit):
            threads[self.name] = threading.get_ident()
            if self.name != "exact":
                both_running.wait()
            return super().search(limit)

    with ThreadPoolExecutor(1) as executor:
        legs = [Leg("lexical", "l"), Leg("vector", "v"), Leg("exact", "l")]
        ranked = rank_candidates(Mode.HYBRID, legs, hide(), k=10, executor=executor)
    assert names(ranked) == ["l", "v"]
    assert threads["vector"] == threading.get_ident() != threads["lexical"] == threads["exact"]


def test_ranking_with_threads_equals_ranking_without():
    legs = StaticLeg("lexical", "abcd"), StaticLeg("vector", "dcxy")
    with ThreadPoolExecutor(1) as executor:
        threaded = rank(*legs, executor=executor)
    assert threaded.entries(10) == rank(*legs).entries(10)
    assert set(threaded.timings_ms) == {"lexical", "vector", "read_back", "fusion"}
