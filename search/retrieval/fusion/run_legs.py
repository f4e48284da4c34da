"""Concurrent run of the legs; their candidates are read back before any other stage sees them."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal

from search.retrieval.errors import EmbedderUnavailable, LegTimeout
from search.retrieval.fusion.smoothing import VectorsOf
from search.retrieval.types import Candidate

LegName = Literal["lexical", "vector", "exact"]

#: Maximum number of repeated requests to a leg, each for twice as many, when the read-back left too few.
MAX_REFILLS = 4
_MIN_CANDIDATES = 100

#: Returns up to this number of candidates, best first. May raise EmbedderUnavailable or LegTimeout.
LegSearch = Callable[[int], Sequence[Candidate]]
#: Returns the leg's scores of these chunks, where known. May raise the same errors.
LegScore = Callable[[Sequence[str]], Mapping[str, float]]
#: Returns those of the ids that the caller may see under the query's filters; the legs' best come first.
ReadBack = Callable[[Sequence[str]], Container[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """One way of finding candidates."""

    name: LegName
    search: LegSearch
    #: Scores the candidates of other legs; None for a leg that has ranks only.
    score: LegScore | None = None
    #: Returns the vectors of the candidates; None for a leg without vectors.
    vectors: VectorsOf | None = None
    #: In the fusion.
    weight: float = 1.0
    #: Whether it uses resources of the calling thread, like its database connection.
    in_calling_thread: bool = False
    #: Whether an empty list of this leg is left out of the fusion.
    is_skipped_when_empty: bool = False


def missing_leg_message(leg: str) -> str:
    """Return the message for a result that lacks some or all candidates of a leg."""
    return f"Answered without the whole {leg} leg."


@dataclass(frozen=True, slots=True, kw_only=True)
class LegList:
    """The visible candidates of a leg, best first; None if the leg gave no list."""

    candidates: tuple[Candidate, ...] | None
    #: Whether the leg was stopped, or gave no list.
    is_degraded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LegResults:
    """The lists by leg, in the order of the legs, and the time of each stage."""

    lists: Mapping[LegName, LegList]
    timings_ms: Mapping[str, float]


def candidate_limit(k: int) -> int:
    """Return the number of candidates to request from a leg: twice the hits, at least 100."""
    return max(2 * k, _MIN_CANDIDATES)


def run_legs(
    legs: Sequence[Leg],
    read_back: ReadBack,
    *,
    k: int,
    executor: Executor | None,
    clock: Callable[[], float],
) -> LegResults:
    """Run the legs, read all candidates back in one call, drop the invisible ones, refill short lists.

    A leg whose full list became too short in the read-back is queried for twice as many, four times at most.
    The lists are those that the legs would have given if the dropped candidates had never been indexed.
    `clock` returns seconds.
    """
    wanted = candidate_limit(k)
    run = _LegRun(wanted, read_back, clock)
    pending = list(legs)
    for round_ in range(1 + MAX_REFILLS):
        limit = wanted << round_
        run.add_answers(_run_all(pending, limit, executor, clock))
        pending = [leg for leg in pending if run.is_short(leg.name, limit)]
        if not pending:
            break
    lists = {leg.name: run.leg_list(leg.name) for leg in legs}
    return LegResults(lists=lists, timings_ms=run.timings_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class _LegAnswer:
    candidates: tuple[Candidate, ...] | None
    is_complete: bool
    elapsed_ms: float


def _run_leg(leg: Leg, limit: int, clock: Callable[[], float]) -> _LegAnswer:
    started = clock()
    found: tuple[Candidate, ...] | None
    try:
        found, is_complete = tuple(leg.search(limit)), True
    except EmbedderUnavailable:
        found, is_complete = None, False
    except LegTimeout as timeout:
        found, is_complete = timeout.partial or None, False
    return _LegAnswer(candidates=found, is_complete=is_complete, elapsed_ms=(clock() - started) * 1000)


def _run_all(
    legs: Iterable[Leg], limit: int, executor: Executor | None, clock: Callable[[], float]
) -> dict[LegName, _LegAnswer]:
    futures: dict[LegName, Future[_LegAnswer]] = {}
    in_this_thread: list[Leg] = []
    for leg in legs:
        if executor is None or leg.in_calling_thread:
            in_this_thread.append(leg)
        else:
            futures[leg.name] = executor.submit(_run_leg, leg, limit, clock)
    try:
        answers = {leg.name: _run_leg(leg, limit, clock) for leg in in_this_thread}
        return answers | {name: future.result() for name, future in futures.items()}
    finally:
        for future in futures.values():
            future.cancel()


class _LegRun:
    """The answers so far, and whether each candidate in them is visible."""

    def __init__(self, wanted: int, read_back: ReadBack, clock: Callable[[], float]) -> None:
        self._wanted = wanted
        self._read_back = read_back
        self._clock = clock
        self._answers: dict[LegName, _LegAnswer] = {}
        self._is_visible: dict[str, bool] = {}
        self.timings_ms: dict[str, float] = {}

    def add_answers(self, answers: Mapping[LegName, _LegAnswer]) -> None:
        for name, answer in answers.items():
            self._add_time(name, answer.elapsed_ms)
            self._answers[name] = _merge_answers(self._answers.get(name), answer)
        self._read_back_new()

    def is_short(self, name: LegName, limit: int) -> bool:
        answer = self._answers[name]
        came_full = answer.is_complete and len(answer.candidates or ()) >= limit
        return came_full and len(self._visible_candidates(answer)) < self._wanted

    def leg_list(self, name: LegName) -> LegList:
        answer = self._answers[name]
        visible = None if answer.candidates is None else self._visible_candidates(answer)
        return LegList(candidates=visible, is_degraded=not answer.is_complete)

    def _read_back_new(self) -> None:
        lists = [answer.candidates or () for answer in self._answers.values()]
        found = (candidate.chunk_id for rank in zip_longest(*lists) for candidate in rank if candidate)
        unseen = [chunk_id for chunk_id in dict.fromkeys(found) if chunk_id not in self._is_visible]
        if not unseen:
            return
        started = self._clock()
        visible = self._read_back(unseen)
        self._add_time("read_back", (self._clock() - started) * 1000)
        self._is_visible |= {chunk_id: chunk_id in visible for chunk_id in unseen}

    def _visible_candidates(self, answer: _LegAnswer) -> tuple[Candidate, ...]:
        visible: dict[str, Candidate] = {}
        for candidate in answer.candidates or ():
            if self._is_visible[candidate.chunk_id]:
                visible.setdefault(candidate.chunk_id, candidate)
        return tuple(visible.values())[: self._wanted]

    def _add_time(self, stage: str, elapsed_ms: float) -> None:
        self.timings_ms[stage] = self.timings_ms.get(stage, 0.0) + elapsed_ms


def _merge_answers(before: _LegAnswer | None, answer: _LegAnswer) -> _LegAnswer:
    """Return the earlier answer, marked incomplete, if the later one was stopped; else the later one."""
    if answer.is_complete or before is None or before.candidates is None:
        return answer
    return replace(before, is_complete=False)
