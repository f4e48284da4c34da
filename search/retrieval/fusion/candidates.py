"""The candidates of all legs of a query, in one table."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from search.retrieval.fusion.legs import LegName, LegResult


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """`m` chunks with their ranks and scores by leg."""

    #: (m,) ID, ascending.
    ids: np.ndarray
    #: By leg: (m,) int64 ranks, from 1; 0 for a chunk that the leg did not find.
    ranks: Mapping[LegName, np.ndarray]
    #: By leg: (m,) float64 in [0, 1]; NaN for a chunk that the leg did not find.
    scores: Mapping[LegName, np.ndarray]

    @classmethod
    def of(cls, lists: Mapping[LegName, LegResult]) -> "Candidates":
        """Create the table of one or more lists."""
        ids, indexes = np.unique(np.concatenate([each.ids for each in lists.values()]), return_inverse=True)
        ranks: dict[LegName, np.ndarray] = {}
        scores: dict[LegName, np.ndarray] = {}
        start = 0
        for name, found in lists.items():
            mine = indexes[start : start + len(found.ids)]
            start += len(found.ids)
            ranks[name] = np.zeros(len(ids), np.int64)
            ranks[name][mine] = np.arange(1, len(mine) + 1)
            scores[name] = np.full(len(ids), np.nan)
            scores[name][mine] = found.scores
        return cls(ids=ids, ranks=ranks, scores=scores)

    def order(self, fused: np.ndarray) -> np.ndarray:
        """Return the indexes, best first: by score, then lexical rank (absent last), then id."""
        places = self.ranks.get("lexical")
        if places is None:
            return np.lexsort((-fused,))
        return np.lexsort((np.where(places > 0, places, len(places) + 1), -fused))


def score_by_legs(candidates: Candidates, lists: Mapping[LegName, LegResult]) -> dict[LegName, np.ndarray]:
    """Return the scores, (m,) float64, of the legs that can score: not retrieved is not irrelevant.

    A score is NaN if it is unknown. None unless two of them found something: with a single scoring leg there
    is nothing to combine, and its order is kept. A leg that was stopped is not queried again.
    """
    scoring = {name: found for name, found in lists.items() if found.can_score and len(found.ids)}
    if len(scoring) < 2:
        return {}
    known: dict[LegName, np.ndarray] = {}
    for name, found in scoring.items():
        known[name] = candidates.scores[name].copy()
        missing = np.isnan(known[name])
        if found.is_complete and missing.any():
            known[name][missing] = found.score(candidates.ids[missing])
    return known
