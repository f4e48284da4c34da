"""A ranking snapshot restores every place of the ranking, and invalid bytes are refused."""

from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search.engine.ranking_snapshot import MAX_PLACES, RankingSnapshot
from search.retrieval.fusion.ranking import RankedEntry
from search.retrieval.types import Mode, RetrievalDetail
from tests.unit.search.retrieval.static_legs import StaticLeg, rank, result

IDS = [f"{number:032x}" for number in range(40)]

chunk_ids = st.text("0123456789abcdef", min_size=32, max_size=32)
scores = st.floats(0, 1)
ranks = st.integers(1, 4_000)


@st.composite
def rankings(draw):
    mode = draw(st.sampled_from(Mode))
    details = st.builds(
        RetrievalDetail, method=st.just(mode), fusion_score=scores,
        **{f"{leg}_score": st.none() | scores for leg in ("lexical", "vector", "rerank")},
        **{f"{leg}_rank": st.none() | ranks for leg in ("lexical", "vector", "exact", "rerank")},
        tier=st.sampled_from([None, "all", "some"]), related=st.booleans(),
    )  # fmt: skip
    found = draw(st.lists(st.tuples(chunk_ids, details), max_size=20))
    entries = [
        RankedEntry(rank=rank, chunk_id=chunk_id, score=detail.score, retrieval=detail)
        for rank, (chunk_id, detail) in enumerate(found, start=1)
    ]
    return mode, entries


def read_again(frozen):
    return RankingSnapshot.from_bytes(frozen.method, len(frozen), list(frozen.columns), frozen.to_bytes())


@settings(max_examples=25)
@given(rankings(), st.integers(0, 21))
def test_every_place_comes_back_as_it_was(ranking, start):
    mode, entries = ranking
    frozen = read_again(RankingSnapshot.from_entries(mode, entries))
    assert list(frozen.entries(start)) == entries[start:]
    assert frozen.ids(start) == [entry.chunk_id for entry in entries[start:]]


def legs_of(lexical, vector, exact):
    tiers = ["all" if place < 3 else "some" for place in range(len(lexical))]
    yield StaticLeg("lexical", result(lexical, tiers=tiers))
    yield StaticLeg("vector", vector)
    yield StaticLeg("exact", exact)


NAMES = [f"{number:02d}" for number in range(40)]


@given(*[st.lists(st.sampled_from(NAMES), unique=True)] * 3)
def test_a_fused_list_is_frozen_as_its_entries_are(lexical, vector, exact):
    ranked = rank(*legs_of(lexical, vector, exact), k=100)
    frozen = read_again(RankingSnapshot.from_ranking(ranked))
    assert tuple(frozen.entries(0)) == ranked.entries(200)


def test_one_leg_and_every_detail_are_frozen(subtests):
    for mode in (Mode.LEXICAL, Mode.VECTOR):
        with subtests.test(mode=mode):
            leg = next(leg for leg in legs_of(NAMES, NAMES, ()) if leg.name == mode.value)
            ranked = rank(leg, mode=mode, k=100)
            assert tuple(RankingSnapshot.from_ranking(ranked).entries(0)) == ranked.entries(100)
    numbers = {f.name: 1 for f in fields(RetrievalDetail)}
    whole = RetrievalDetail(**numbers | {"method": Mode.HYBRID, "tier": "all"})
    entry = RankedEntry(rank=1, chunk_id=IDS[0], score=1.0, retrieval=whole)
    assert next(read_again(RankingSnapshot.from_entries(Mode.HYBRID, [entry])).entries(0)).retrieval == whole


def test_ranking_is_cut_and_other_bytes_are_refused(subtests):
    detail = RetrievalDetail(method=Mode.LEXICAL, fusion_score=0.5, lexical_score=0.5, lexical_rank=1)
    entries = [
        RankedEntry(rank=rank, chunk_id=f"{rank:032x}", score=0.5, retrieval=detail)
        for rank in range(1, MAX_PLACES + 2)
    ]
    assert len(RankingSnapshot.from_entries(Mode.LEXICAL, entries)) == MAX_PLACES == 1_000
    detail = RetrievalDetail(method=Mode.VECTOR, fusion_score=0.5, vector_score=0.5, vector_rank=1)
    entry = RankedEntry(rank=1, chunk_id=IDS[0], score=0.5, retrieval=detail)
    frozen = RankingSnapshot.from_entries(Mode.VECTOR, [entry])
    assert set(frozen.columns) == {"fusion_score", "vector_score", "vector_rank"}
    assert len(frozen.to_bytes()) == 16 + 8 + 8 + 2
    cases = [
        (1, ["fusion_score"], bytes(23)), (1, ["fusion_score"], bytes(25)),
        (2, ["fusion_score"], bytes(24)), (1, ["colour"], bytes(24)),
    ]  # fmt: skip
    for places, names, stored in cases:
        with subtests.test(places=places), pytest.raises((ValueError, KeyError)):
            RankingSnapshot.from_bytes(Mode.LEXICAL, places, names, stored)
