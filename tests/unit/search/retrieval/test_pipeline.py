"""The pipeline over legs: concurrency, read-back before ranking, refill, reported gaps."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search.retrieval.errors import EmbedderUnavailable, InvalidQuery, LegTimeout
from search.retrieval.fusion.pipeline import rank_candidates
from search.retrieval.fusion.run_legs import Leg, candidate_limit
from search.retrieval.types import Candidate, Mode
from tests.unit.search.retrieval.static_legs import StaticLeg, all_seen, candidates, ids, rank


def test_each_leg_is_asked_for_twice_k_and_100_at_least(subtests):
    for k, wanted in ((1, 100), (50, 100), (51, 102), (1000, 2000)):
        with subtests.test(k=k):
            legs = StaticLeg("lexical", ["a"]), StaticLeg("vector", ["b"])
            rank(*legs, k=k)
            assert candidate_limit(k) == wanted
            assert [leg.limits for leg in legs] == [[wanted], [wanted]]


def test_hybrid_fuses_both_legs():
    ranked = rank(StaticLeg("lexical", ["a", "b"]), StaticLeg("vector", ["b", "c"]))
    assert ids(ranked) == ["b", "a", "c"]
    first = ranked.entries[0]
    assert (first.rank, first.retrieval.method) == (1, Mode.HYBRID)
    assert first.score == first.retrieval.fusion_score == pytest.approx(0.991935, abs=5e-7)
    assert (first.retrieval.lexical_rank, first.retrieval.vector_rank) == (2, 1)
    assert (first.retrieval.lexical_score, first.retrieval.vector_score) == (1 / 3, 1 / 2)
    last = ranked.entries[2].retrieval
    assert (last.lexical_rank, last.lexical_score, last.vector_rank) == (None, None, 2)
    assert ranked.degraded == ()
    ranked = rank(StaticLeg("lexical", "abc"), StaticLeg("vector", "xyz"))
    assert sorted(ids(ranked)) == list("abcxyz")
    ranked = rank(StaticLeg("lexical", ""), StaticLeg("vector", "zam"))
    assert ids(ranked) == list("zam")
    assert ranked.entries[0].score == 0.5 and ranked.degraded == ()


def test_tier_and_exact_matches_travel_along():
    leg = Leg(name="lexical", search=lambda limit: candidates("a", "all") + candidates("b", "some"))
    ranked = rank_candidates(Mode.LEXICAL, [leg], all_seen, k=10)
    assert [entry.retrieval.tier for entry in ranked.entries] == ["all", "some"]

    lexical, vector = StaticLeg("lexical", "eab"), StaticLeg("vector", "ab")
    assert ids(rank(lexical, vector)) == ["a", "b", "e"]
    ranked = rank(lexical, vector, StaticLeg("exact", "e", weight=1.5))
    assert ids(ranked) == ["e", "a", "b"]
    assert ranked.entries[0].retrieval.exact_rank == 1

    def one(name, *chunk_ids, is_skipped_when_empty=False):
        found = [Candidate(chunk_id=chunk_id, score=0.5) for chunk_id in chunk_ids]
        return Leg(name=name, search=lambda limit: found, is_skipped_when_empty=is_skipped_when_empty)

    legs = [one("lexical", "a"), one("vector", "a")]
    for exact, score in ((("a",), 1.0), (("b",), 2 / 3), ((), 1.0)):
        ranked = rank_candidates(
            Mode.HYBRID, [*legs, one("exact", *exact, is_skipped_when_empty=True)], lambda ids: set(ids), k=10
        )
        assert {found.chunk_id: found.score for found in ranked.fused}["a"] == pytest.approx(score)
        assert ("exact" in ranked.lists) == bool(exact)


def test_single_mode_keeps_the_order_and_scores_of_its_leg(subtests):
    for mode, name in ((Mode.LEXICAL, "lexical"), (Mode.VECTOR, "vector")):
        with subtests.test(mode=mode):
            ranked = rank(StaticLeg(name, "cab"), mode=mode, k=2)
            assert ids(ranked) == ["c", "a"]
            assert [entry.score for entry in ranked.entries] == [1 / 2, 1 / 3]
            detail = ranked.entries[1].retrieval
            assert (detail.method, detail.fusion_score) == (mode, 1 / 3)
            assert getattr(detail, f"{name}_rank") == 2 and getattr(detail, f"{name}_score") == 1 / 3
            assert len(ranked.fused) == 3
    with pytest.raises(ValueError, match="hybrid"):
        rank(StaticLeg("lexical", "a"), StaticLeg("vector", "b"), mode=Mode.LEXICAL)


def test_missing_leg_is_reported_as_degraded():
    ranked = rank(StaticLeg("lexical", "ab"), StaticLeg("vector", "", failure=EmbedderUnavailable("none")))
    assert ids(ranked) == ["a", "b"]
    assert ranked.entries[0].score == 1.0
    assert ranked.degraded == ("vector",) and list(ranked.lists) == ["lexical"]

    late = LegTimeout("250 ms passed", partial=candidates("xa"))
    ranked = rank(StaticLeg("vector", "a"), StaticLeg("lexical", "", failure=late))
    assert ids(ranked) == ["a", "x"]
    assert ranked.degraded == ("lexical",)
    assert [found.chunk_id for found in ranked.lists["lexical"]] == ["x", "a"]

    ranked = rank(StaticLeg("vector", "a"), StaticLeg("lexical", "", failure=LegTimeout("late")))
    assert ranked.entries[0].score == 1.0 and ranked.degraded == ("lexical",)

    ranked = rank(
        StaticLeg("vector", "", failure=EmbedderUnavailable("none")),
        StaticLeg("lexical", "", failure=LegTimeout("late")),
    )
    assert ranked.entries == () and ranked.degraded == ("lexical", "vector")


def test_a_leg_s_other_errors_are_raised(subtests):
    for name in ("lexical", "vector"):
        with subtests.test(name=name):
            legs = {each: StaticLeg(each, "a") for each in ("lexical", "vector")}
            legs[name].failure = InvalidQuery("syntax")
            with ThreadPoolExecutor(1) as executor, pytest.raises(InvalidQuery):
                rank(*legs.values(), executor=executor)


def test_legs_are_read_back_together_best_first():
    read_back = Mock(side_effect=set)
    rank(StaticLeg("lexical", "ab"), StaticLeg("vector", "bc"), read_back=read_back)
    legs = StaticLeg("lexical", "abcd"), StaticLeg("vector", "xb"), StaticLeg("exact", "d")
    rank(*legs, read_back=read_back)
    assert rank(StaticLeg("lexical", ""), StaticLeg("vector", ""), read_back=read_back).entries == ()
    assert ["".join(call.args[0]) for call in read_back.call_args_list] == ["abc", "axdbc"]


def test_hidden_candidate_leaves_no_trace():
    ranked = rank(
        StaticLeg("lexical", "hab"), StaticLeg("vector", "ahc"), read_back=lambda asked: set(asked) - {"h"}
    )
    assert [entry.retrieval.lexical_rank for entry in ranked.entries] == [1, 2, None]
    assert [entry.retrieval.vector_rank for entry in ranked.entries] == [1, None, 2]
    assert "h" not in {found.chunk_id for found in ranked.fused}
    assert all(found.chunk_id != "h" for leg in ranked.lists.values() for found in leg)


def numbered_ids(n):
    return [f"{number:05d}" for number in range(n)]


def test_leg_is_refilled_for_what_it_lost(subtests):
    hidden = set(numbered_ids(150))
    leg, other = StaticLeg("lexical", numbered_ids(1000)), StaticLeg("vector", ["x"])
    ranked = rank(leg, other, read_back=lambda asked: set(asked) - hidden)
    assert leg.limits == [100, 200, 400] and other.limits == [100]
    assert [found.chunk_id for found in ranked.lists["lexical"]] == numbered_ids(1000)[150:250]

    for failure in (LegTimeout("late"), EmbedderUnavailable("gone")):
        with subtests.test(failure=failure):
            leg = StaticLeg("vector", numbered_ids(500), failure=failure, fails_from=1)
            ranked = rank(leg, mode=Mode.VECTOR, read_back=lambda asked: set(asked) - {"00000"})
            assert leg.limits == [100, 200]
            assert len(ranked.lists["vector"]) == 99 and ranked.degraded == ("vector",)

    read_back = Mock(side_effect=lambda asked: set(asked) - set(numbered_ids(50)))
    rank(StaticLeg("lexical", numbered_ids(500)), read_back=read_back, mode=Mode.LEXICAL)
    assert [id_ for call in read_back.call_args_list for id_ in call.args[0]] == numbered_ids(200)

    leg = StaticLeg("lexical", numbered_ids(99))
    rank(leg, mode=Mode.LEXICAL, read_back=lambda asked: set())
    assert leg.limits == [100]

    leg = StaticLeg("lexical", numbered_ids(10_000))
    assert rank(leg, mode=Mode.LEXICAL, read_back=lambda asked: set()).entries == ()
    assert leg.limits == [100, 200, 400, 800, 1600]


HIDDEN = st.sets(st.integers(0, 299))


@settings(max_examples=20)
@given(HIDDEN, st.permutations(range(300)), st.integers(1, 60))
def test_the_answer_is_as_if_the_hidden_had_never_been_indexed(hidden, order, k):
    names = numbered_ids(300)
    hidden_ids = {names[number] for number in hidden}

    def legs(without):
        lists = (names, [names[number] for number in order])
        return [
            StaticLeg(name, [each for each in ids_ if each not in without])
            for name, ids_ in zip(("lexical", "vector"), lists, strict=True)
        ]

    filtered = rank(*legs(set()), k=k, read_back=lambda asked: set(asked) - hidden_ids)
    clean = rank(*legs(hidden_ids), k=k)
    assert ids(filtered) == ids(clean)
    # A refilled leg's scores are its own, by place; ranks and fused scores must agree.
    assert [found.ranks for found in filtered.fused] == [found.ranks for found in clean.fused]
    assert [entry.score for entry in filtered.entries] == [entry.score for entry in clean.entries]


def test_the_legs_run_at_the_same_time_each_where_it_belongs():
    both_running = threading.Barrier(2, timeout=5)
    threads = {}

    def leg(name, **options):
        def search(limit):
            threads[name] = threading.get_ident()
            both_running.wait()
            return candidates(name[0])

        return Leg(name=name, search=search, **options)

    with ThreadPoolExecutor(1) as executor:
        legs = [leg("lexical"), leg("vector", in_calling_thread=True)]
        ranked = rank_candidates(Mode.HYBRID, legs, all_seen, k=10, executor=executor)
    assert ids(ranked) == ["l", "v"]
    assert threads["vector"] == threading.get_ident() != threads["lexical"]


def test_threads_change_nothing():
    legs = StaticLeg("lexical", "abcd"), StaticLeg("vector", "dcxy", in_calling_thread=True)
    with ThreadPoolExecutor(1) as executor:
        threaded = rank(*legs, executor=executor)
    assert threaded.entries == rank(*legs).entries
    ticks = count()
    ranked = rank(StaticLeg("lexical", "a"), StaticLeg("vector", "b"), clock=lambda: float(next(ticks)))
    assert ranked.timings_ms == {"lexical": 1000.0, "vector": 1000.0, "read_back": 1000.0, "fusion": 1000.0}
