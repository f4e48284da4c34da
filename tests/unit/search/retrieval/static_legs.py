"""Legs with fixed candidates, for tests of the ranking; chunks are named by short texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from search.retrieval.fusion.legs import ID, TIERS, LegResult, unpack_ids
from search.retrieval.fusion.ranking import rank_candidates
from search.retrieval.types import Mode


def ids_of(names):
    """Return the ids of chunks, (n,) ID."""
    return np.array([name.encode() for name in names], ID)


def names_of(ids):
    """Return the names of chunks."""
    return [id_.decode() for id_ in ids.tolist()]


def hex_of(name):
    """Return the id of a chunk as hits have it."""
    return unpack_ids(ids_of([name]))[0]


@dataclass(frozen=True, kw_only=True, eq=False)
class StaticResult(LegResult):
    """A result that scores and places chunks by tables of names, and records requests."""

    scored: Mapping[str, float] | None = None
    places: Mapping[str, Sequence[float]] | None = None
    asked: list[list[str]] = field(default_factory=list)

    @property
    def can_score(self):
        return self.scored is not None

    @property
    def has_vectors(self):
        return self.places is not None

    def score(self, ids):
        self.asked.append(names_of(ids))
        return np.array([self.scored.get(name, np.nan) for name in names_of(ids)])

    def vectors(self, ids):
        dim = len(next(iter(self.places.values()), (0.0,)))
        found = [self.places.get(name, [0.0] * dim) for name in names_of(ids)]
        return np.array(found, np.float32).reshape(len(ids), dim)


def result(names, scores=None, *, tiers=None, **options):
    """Return a result with these candidates; by default with the scores 1/2, 1/3, …"""
    numbers = [1 / (place + 2) for place in range(len(names))] if scores is None else scores
    tiers = None if tiers is None else np.array([TIERS.index(tier) for tier in tiers], np.uint8)
    return StaticResult(ids=ids_of(names), scores=np.array(numbers, np.float64), tiers=tiers, **options)


OFF = StaticResult(is_complete=False, is_available=False)


class StaticLeg:
    """Returns the first candidates of a result, and records its requests; `later` are results of refills."""

    def __init__(self, name, found, *, later=(), weight=1.0, is_skipped_when_empty=False):
        self.name, self.weight = name, weight
        self.is_skipped_when_empty = is_skipped_when_empty
        self.is_checked = False
        self.runs_in_calling_thread = name == "vector"
        self.results = [found if isinstance(found, LegResult) else result(found), *later]
        self.limits = []

    def search(self, limit):
        self.limits.append(limit)
        found = self.results[min(len(self.limits), len(self.results)) - 1]
        tiers = None if found.tiers is None else found.tiers[:limit]
        return replace(found, ids=found.ids[:limit], scores=found.scores[:limit], tiers=tiers)


def all_visible(ids):
    """Return that all chunks are visible."""
    return np.ones(len(ids), bool)


def hide(*names):
    """Return a check for which these chunks are hidden."""
    return lambda ids: ~np.isin(ids, ids_of(names))


def rank(*legs, mode=Mode.HYBRID, check=all_visible, k=10, **options):
    """Rank the candidates of legs."""
    return rank_candidates(mode, legs, check, k=k, **options)


def names(ranked):
    """Return the names of the ranked chunks, best first."""
    return names_of(ranked.ids)


def scores_by_name(ranked):
    """Return the fused scores by name."""
    return dict(zip(names(ranked), ranked.scores.tolist(), strict=True))
