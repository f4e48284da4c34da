"""Legs with fixed candidates, for tests of the pipeline."""

from search.retrieval.fusion.pipeline import rank_candidates
from search.retrieval.fusion.run_legs import Leg
from search.retrieval.types import Candidate, Mode


def candidates(ids, tier=None):
    return [
        Candidate(chunk_id=chunk_id, score=1 / (place + 2), tier=tier) for place, chunk_id in enumerate(ids)
    ]


class StaticLeg:
    """Returns the first of its ids, and records its requests."""

    def __init__(self, name, ids, *, failure=None, fails_from=0, **leg):
        self.found = candidates(ids)
        self.limits = []
        self.failure, self.fails_from = failure, fails_from
        self.leg = Leg(name=name, search=self, **leg)

    def __call__(self, limit):
        self.limits.append(limit)
        if self.failure is not None and len(self.limits) > self.fails_from:
            raise self.failure
        return self.found[:limit]


def all_seen(ids):
    return set(ids)


def rank(*legs, mode=Mode.HYBRID, read_back=all_seen, k=10, **options):
    return rank_candidates(mode, [leg.leg for leg in legs], read_back, k=k, **options)


def ids(ranked):
    return [entry.chunk_id for entry in ranked.entries]
