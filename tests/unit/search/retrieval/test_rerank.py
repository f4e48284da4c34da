"""Rerank scores order the list; after any failure the fused order stands."""

import logging
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.retrieval.errors import RerankerUnavailable
from search.retrieval.fusion.ranking import RankedEntry
from search.retrieval.fusion.rerank import rerank_entries, sigmoid
from search.retrieval.types import Mode, RerankOutcome, RetrievalDetail

OK = RerankOutcome(status="ok")
SECRET = "a query that nobody may log"


class StaticReranker:
    """Returns its scores, or fails."""

    name = "static"

    def __init__(self, scores, *, gives_logits=False):
        self.scores, self.gives_logits = scores, gives_logits
        self.asked = []

    def rerank(self, query, passages):
        self.asked.append((query, list(passages)))
        if isinstance(self.scores, Exception):
            raise self.scores
        return self.scores


def fused_entries(ids):
    """Return entries in this order, with scores of fusion."""
    scores = [1 / (place + 1) for place in range(len(ids))]
    return tuple(
        RankedEntry(
            rank=rank, chunk_id=chunk_id, score=score,
            retrieval=RetrievalDetail(method=Mode.HYBRID, fusion_score=score),
        )
        for rank, (chunk_id, score) in enumerate(zip(ids, scores, strict=True), start=1)
    )  # fmt: skip


def rerank(ids, reranker, query=SECRET):
    return rerank_entries(fused_entries(ids), [f"text of {each}" for each in ids], query, reranker)


def ids(entries):
    return "".join(entry.chunk_id for entry in entries)


def test_scores_order_the_list():
    entries, outcome = rerank("abc", StaticReranker([0.2, 0.9, 0.5]))
    assert outcome == OK
    assert ids(entries) == "bca"
    assert [entry.rank for entry in entries] == [1, 2, 3]
    assert [entry.score for entry in entries] == [0.9, 0.5, 0.2]
    entries, _ = rerank("ab", StaticReranker([0.2, 0.9]))
    detail = entries[0].retrieval
    assert (detail.rerank_score, detail.rerank_rank) == (0.9, 1)
    assert detail.fusion_score == 0.5
    assert detail.score == entries[0].score == 0.9
    entries, _ = rerank("abcd", StaticReranker([0.5, 0.9, 0.5, 0.9]))
    assert ids(entries) == "bdac"
    reranker = StaticReranker([0.1, 0.2])
    rerank("ab", reranker)
    assert reranker.asked == [(SECRET, ["text of a", "text of b"])]


def test_logits_go_through_a_sigmoid():
    entries, _ = rerank("abc", StaticReranker([0.0, -2.0, 2.0], gives_logits=True))
    assert ids(entries) == "cab"
    assert [entry.score for entry in entries] == pytest.approx([0.880797, 0.5, 0.119203], abs=1e-6)
    entries, _ = rerank("abc", StaticReranker([40.0, 900.0, 50.0], gives_logits=True))
    assert ids(entries) == "bca"
    assert {entry.score for entry in entries} == {1.0}
    entries, outcome = rerank("ab", StaticReranker([1.0000001, -1e-9]))
    assert outcome == OK
    assert [entry.score for entry in entries] == [1.0, 0.0]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_sigmoid_of_any_logit_is_between_zero_and_one(logit):
    assert 0 <= sigmoid(logit) <= 1
    assert sigmoid(logit) + sigmoid(-logit) == pytest.approx(1)


@given(st.lists(st.floats(-1e3, 1e3), max_size=20))
def test_reranking_keeps_exactly_the_given_entries(logits):
    names = [str(place) for place in range(len(logits))]
    entries, outcome = rerank(names, StaticReranker(logits, gives_logits=True))
    assert outcome == OK
    assert sorted(entry.chunk_id for entry in entries) == sorted(names)
    scores = [entry.score for entry in entries]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_fused_order_is_kept_after_any_failure(subtests, caplog):
    cases = [
        (RerankerUnavailable("the reranker answered 500"), "answered 500"),
        (TimeoutError(SECRET), "TimeoutError"), (ZeroDivisionError(SECRET), "ZeroDivisionError"),
        ([0.1], "1 scores"), ([0.1, 0.2, 0.3], "3 scores"), ([], "0 scores"),
        ([0.1, math.nan], "finite"), ([0.1, -math.inf], "finite"), ([0.1, 3.5], "3.5"),
        ([0.1, -0.5], "-0.5"), ([0.1, "x"], "TypeError"), (None, "TypeError"),
    ]  # fmt: skip
    for scores, reason in cases:
        caplog.clear()
        with subtests.test(scores=scores), caplog.at_level(logging.INFO):
            entries, outcome = rerank("ab", StaticReranker(scores))
            assert (entries, outcome.status) == (fused_entries("ab"), "fallback")
            assert reason in outcome.reason
            assert [record.levelname for record in caplog.records] == ["WARNING"]
            assert reason in caplog.text
            assert SECRET not in caplog.text
    failure = RerankerUnavailable("the model is missing", remedy="look into /srv/models")
    assert rerank("a", StaticReranker(failure))[1].reason == "the model is missing"
    assert "look into /srv/models" in caplog.text


def test_nothing_is_sent_without_reranker_query_or_entries():
    entries, outcome = rerank("ab", None)
    assert entries == fused_entries("ab")
    assert outcome.status == "fallback"
    assert outcome.reason.startswith("no reranker is configured")
    reranker = StaticReranker([0.1, 0.2])
    entries, outcome = rerank("ab", reranker, query=" \n")
    assert (entries, outcome.status, reranker.asked) == (fused_entries("ab"), "fallback", [])
    reranker = StaticReranker([])
    assert rerank("", reranker) == ((), OK)
    assert reranker.asked == []
