"""Legs, ways of finding candidates, their results as arrays, and the run of all legs of a query."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, wait
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, Literal, Protocol

import numpy as np

from search.retrieval.types import Tier

LegName = Literal["lexical", "vector", "exact"]

#: A chunk's id as one value; numpy drops trailing zeros of a single value, but not of a slice.
ID: Final = np.dtype("S16")
_HEX_DIGITS = 2 * ID.itemsize

#: The tier of a candidate by its number in `LegResult.tiers`.
TIERS: Final[tuple[Tier | None, ...]] = (None, "all", "some")


def pack_ids(chunk_ids: Iterable[str]) -> np.ndarray:
    """Return chunk ids, 32 hex digits each, as (n,) ID."""
    return np.frombuffer(bytes.fromhex("".join(chunk_ids)), ID)


def unpack_ids(ids: np.ndarray) -> list[str]:
    """Return chunk ids, (n,) ID, as 32 hex digits each."""
    digits = ids.tobytes().hex()
    return [digits[start : start + _HEX_DIGITS] for start in range(0, len(digits), _HEX_DIGITS)]


def _no_ids() -> np.ndarray:
    return np.empty(0, ID)


def _no_scores() -> np.ndarray:
    return np.empty(0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LegResult:
    """The candidates that a leg found, best first."""

    #: (n,) ID, each once.
    ids: np.ndarray = field(default_factory=_no_ids)
    #: (n,) float64 in [0, 1], higher is better.
    scores: np.ndarray = field(default_factory=_no_scores)
    #: (n,) uint8, indexes in TIERS; None for a leg without tiers.
    tiers: np.ndarray | None = None
    #: Whether the leg was not stopped, and is available.
    is_complete: bool = True
    #: Whether the list takes part in the fusion, even if it is empty.
    is_available: bool = True
    #: Whether the others lack what the query names without a doubt, as a day, and are hardly meant.
    is_decisive: bool = False

    @property
    def can_score(self) -> bool:
        """Return whether it can score other chunks; else it has ranks only."""
        return False

    @property
    def has_vectors(self) -> bool:
        """Return whether it can return the vectors of chunks."""
        return False

    def score(self, ids: np.ndarray) -> np.ndarray:
        """Return the scores, (m,) float64, of any chunks, NaN if unknown."""
        return np.full(len(ids), np.nan)

    def vectors(self, ids: np.ndarray) -> np.ndarray:
        """Return the vectors of any chunks, (m, dim) float32, zeros if unknown."""
        return np.zeros((len(ids), 1), np.float32)

    def word_shares(self, ids: np.ndarray) -> tuple[np.ndarray, float] | None:
        """Return the shares of the query's words that chunks have, and that of a bm25 of 1; None: unknown."""
        return None


class Leg(Protocol):
    """A way of finding candidates for one query."""

    @property
    def name(self) -> LegName:
        """Return the name of the leg."""
        ...

    @property
    def weight(self) -> float:
        """Return its weight in the fusion."""
        ...

    @property
    def runs_in_calling_thread(self) -> bool:
        """Return whether it uses resources of the calling thread, like its database connection."""
        ...

    @property
    def is_checked(self) -> bool:
        """Return whether all of its candidates are visible to the reader under the query's filters."""
        ...

    @property
    def is_skipped_when_empty(self) -> bool:
        """Return whether an empty list of this leg is left out of the fusion."""
        ...

    def search(self, limit: int) -> LegResult:
        """Return up to `limit` candidates."""
        ...


class EmptyLeg:
    """A leg that can't be asked: the lexical one where there is no mirror to read."""

    weight: ClassVar[float] = 1.0
    runs_in_calling_thread: ClassVar[bool] = True
    is_checked: ClassVar[bool] = True
    is_skipped_when_empty: ClassVar[bool] = False

    def __init__(self, name: LegName) -> None:
        self.name = name

    def search(self, limit: int) -> LegResult:
        """Return no candidates."""
        return LegResult(is_complete=False, is_available=False)


#: Of `degraded`: a result was read from a standby, which may lack the latest changes.
PRIMARY_UNREACHABLE: Final = "primary_unreachable"


def missing_part_message(part: str) -> str:
    """Return the message for a result that lacks some or all candidates of a leg, or the latest changes."""
    if part == PRIMARY_UNREACHABLE:
        return "Answered from a standby of the database; the latest changes may be missing."
    return f"Answered without the whole {part} leg."


#: Maximum number of repeated requests to a leg, each for twice as many, when too few candidates are visible.
MAX_REFILLS = 4
_MIN_CANDIDATES = 100

#: Returns (m,) bool: which of the chunks, (m,) ID ascending, the caller may see under the query's filters.
CheckVisible = Callable[[np.ndarray], np.ndarray]
_Answer = tuple[LegResult, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class LegResults:
    """The results of the legs."""

    #: In the order of the legs, with the visible candidates.
    by_leg: Mapping[LegName, LegResult]
    #: By leg, and `read_back`.
    timings_ms: Mapping[str, float]
    #: Whether all candidates were visible.
    are_whole: bool
    #: Whether a leg's list was full, so that there may be further candidates.
    may_have_more: bool


def candidate_limit(k: int) -> int:
    """Return the number of candidates to request from a leg: twice the hits, at least 100."""
    return max(2 * k, _MIN_CANDIDATES)


def run_legs(
    legs: Sequence[Leg], check_visible: CheckVisible, *, k: int, executor: Executor | None = None
) -> LegResults:
    """Run the legs, and drop candidates that are not visible, as if they had never been indexed.

    The legs run concurrently in `executor`; in the calling thread if there is none, or if they require it. A
    leg whose full list became too short is queried again for twice as many candidates, four times at most.
    """
    wanted = candidate_limit(k)
    timings: dict[str, float] = {}
    found: dict[LegName, LegResult] = {}
    visible: dict[LegName, LegResult] = {}
    are_whole = True
    may_have_more = False
    pending = list(legs)
    for round_ in range(1 + MAX_REFILLS):
        limit = wanted << round_
        for name, (result, elapsed_ms) in _run_all(pending, limit, executor).items():
            found[name] = _keep_earlier(found.get(name), result)
            timings[name] = timings.get(name, 0.0) + elapsed_ms
        visible = dict(found)
        unchecked = {leg.name: found[leg.name] for leg in legs if not leg.is_checked}
        if unchecked:
            started = time.perf_counter()
            checked, are_all = _drop_invisible(unchecked, check_visible)
            timings["read_back"] = timings.get("read_back", 0.0) + (time.perf_counter() - started) * 1000
            visible |= checked
            are_whole = are_whole and are_all
        full = [leg for leg in pending if found[leg.name].is_complete and len(found[leg.name].ids) >= limit]
        may_have_more |= full != []
        pending = [leg for leg in full if len(visible[leg.name].ids) < wanted]
        if not pending:
            break
    return LegResults(
        by_leg={leg.name: _cut(visible[leg.name], wanted) for leg in legs},
        timings_ms=timings,
        are_whole=are_whole,
        may_have_more=may_have_more,
    )


def _run_all(legs: Iterable[Leg], limit: int, executor: Executor | None) -> dict[LegName, _Answer]:
    """Run the legs that require the calling thread in it, the others in another, one after the other."""
    here = [leg for leg in legs if executor is None or leg.runs_in_calling_thread]
    elsewhere = [leg for leg in legs if leg not in here]
    if executor is None or not elsewhere:
        return _run_each(here, limit)
    future = executor.submit(_run_each, elsewhere, limit)
    try:
        return _run_each(here, limit) | future.result()
    finally:
        if not future.cancel():
            wait([future])  # it uses what the caller closes


def _run_each(legs: Iterable[Leg], limit: int) -> dict[LegName, _Answer]:
    answers: dict[LegName, _Answer] = {}
    for leg in legs:
        started = time.perf_counter()
        answers[leg.name] = leg.search(limit), (time.perf_counter() - started) * 1000
    return answers


def _keep_earlier(before: LegResult | None, result: LegResult) -> LegResult:
    """Return the earlier result, marked incomplete, if the later one was stopped; else the later one."""
    if before is None or result.is_complete or not before.is_available:
        return result
    return replace(before, is_complete=False)


def _drop_invisible(
    found: Mapping[LegName, LegResult], check_visible: CheckVisible
) -> tuple[dict[LegName, LegResult], bool]:
    """Return the results without candidates that are not visible, and whether all are visible."""
    every = np.unique(np.concatenate([result.ids for result in found.values()]))
    if not len(every):
        return dict(found), True
    is_visible = check_visible(every)
    if is_visible.all():
        return dict(found), True
    hidden = every[~is_visible]
    return {name: _take(each, ~np.isin(each.ids, hidden)) for name, each in found.items()}, False


def _cut(result: LegResult, length: int) -> LegResult:
    return _take(result, slice(length)) if len(result.ids) > length else result


def _take(result: LegResult, chosen: np.ndarray | slice) -> LegResult:
    tiers = None if result.tiers is None else result.tiers[chosen]
    return replace(result, ids=result.ids[chosen], scores=result.scores[chosen], tiers=tiers)
