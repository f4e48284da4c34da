"""What rankings are worth by judgements; ir-measures (S. MacAvaney, C. Macdonald, I. Ounis, "Streamlining
Evaluation with ir-measures", ECIR 2022) computes.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import ir_measures
from ir_measures import RR, R, nDCG

MEASURES: Final = (nDCG @ 10, R @ 10, R @ 100, RR @ 10)


def measure(
    qrels: Mapping[str, Mapping[str, int]], rankings: Mapping[str, Sequence[str]]
) -> dict[str, float]:
    """Give the mean of each measure over the judged queries, in [0, 1], by its name, like `nDCG@10`.

    `rankings` holds document ids by query, best first, each once; a query without one counts as 0.
    """
    # trec_eval sorts by score, and ties by id: the places are the scores.
    run = {
        query_id: {doc_id: -float(place) for place, doc_id in enumerate(ranking)}
        for query_id, ranking in rankings.items()
    }
    judged = {query_id: dict(grades) for query_id, grades in qrels.items()}
    found = ir_measures.calc_aggregate(MEASURES, judged, run)
    return {str(each): float(found[each]) for each in MEASURES}
