"""The legs asked at the same time, and their candidates read back before anything else sees them."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal

from search.retrieval.errors import EmbedderUnavailable, LegTimeout
from search.retrieval.fusion.smoothing import VectorsOf
from search.retrieval.types import Candidate

LegName = Literal["lexical", "vector", "exact"]

#: How often a leg is asked again, each time for twice as many, when the read-back emptied its list.
MAX_REFILLS = 4
_MIN_CANDIDATES = 100

#: Gives up to so many candidates, best first. May raise EmbedderUnavailable or LegTimeout.
LegSearch = Callable[[int], Sequence[Candidate]]
#: Gives the leg's score of each of these chunks, as far as it knows one. May raise the same.
LegScore = Callable[[Sequence[str]], Mapping[str, float]]
#: Gives the ids, of those asked for, that the caller may see under the query's filters; the legs' best first.
ReadBack = Callable[[Sequence[str]], Container[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """One way of finding candidates."""

    name: LegName
    search: LegSearch
    #: Scores what other legs found; None where a leg knows places alone.
    score: LegScore | None = None
    #: Gives what it has embedded of the candidates; None where a leg has no vectors.
    vectors: VectorsOf | None = None
    #: In the fusion.
    weight: float = 1.0
    #: Whether it uses what belongs to the calling thread, like its database connection.
    in_calling_thread: bool = False
    #: Whether it takes no part in the fusion when it found nothing.
    joins_when_found: bool = False


def without_leg(leg: str) -> str:
    """Return the sentence on an answer that is made without all that a leg might have found."""
    return f"Answered without the whole {leg} leg."


@dataclass(frozen=True, slots=True, kw_only=True)
class LegList:
    """What a leg found and the caller may see, best first; None when the leg took no part."""

    candidates: tuple[Candidate, ...] | None
    #: Whether the leg was stopped, or took no part.
    is_degraded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """The lists by leg, in the order of the legs, and what each stage took."""

    lists: Mapping[LegName, LegList]
    timings_ms: Mapping[str, float]


def candidates_wanted(k: int) -> int:
    """Return how many candidates a leg is asked for: twice the hits, 100 at least."""
    return max(2 * k, _MIN_CANDIDATES)


def gather(
    legs: Sequence[Leg],
    read_back: ReadBack,
    *,
    k: int,
    executor: Executor | None,
    clock: Callable[[], float],
) -> Gathered:
    """Ask the legs, read all candidates back in one call, drop what failed, refill legs that fell short.

    A leg that came back full and then fell short is asked for twice as many, four times at most. The lists
    are what the legs would have given had the dropped candidates never been indexed. `clock` gives seconds.
    """
    wanted = candidates_wanted(k)
    gathering = _Gathering(wanted, read_back, clock)
    pending = list(legs)
    for round_ in range(1 + MAX_REFILLS):
        limit = wanted << round_
        gathering.take(_ask_all(pending, limit, executor, clock))
        pending = [leg for leg in pending if gathering.is_short(leg.name, limit)]
        if not pending:
            break
    lists = {leg.name: gathering.list_of(leg.name) for leg in legs}
    return Gathered(lists=lists, timings_ms=gathering.timings_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    candidates: tuple[Candidate, ...] | None
    is_complete: bool
    elapsed_ms: float


def _ask(leg: Leg, limit: int, clock: Callable[[], float]) -> _Answer:
    started = clock()
    found: tuple[Candidate, ...] | None
    try:
        found, is_complete = tuple(leg.search(limit)), True
    except EmbedderUnavailable:
        found, is_complete = None, False
    except LegTimeout as timeout:
        found, is_complete = timeout.partial or None, False
    return _Answer(candidates=found, is_complete=is_complete, elapsed_ms=(clock() - started) * 1000)


def _ask_all(
    legs: Iterable[Leg], limit: int, executor: Executor | None, clock: Callable[[], float]
) -> dict[LegName, _Answer]:
    futures: dict[LegName, Future[_Answer]] = {}
    here: list[Leg] = []
    for leg in legs:
        if executor is None or leg.in_calling_thread:
            here.append(leg)
        else:
            futures[leg.name] = executor.submit(_ask, leg, limit, clock)
    try:
        answers = {leg.name: _ask(leg, limit, clock) for leg in here}
        return answers | {name: future.result() for name, future in futures.items()}
    finally:
        for future in futures.values():
            future.cancel()


class _Gathering:
    """The answers so far and the verdict on every candidate in them."""

    def __init__(self, wanted: int, read_back: ReadBack, clock: Callable[[], float]) -> None:
        self._wanted = wanted
        self._read_back = read_back
        self._clock = clock
        self._answers: dict[LegName, _Answer] = {}
        self._allowed: dict[str, bool] = {}
        self.timings_ms: dict[str, float] = {}

    def take(self, answers: Mapping[LegName, _Answer]) -> None:
        for name, answer in answers.items():
            self._add_time(name, answer.elapsed_ms)
            self._answers[name] = _better(self._answers.get(name), answer)
        self._judge()

    def is_short(self, name: LegName, limit: int) -> bool:
        answer = self._answers[name]
        came_full = answer.is_complete and len(answer.candidates or ()) >= limit
        return came_full and len(self._kept(answer)) < self._wanted

    def list_of(self, name: LegName) -> LegList:
        answer = self._answers[name]
        kept = None if answer.candidates is None else self._kept(answer)
        return LegList(candidates=kept, is_degraded=not answer.is_complete)

    def _judge(self) -> None:
        lists = [answer.candidates or () for answer in self._answers.values()]
        found = (candidate.chunk_id for rank in zip_longest(*lists) for candidate in rank if candidate)
        unseen = [chunk_id for chunk_id in dict.fromkeys(found) if chunk_id not in self._allowed]
        if not unseen:
            return
        started = self._clock()
        allowed = self._read_back(unseen)
        self._add_time("read_back", (self._clock() - started) * 1000)
        self._allowed |= {chunk_id: chunk_id in allowed for chunk_id in unseen}

    def _kept(self, answer: _Answer) -> tuple[Candidate, ...]:
        allowed: dict[str, Candidate] = {}
        for candidate in answer.candidates or ():
            if self._allowed[candidate.chunk_id]:
                allowed.setdefault(candidate.chunk_id, candidate)
        return tuple(allowed.values())[: self._wanted]

    def _add_time(self, stage: str, elapsed_ms: float) -> None:
        self.timings_ms[stage] = self.timings_ms.get(stage, 0.0) + elapsed_ms


def _better(before: _Answer | None, answer: _Answer) -> _Answer:
    """Keep what an earlier round found when a later one was stopped."""
    if answer.is_complete or before is None or before.candidates is None:
        return answer
    return replace(before, is_complete=False)
