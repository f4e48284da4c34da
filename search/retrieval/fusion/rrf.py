"""Reciprocal rank fusion.

`raw(c) = Σ w_m / (k + rank_m(c))`, ranks from 1, an absent list contributing nothing; normalised by the
score of first place in every list. G. V. Cormack, C. L. A. Clarke and S. Büttcher, "Reciprocal Rank
Fusion outperforms Condorcet and individual Rank Learning Methods", SIGIR 2009.
"""

import math
from collections.abc import Mapping

import numpy as np

from search.retrieval.fusion.legs import LegName

RRF_K = 60


def reciprocal_rank_fusion(
    ranks: Mapping[LegName, np.ndarray], weights: Mapping[LegName, float], k_rrf: int = RRF_K
) -> np.ndarray:
    """Return the fused scores of candidates, (m,) float64 in [0, 1], whatever the order of the lists.

    `ranks` are (m,) int64 by list, from 1, 0 for a candidate that is not in the list; `weights` are positive.
    """
    best = math.fsum(weights[name] / (k_rrf + 1) for name in ranks)
    size = len(next(iter(ranks.values()), ()))
    # Sums in extended precision are the same in any order once they are rounded.
    total = np.zeros(size, np.longdouble)
    for name, places in ranks.items():
        total += np.where(places > 0, np.longdouble(weights[name]) / (k_rrf + places), 0)
    fused: np.ndarray = total.astype(np.float64) / (best or 1.0)
    return fused
