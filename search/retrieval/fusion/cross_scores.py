"""Scores by each leg for the candidates that only another leg found: not retrieved is not irrelevant."""

from collections.abc import Iterable, Sequence
from contextlib import suppress

from search.retrieval.errors import EmbedderUnavailable, LegTimeout
from search.retrieval.fusion.run_legs import Leg, LegList, LegName, LegResults

#: By leg, its scores of the candidates of all legs, as far as they are known.
KnownScores = dict[LegName, dict[str, float]]


def score_candidates(legs: Sequence[Leg], gathered: LegResults) -> KnownScores:
    """Return the scores of the legs that can score; none unless two of them found something.

    With a single scoring leg there is nothing to combine, and its order is kept. A leg that was stopped has
    used up its time and is not queried again; a leg whose scoring fails keeps the scores it has.
    """
    scoring = [leg for leg in legs if leg.score is not None and gathered.lists[leg.name].candidates]
    if len(scoring) < 2:
        return {}
    everything = dict.fromkeys(id_ for leg in legs for id_ in _candidate_ids(gathered, leg))
    return {leg.name: _score_leg(leg, gathered.lists[leg.name], everything) for leg in scoring}


def _score_leg(leg: Leg, found: LegList, everything: Iterable[str]) -> dict[str, float]:
    scores = {each.chunk_id: each.score for each in found.candidates or ()}
    missing = [] if found.is_degraded else [id_ for id_ in everything if id_ not in scores]
    if missing and leg.score is not None:
        with suppress(EmbedderUnavailable, LegTimeout):
            scores |= leg.score(missing)
    return scores


def _candidate_ids(gathered: LegResults, leg: Leg) -> Iterable[str]:
    return (each.chunk_id for each in gathered.lists[leg.name].candidates or ())
