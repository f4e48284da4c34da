"""The floor, below which a hit is only related to the query, as it has too little of it.

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
#: Candidates without which there is no contrast.
LEAST_CANDIDATES: Final = 4
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
    ranking: Ranking, words: LegResult | None, *, contrast: float | None, leaves_out: bool
) -> Ranking:
    """Return the ranking with related hits after the others, or without them.

    `words` can weigh the query's words; `contrast` is the limit of the model, None for the English one.
    """
    is_related, closeness = _find_related(ranking, words, contrast)
    if not is_related.any():
        return ranking
    places = np.arange(len(ranking), dtype=np.float64)
    if closeness is not None:
        places[is_related] = -closeness[is_related]
    order = np.flatnonzero(~is_related) if leaves_out else np.lexsort((places, is_related))
    return replace(ranking, is_related=is_related, below_floor=ranking.ids[is_related]).take(order)


def _find_related(
    ranking: Ranking, words: LegResult | None, contrast: float | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return (m,) bool, which hits are below the floor; and their closeness if it tells more than words."""
    none = np.zeros(len(ranking), bool), None
    vectors = ranking.lists.get("vector")
    if vectors is not None and not len(vectors.ids):
        vectors = None
    is_calibrated = contrast is None
    if vectors is not None and not is_calibrated and len(vectors.ids) < LEAST_CANDIDATES:
        return none
    closeness = _closeness(ranking, vectors, is_calibrated=is_calibrated)
    if (closeness[:LOOK] >= (contrast or COSINES)).any() and (contrast or closeness.min() >= HIT):
        return none  # whatever words they have, which take longer to look up
    if words is None:
        return none
    is_sure = _has_all(ranking, words)
    is_certain = is_sure[:LOOK].any() and (vectors is None or not is_calibrated)
    shares = None if is_certain else words.word_shares(ranking.ids[:LOOK])
    if shares is None:
        return none
    found, share = shares
    limit = contrast if contrast is not None else BOTH if found.any() else COSINES
    # NaN counts as 0: a hit without a vector, as it was just written, is judged by its words.
    evidence = np.fmax(closeness[:LOOK], 0.0) + WORD_SHARE * found
    is_enough = evidence >= np.where(np.isnan(closeness[:LOOK]), WORDS, limit)
    if not (is_sure[:LOOK] | is_enough).any():
        return ~is_sure, None if vectors is None else np.nan_to_num(closeness)
    if vectors is None or not is_calibrated:
        return none
    closeness += WORD_SHARE * share * bm25_magnitudes(np.fmax(_scores(ranking, "lexical", words), 0.0))
    return (closeness < HIT) & ~is_sure, None


def _has_all(ranking: Ranking, words: LegResult) -> np.ndarray:
    """Return (m,) bool, which hits have all words of the query, or a name as it is written."""
    ranks = ranking.ranks
    has_all = ranks["exact"] > 0 if "exact" in ranks else np.zeros(len(ranking), bool)
    if "lexical" in ranks and words.tiers is not None and len(words.tiers):
        has_all |= (ranks["lexical"] > 0) & (words.tiers[ranks["lexical"] - 1] == _ALL)
    return has_all


def _closeness(ranking: Ranking, vectors: LegResult | None, *, is_calibrated: bool) -> np.ndarray:
    """Return (m,) float64, at least 0, cosines or contrasts of hits; NaN where unknown."""
    if vectors is None:
        return np.full(len(ranking), np.nan)
    scores = _scores(ranking, "vector", vectors)
    missing = np.isnan(scores[:LOOK])
    if not ranking.known_scores and missing.any():
        scores[:LOOK][missing] = vectors.score(ranking.ids[:LOOK][missing])
    # A score is (1 + cosine) / 2.
    base = 0.5 if is_calibrated else min(middling_score(vectors.scores), 0.999)
    closeness: np.ndarray = np.maximum(0.0, (scores - base) / (1.0 - base))
    return closeness


def _scores(ranking: Ranking, name: LegName, found: LegResult) -> np.ndarray:
    if name in ranking.known_scores:
        return ranking.known_scores[name]
    if name not in ranking.ranks:
        return found.score(ranking.ids)
    scores: np.ndarray = np.append(found.scores, np.nan)[ranking.ranks[name] - 1]
    return scores
