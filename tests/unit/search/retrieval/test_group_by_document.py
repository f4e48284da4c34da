"""Grouping of ranked passages by document."""

import pytest

from search.retrieval.fusion.post_fusion import group_by_document
from search.retrieval.fusion.ranking import RankedEntry
from search.retrieval.types import Mode, RetrievalDetail


def entries(*passages, mode=Mode.HYBRID):
    """Return ranked entries of (chunk id, score)."""
    return [
        RankedEntry(
            rank=rank,
            chunk_id=chunk_id,
            score=score,
            retrieval=RetrievalDetail(method=mode, fusion_score=score),
        )
        for rank, (chunk_id, score) in enumerate(passages, start=1)
    ]


def test_document_is_its_best_passage_with_the_others_as_sections():
    ranked = entries(("a1", 0.9), ("b1", 0.8), ("a2", 0.7), ("a3", 0.6))
    first, second = group_by_document(ranked, {"a1": 1, "a2": 1, "a3": 1, "b1": 2})
    assert [section.chunk_id for section in first.sections] == ["a2", "a3"]
    assert (first.chunk_id, second.chunk_id, second.sections) == ("a1", "b1", ())


def test_document_score_adds_the_lead_of_its_next_two_passages():
    ranked = entries(("a1", 0.8), ("a2", 0.4), ("a3", 0.3), ("a4", 0.3), ("b1", 0.2))
    document, _ = group_by_document(ranked, {"a1": 1, "a2": 1, "a3": 1, "a4": 1, "b1": 2})
    assert document.score == pytest.approx((0.8 + 0.1 * 0.2 + 0.01 * 0.1) / 1.11)
    assert document.retrieval.fusion_score == 0.8


def test_lexical_scores_are_added_as_bm25():
    ranked = entries(("a1", 0.75), ("a2", 0.5), ("b1", 0.5), mode=Mode.LEXICAL)
    document, _ = group_by_document(ranked, {"a1": 1, "a2": 1, "b1": 2})
    assert document.score == pytest.approx(0.75)
    ranked = entries(("a1", 0.8), ("a2", 0.75), ("b1", 0.5), mode=Mode.LEXICAL)
    document, _ = group_by_document(ranked, {"a1": 1, "a2": 1, "b1": 2})
    assert document.score == pytest.approx(4.2 / 5.2)  # bm25 of 4, 3 and 1


def test_document_with_related_passages_alone_is_last():
    ranked = entries(("a1", 0.5), ("b1", 0.9), ("a2", 0.4), ("c1", 0.6))
    for entry in ranked[1:]:
        entry.retrieval.related = True
    documents = group_by_document(ranked, {"a1": 1, "a2": 1, "b1": 2, "c1": 3})
    assert [document.chunk_id for document in documents] == ["a1", "b1", "c1"]
    assert [document.retrieval.related for document in documents] == [False, True, True]


def test_several_good_passages_beat_one_that_is_slightly_better():
    ranked = entries(("a1", 0.8), ("b1", 0.79), ("b2", 0.7), ("c1", 0.1))
    documents = group_by_document(ranked, {"a1": 1, "b1": 2, "b2": 2, "c1": 3})
    assert [document.chunk_id for document in documents] == ["b1", "a1", "c1"]


def test_name_lifts_a_document_once():
    ranked = entries(("a1", 0.99), ("b1", 0.98), ("b2", 0.96), ("b3", 0.95), ("c1", 0.1), ("a2", 0.1))
    for rank, entry in enumerate(ranked[:4], start=1):
        entry.retrieval.exact_rank = rank
    documents = group_by_document(ranked, {"a1": 1, "a2": 1, "b1": 2, "b2": 2, "b3": 2, "c1": 3})
    assert [document.chunk_id for document in documents] == ["a1", "b1", "c1"]


def test_words_alone_are_added_as_bm25_and_keep_their_tiers(subtests):
    for are_rescored, order in ((False, ["a1", "b1", "c1"]), (True, ["b1", "a1", "c1"])):
        ranked = entries(("a1", 1.0), ("b1", 0.99), ("b2", 0.98), ("c1", 0.8))
        for rank, entry in enumerate(ranked, start=1):
            entry.retrieval.lexical_rank, entry.retrieval.tier = rank, "all" if rank == 1 else "some"
            entry.retrieval.lexical_score = {"a1": 0.6, "b1": 0.75, "b2": 0.5, "c1": 0.4}[entry.chunk_id]
        with subtests.test(are_rescored=are_rescored):
            documents = group_by_document(
                ranked, {"a1": 1, "b1": 2, "b2": 2, "c1": 3}, are_rescored=are_rescored
            )
            assert [document.chunk_id for document in documents] == order
