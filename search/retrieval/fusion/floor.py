"""The floor, below which a hit is only related to the query, as it has too little of it, and relevance.

The evidence of a hit is

    cosine + 0.4 · n^¼ · (weight of the query's words that it has) / (weight of its n words),

because a passage about a long query has fewer of its words. A hit that has all words, or a name as written,
needs no evidence. If none of the first ten hits has enough, the query is about something else and all hits
are related, the nearest first: words without evidence tell less than cosines. Else those are related whose
evidence, with bm25 in place of the weight of their words, is small. The limits are the highest ones, less a
margin, by which no judged set loses a relevant hit in more than 1 % of its queries
(docs/measurements/floor.md). Without words nothing is related: the cosines of random letters are higher than
those of some good queries of one or two words.

Other models than the English one have other cosines. Theirs count by their contrast: what they exceed the
cosine of a middling candidate by (the 30th, or the one in the middle of fewer), as a share of what that lacks
to 1. No shift and no scale of the cosines changes it. A question about a page in another language shares no
word with it and has a smaller contrast, so that the limit of the multilingual model is lower.

The relevance of a hit, from which its `score` comes, is

    x³ / (1 + x³)    for    x = (near + 0.4 · words) / half

with its bm25 as a share of the best of all words, times the best share of words if no hit has all, 1 for a
name; its contrast, or 0.6 · (cosine - 0.25), as `near`; and half = 0.21 for words + 0.14 for vectors, if they
took part. So 0.2 and 0.5 mean about the same in each mode (docs/measurements/floor.md).
"""

from dataclasses import replace
from typing import Final

import numpy as np

from search.retrieval.fusion.legs import TIERS, LegName, LegResult
from search.retrieval.fusion.ranking import Ranking
from search.retrieval.fusion.scores import bm25_magnitudes

#: First hits of which one has to have enough evidence.
LOOK: Final = 10
WORD_SHARE: Final = 0.4
#: Least evidence of the best hit by words and cosines, by cosines if none of the first has a word, and by
#: words alone. Random letters have cosines up to 0.44.
BOTH: Final = 0.42
COSINES: Final = 0.48
WORDS: Final = 0.12
#: Least evidence by words and contrast, of the multilingual model and of any other.
MULTILINGUAL_CONTRAST: Final = 0.15
CONTRAST: Final = 0.24
#: Least evidence of any other hit, by a known scale of cosines.
HIT: Final = 0.22
_CONTRAST_RANK: Final = 30
#: Candidates without which there is no contrast, but to the multilingual model's score of a middling one.
LEAST_CANDIDATES: Final = 4
MIDDLING: Final = 0.88
#: The evidence by words, and by contrasts, of a relevance of 0.5; contrasts of cosines of the English model.
HALF_WORDS, HALF_CONTRAST = 0.21, 0.14
_CONTRAST_OF_COSINE: Final = (0.6, 0.25)
# The share of its relevance of a related hit, and of one that was lowered in the list.
_RELATED_SHARE, _LOWERED_SHARE = 0.2, 0.5
# Words of a query of which none may be missing.
_FEW_WORDS: Final = 3
_ALL: Final = TIERS.index("all")


def least_share(n_words: int) -> float:
    """Return the share of the weight of a query's words that is enough evidence without a cosine.

    That is 0.74 of four words and 0.62 of eight; fewer words have to be all there.
    """
    return 1.0 if n_words <= _FEW_WORDS else BOTH / (WORD_SHARE * n_words**0.25)


def middling_score(scores: np.ndarray) -> float:
    """Return the score from which contrast is measured; `scores` are those of the candidates, best first."""
    return float(scores[min(_CONTRAST_RANK - 1, len(scores) // 2)])


def apply_floor(
    ranking: Ranking,
    words: LegResult | None,
    *,
    contrast: float | None,
    leaves_out: bool,
    measures_relevance: bool,
) -> Ranking:
    """Return the ranking, with related hits after the others, or without, and with the relevance of its hits.

    `words` can weigh the query's words; `contrast` is the limit of the model, None for the English one.
    """
    closeness = _closeness(ranking, ranking.lists.get("vector"), contrast)
    is_related, places, best_share = _find_related(ranking, words, closeness, contrast)
    if measures_relevance:
        relevance = _measure_relevance(ranking, closeness, best_share, is_calibrated=contrast is None)
        relevance[is_related] *= _RELATED_SHARE
        ranking = replace(ranking, own_scores={**ranking.own_scores, "relevance": relevance})
    if not is_related.any():
        return ranking
    order = np.flatnonzero(~is_related) if leaves_out else np.lexsort((places, is_related))
    return replace(ranking, is_related=is_related, below_floor=ranking.ids[is_related]).take(order)


def _find_related(
    ranking: Ranking, words: LegResult | None, closeness: np.ndarray, contrast: float | None
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return (m,) bool, hits below the floor; (m,) their places; the best share of words, 1 if unknown."""
    places = np.arange(len(ranking), dtype=np.float64)
    none = np.zeros(len(ranking), bool), places, 1.0
    is_calibrated, has_vectors = contrast is None, not np.isnan(closeness).all()
    if has_vectors and not is_calibrated and len(ranking.lists["vector"].ids) < LEAST_CANDIDATES:
        return none
    if (closeness[:LOOK] >= (contrast or COSINES)).any() and (contrast or closeness.min() >= HIT):
        return none  # whatever words they have, which take longer to look up
    if words is None:
        return none
    is_sure = _has_all(ranking, words)
    is_certain = is_sure[:LOOK].any() and not (has_vectors and is_calibrated)
    shares = None if is_certain else words.word_shares(ranking.ids[:LOOK])
    if shares is None:
        return none
    found, share = shares
    limit = contrast if contrast is not None else BOTH if found.any() else COSINES
    # NaN counts as 0: a hit without a vector, as it was just written, is judged by its words.
    evidence = np.fmax(closeness[:LOOK], 0.0) + WORD_SHARE * found
    is_enough = evidence >= np.where(np.isnan(closeness[:LOOK]), WORDS, limit)
    best_share = 1.0 if is_sure[:LOOK].any() else min(1.0, float(found.max(initial=0.0)))
    if not (is_sure[:LOOK] | is_enough).any():
        nearness = np.where(is_sure, places, -np.nan_to_num(closeness))
        return ~is_sure, nearness if has_vectors else places, best_share
    if not (has_vectors and is_calibrated):
        return none[0], places, best_share
    sums = bm25_magnitudes(np.fmax(_scores(ranking, "lexical", words), 0.0))
    return (closeness + WORD_SHARE * share * sums < HIT) & ~is_sure, places, best_share


def _measure_relevance(
    ranking: Ranking, closeness: np.ndarray, best_share: float, *, is_calibrated: bool
) -> np.ndarray:
    """Return (m,) float64 in [0, 1]; NaN in a list that neither words nor vectors rank."""
    words = ranking.lists.get("lexical")
    half, evidence = np.zeros(len(ranking)), np.zeros(len(ranking))
    if not np.isnan(closeness).all():
        factor, least = _CONTRAST_OF_COSINE if is_calibrated else (1.0, 0.0)
        # One without a vector, as it was just written, is judged by its words.
        half = np.where(np.isnan(closeness), 0.0, HALF_CONTRAST)
        evidence = factor * np.fmax(closeness - least, 0.0)
    if words is not None and words.can_score:
        sums = bm25_magnitudes(np.nan_to_num(_scores(ranking, "lexical", words)))
        best = float(sums[_has_all(ranking, words)].max(initial=0.0)) or float(sums.max(initial=0.0)) or 1.0
        is_named = ranking.ranks.get("exact", np.zeros(1)) > 0
        shares = np.where(is_named, 1.0, best_share * np.minimum(1.0, sums / best))
        half, evidence = half + HALF_WORDS, evidence + WORD_SHARE * shares
    odds = (evidence / np.where(half > 0, half, np.nan)) ** 3
    is_lowered = ranking.scores < ranking.own_scores.get("fusion_score", ranking.scores)
    relevance: np.ndarray = np.round(np.where(is_lowered, _LOWERED_SHARE, 1.0) * odds / (1.0 + odds), 6)
    return relevance


def _has_all(ranking: Ranking, words: LegResult) -> np.ndarray:
    """Return (m,) bool, which hits have all words of the query, or a name as it is written."""
    ranks = ranking.ranks
    has_all = ranks["exact"] > 0 if "exact" in ranks else np.zeros(len(ranking), bool)
    if "lexical" in ranks and words.tiers is not None and len(words.tiers):
        has_all |= (ranks["lexical"] > 0) & (words.tiers[ranks["lexical"] - 1] == _ALL)
    return has_all


def _closeness(ranking: Ranking, vectors: LegResult | None, contrast: float | None) -> np.ndarray:
    """Return (m,) float64, at least 0, cosines or contrasts of hits; NaN where unknown."""
    if vectors is None or not len(vectors.ids):
        return np.full(len(ranking), np.nan)
    scores = _scores(ranking, "vector", vectors)
    missing = np.isnan(scores[:LOOK])
    if not ranking.known_scores and missing.any():
        scores[:LOOK][missing] = vectors.score(ranking.ids[:LOOK][missing])
    # A score is (1 + cosine) / 2.
    base = 0.5
    if contrast is not None and len(vectors.ids) >= LEAST_CANDIDATES:
        base = min(middling_score(vectors.scores), 0.999)
    elif contrast == MULTILINGUAL_CONTRAST:
        base = MIDDLING
    closeness: np.ndarray = np.maximum(0.0, (scores - base) / (1.0 - base))
    return closeness


def _scores(ranking: Ranking, name: LegName, found: LegResult) -> np.ndarray:
    if name in ranking.known_scores:
        return ranking.known_scores[name]
    if name not in ranking.ranks:
        return found.score(ranking.ids)
    scores: np.ndarray = np.append(found.scores, np.nan)[ranking.ranks[name] - 1]
    return scores
