"""The floor, below which a hit is only related to the query, as it has too little of it.

The evidence of a hit is

    cosine + 0.4 · n^¼ · (weight of the query's words that it has) / (weight of its n words),

because a passage about a long query has fewer of its words. A hit that has all words, or a name as written,
needs no evidence. If none of the first ten hits has enough, the query is about something else and all hits
are related; else those are whose evidence, with bm25 in place of the weight of their words, is small. Where
words or vectors are missing, the other part decides alone. The limits are the highest ones, less a margin, by
which no judged set loses a relevant hit in more than 1 % of its queries (docs/measurements/floor.md).

Other models than the default one have other cosines. Theirs count by what they exceed the cosine of the 30th
candidate by, as a share of what that lacks to 1: no shift and no scale of the cosines changes it.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from search.retrieval.fusion.legs import TIERS, LegName, LegResult, WordWeights
from search.retrieval.fusion.ranking import Ranking
from search.retrieval.fusion.scores import bm25_magnitudes

#: First hits of which one has to have enough evidence.
LOOK: Final = 10
WORD_SHARE: Final = 0.4
#: Least evidence of the best hit by words and cosines, by words and contrast, by words, and by cosines.
#: Random letters have higher cosines than some good questions, and need more.
BOTH: Final = 0.48
BOTH_BY_CONTRAST: Final = 0.24
WORDS: Final = 0.12
COSINES: Final = 0.28
COSINES_OF_UNKNOWN_WORDS: Final = 0.42
#: Least evidence of any other hit, by a known scale of cosines.
HIT: Final = 0.22
_CONTRAST_RANK: Final = 30
_SOME: Final = TIERS.index("some")


def apply_floor(
    ranking: Ranking, *, is_calibrated: bool, has_common_word: Callable[[], bool], leaves_out: bool
) -> Ranking:
    """Return the ranking with related hits after the others, or without them.

    `is_calibrated` says that the cosines are the default model's, `has_common_word` whether the query has a
    word that is common in its language.
    """
    if not len(ranking):
        return ranking
    is_related = find_related(ranking, is_calibrated=is_calibrated, has_common_word=has_common_word)
    if not is_related.any():
        return ranking
    order = np.flatnonzero(~is_related) if leaves_out else np.argsort(is_related, kind="stable")
    return replace(ranking.take(order), is_related=is_related[order], below_floor=ranking.ids[is_related])


def find_related(ranking: Ranking, *, is_calibrated: bool, has_common_word: Callable[[], bool]) -> np.ndarray:
    """Return (m,) bool, which hits of a ranking are below the floor."""
    words, vectors = ranking.lists.get("lexical"), ranking.lists.get("vector")
    if vectors is not None and not len(vectors.ids):
        vectors = None
    weights = None if words is None else words.word_weights(ranking.ids[:LOOK])
    limit = _limit(weights, vectors, is_calibrated=is_calibrated, has_common_word=has_common_word)
    none = np.zeros(len(ranking), bool)
    if limit is None:
        return none
    is_sure = _has_all(ranking, words)
    closeness = _closeness(ranking, vectors, is_calibrated=is_calibrated)
    best = closeness[:LOOK]
    scale = 0.0 if weights is None else WORD_SHARE * weights.count**0.25 / weights.whole
    evidence = np.nan_to_num(best) + (0.0 if weights is None else weights.found * scale)
    # A hit without a vector, as it was just written, is judged by its words.
    if not (is_sure[:LOOK] | (evidence >= np.where(np.isnan(best), WORDS, limit))).any():
        return ~is_sure
    if vectors is None or not is_calibrated:
        return none
    if words is not None and weights is not None:
        closeness += scale * bm25_magnitudes(np.nan_to_num(_scores(ranking, "lexical", words)))
    is_related: np.ndarray = (closeness < HIT) & ~is_sure
    return is_related


def _limit(
    weights: WordWeights | None,
    vectors: LegResult | None,
    *,
    is_calibrated: bool,
    has_common_word: Callable[[], bool],
) -> float | None:
    """Return the least evidence of the best hit; None if nothing can be said."""
    if vectors is None:
        return None if weights is None else WORDS
    if weights is None:
        if not is_calibrated:
            return None
        return COSINES if has_common_word() else COSINES_OF_UNKNOWN_WORDS
    if is_calibrated:
        return BOTH
    return BOTH_BY_CONTRAST if len(vectors.ids) >= _CONTRAST_RANK else None


def _has_all(ranking: Ranking, words: LegResult | None) -> np.ndarray:
    """Return (m,) bool, which hits have all words of the query, or a name as it is written."""
    has_all = ranking.ranks.get("exact", np.zeros(len(ranking), np.int64)) > 0
    if words is not None and words.tiers is not None:
        # Rank 0, not found, indexes the appended value; a raw query has no tiers.
        has_all |= np.append(words.tiers, np.uint8(_SOME))[ranking.ranks["lexical"] - 1] != _SOME
    return has_all


def _closeness(ranking: Ranking, vectors: LegResult | None, *, is_calibrated: bool) -> np.ndarray:
    """Return (m,) float64, at least 0, cosines or contrasts of hits; NaN where unknown."""
    if vectors is None:
        return np.full(len(ranking), np.nan)
    scores = _scores(ranking, "vector", vectors)
    if not ranking.known_scores:
        missing = np.isnan(scores[:LOOK])
        scores[:LOOK][missing] = vectors.score(ranking.ids[:LOOK][missing])
    base = 0.5
    if not is_calibrated:
        base = min(float(vectors.scores[_CONTRAST_RANK - 1]), 0.999)
    # A score is (1 + cosine) / 2.
    closeness: np.ndarray = np.maximum(0.0, (scores - base) / (1.0 - base))
    return closeness


def _scores(ranking: Ranking, name: LegName, found: LegResult) -> np.ndarray:
    if name in ranking.known_scores:
        return ranking.known_scores[name]
    scores: np.ndarray = np.append(found.scores, np.nan)[ranking.ranks[name] - 1]
    return scores
