"""What each leg says of the candidates that only another found: not retrieved is not irrelevant."""

from collections.abc import Iterable, Sequence
from contextlib import suppress

from search.retrieval.errors import EmbedderUnavailable, LegTimeout
from search.retrieval.gather import Gathered, Leg, LegName

#: By leg, its score of each candidate of any leg, as far as the leg could tell.
KnownScores = dict[LegName, dict[str, float]]


def score_candidates(legs: Sequence[Leg], gathered: Gathered) -> KnownScores:
    """Give the scores of the legs that can score and took part; others are left out.

    A leg that was stopped has spent its time: it is not asked again, nor is one whose scoring fails.
    """
    known: KnownScores = {}
    taking_part = [leg for leg in legs if gathered.lists[leg.name].candidates is not None]
    everything = dict.fromkeys(id_ for leg in taking_part for id_ in _ids(gathered, leg))
    for leg in taking_part:
        if leg.score is not None:
            found = gathered.lists[leg.name]
            scores = known[leg.name] = {each.chunk_id: each.score for each in found.candidates or ()}
            missing = [] if found.is_degraded else [id_ for id_ in everything if id_ not in scores]
            if missing:
                with suppress(EmbedderUnavailable, LegTimeout):
                    scores |= leg.score(missing)
    return known


def _ids(gathered: Gathered, leg: Leg) -> Iterable[str]:
    return (each.chunk_id for each in gathered.lists[leg.name].candidates or ())
