"""What each leg says of the candidates that only another found: not retrieved is not irrelevant."""

from collections.abc import Iterable, Sequence
from contextlib import suppress

from search.retrieval.errors import EmbedderUnavailable, LegTimeout
from search.retrieval.fusion.run_legs import Gathered, Leg, LegList, LegName

#: By leg, its score of each candidate of any leg, as far as the leg could tell.
KnownScores = dict[LegName, dict[str, float]]


def score_candidates(legs: Sequence[Leg], gathered: Gathered) -> KnownScores:
    """Return the scores of the legs that can score; none unless two of them found something.

    One alone has nothing to be weighed against: the order of what it found stands.
    A leg that was stopped has spent its time: it is not asked again, nor is one whose scoring fails.
    """
    scoring = [leg for leg in legs if leg.score is not None and gathered.lists[leg.name].candidates]
    if len(scoring) < 2:
        return {}
    everything = dict.fromkeys(id_ for leg in legs for id_ in _ids(gathered, leg))
    return {leg.name: _scores(leg, gathered.lists[leg.name], everything) for leg in scoring}


def _scores(leg: Leg, found: LegList, everything: Iterable[str]) -> dict[str, float]:
    scores = {each.chunk_id: each.score for each in found.candidates or ()}
    missing = [] if found.is_degraded else [id_ for id_ in everything if id_ not in scores]
    if missing and leg.score is not None:
        with suppress(EmbedderUnavailable, LegTimeout):
            scores |= leg.score(missing)
    return scores


def _ids(gathered: Gathered, leg: Leg) -> Iterable[str]:
    return (each.chunk_id for each in gathered.lists[leg.name].candidates or ())
