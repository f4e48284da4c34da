"""Grouping of ranked passages by document."""

import pytest

from search.retrieval.fusion.post_fusion import group_by_document
from search.retrieval.fusion.ranking import RankedEntry
from search.retrieval.types import Mode, RetrievalDetail


def entries(*passages):
    """Return ranked entries of (chunk id, score)."""
    return [
        RankedEntry(
            rank=rank,
            chunk_id=chunk_id,
            score=score,
            retrieval=RetrievalDetail(method=Mode.HYBRID, fusion_score=score),
        )
        for rank, (chunk_id, score) in enumerate(passages, start=1)
    ]


def test_document_is_its_best_passage_with_the_others_as_sections():
    ranked = entries(("a1", 0.9), ("b1", 0.8), ("a2", 0.7), ("a3", 0.6))
    first, second = group_by_document(ranked, {"a1": 1, "a2": 1, "a3": 1, "b1": 2})
    assert [section.chunk_id for section in first.sections] == ["a2", "a3"]
    assert (first.chunk_id, second.chunk_id, second.sections) == ("a1", "b1", ())


def test_score_adds_the_best_three_passages_with_falling_shares():
    ranked = entries(("a1", 0.8), ("a2", 0.4), ("a3", 0.2), ("a4", 0.2))
    (document,) = group_by_document(ranked, dict.fromkeys(("a1", "a2", "a3", "a4"), 1))
    assert document.score == pytest.approx((0.8 + 0.4 / 2 + 0.2 / 4) / 1.75)
    assert document.retrieval.fusion_score == document.score


def test_several_good_passages_beat_one_that_is_slightly_better():
    ranked = entries(("a1", 0.8), ("b1", 0.79), ("b2", 0.7))
    documents = group_by_document(ranked, {"a1": 1, "b1": 2, "b2": 2})
    assert [document.chunk_id for document in documents] == ["b1", "a1"]
