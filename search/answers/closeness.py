"""Closeness of a question and the passages found for it by their vectors, as evidence of an answer."""

from collections.abc import Mapping, Sequence
from typing import Final

from search.embedders.bert.model import ENGLISH_MODEL, MULTILINGUAL_MODEL
from search.retrieval.types import SearchHit, VectorWindow

# What a contrast counts for, in the language of the question and in another, where words are rarely the same:
# one of 0.28 is enough without any (docs/evaluation/answers.md).
_WEIGHT, _OTHER_LANGUAGE_WEIGHT = 1.75, 3.5
# The nearest passage in another language is as clear by a contrast of 0.1 with the next one.
_NEXT_WEIGHT: Final = 2.8
# The multilingual model's score of a middling candidate where there are too few, and at most.
_MIDDLING, _MIDDLING_AT_MOST = 0.88, 0.95


def measure_closeness(hits: Sequence[SearchHit], window: VectorWindow | None) -> Mapping[str, float]:
    """Return the closeness of hits to their question, by chunk id; nothing without a vector score.

    Of the English model it is the cosine. Cosines of the multilingual one lie close together, also of
    unrelated texts: its contrast counts, with a middling candidate or, of the nearest, with the next one.
    Nothing is known of other models, with which the limits were not measured.
    """
    scores = {
        hit.chunk_id: score
        for hit in hits
        if hit.embedding_model in (ENGLISH_MODEL, MULTILINGUAL_MODEL)
        and (score := hit.retrieval.vector_score) is not None
    }
    if not scores or hits[0].embedding_model == ENGLISH_MODEL:
        return {chunk_id: 2 * score - 1 for chunk_id, score in scores.items()}
    middling = _MIDDLING if window is None or window.middling_score is None else window.middling_score
    best, following = (*sorted(scores.values(), reverse=True), middling)[:2]
    return {
        hit.chunk_id: _OTHER_LANGUAGE_WEIGHT
        * max(_contrast(score, middling), _NEXT_WEIGHT * _contrast(score, following) * (score == best))
        if hit.other_language
        else _WEIGHT * _contrast(score, middling)
        for hit in hits
        if (score := scores.get(hit.chunk_id)) is not None
    }


def _contrast(score: float, other: float) -> float:
    return (score - other) / (1 - min(other, _MIDDLING_AT_MOST))
