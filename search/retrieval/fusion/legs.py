"""Legs, ways of finding candidates, and their results as arrays."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

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


def missing_leg_message(leg: str) -> str:
    """Return the message for a result that lacks some or all candidates of a leg."""
    return f"Answered without the whole {leg} leg."
