"""What each leg says of the candidates that only another found: not retrieved is not irrelevant."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future

from search.retrieval.errors import EmbedderUnavailable, LegTimeout
from search.retrieval.gather import Gathered, Leg, LegName

#: By leg, its score of each candidate of any leg, as far as the leg could tell.
KnownScores = dict[LegName, dict[str, float]]


def score_candidates(legs: Sequence[Leg], gathered: Gathered, executor: Executor | None) -> KnownScores:
    """Give the scores of the legs that can score and took part; others are left out.

    A leg that was stopped has spent its time: it is not asked again, nor is one whose scoring fails.
    """
    known: KnownScores = {}
    missing: dict[LegName, list[str]] = {}
    taking_part = [leg for leg in legs if gathered.lists[leg.name].candidates is not None]
    everything = dict.fromkeys(id_ for leg in taking_part for id_ in _ids(gathered, leg))
    for leg in taking_part:
        if leg.score is not None:
            found = gathered.lists[leg.name]
            known[leg.name] = {each.chunk_id: each.score for each in found.candidates or ()}
            missing[leg.name] = (
                [] if found.is_degraded else [id_ for id_ in everything if id_ not in known[leg.name]]
            )
    for name, scores in _ask_all(taking_part, missing, executor).items():
        known[name] |= scores
    return known


def _ids(gathered: Gathered, leg: Leg) -> Iterable[str]:
    return (each.chunk_id for each in gathered.lists[leg.name].candidates or ())


def _ask_all(
    legs: Sequence[Leg], missing: Mapping[LegName, Sequence[str]], executor: Executor | None
) -> dict[LegName, Mapping[str, float]]:
    futures: dict[LegName, Future[Mapping[str, float]]] = {}
    here: list[Leg] = []
    for leg in legs:
        if not missing.get(leg.name):
            continue
        if executor is None or leg.in_calling_thread:
            here.append(leg)
        else:
            futures[leg.name] = executor.submit(_ask, leg, missing[leg.name])
    answers = {leg.name: _ask(leg, missing[leg.name]) for leg in here}
    return answers | {name: future.result() for name, future in futures.items()}


def _ask(leg: Leg, chunk_ids: Sequence[str]) -> Mapping[str, float]:
    try:
        return {} if leg.score is None else leg.score(chunk_ids)
    except (EmbedderUnavailable, LegTimeout):
        return {}
