"""Counters of refused requests, and of the stores that caused them."""

from types import MappingProxyType
from typing import Final

from kebab.observability.metrics.instruments import Counter

#: The store that a problem's code blames.
_BLAMED: Final = MappingProxyType(
    {
        "database_unavailable": "postgres",
        "database_read_only": "postgres",
        "not_replicated": "postgres",
        "timed_out": "postgres",
        "busy": "postgres",
        "redis_unavailable": "redis",
        "storage_full": "disk",
    }
)

PROBLEMS = Counter("kebab_problems_total", "Total number of error responses.", "status", "code")
OUTAGES = Counter(
    "kebab_outages_total", "Total number of responses that failed because a store was unavailable.", "store"
)
for _store in dict.fromkeys(_BLAMED.values()):
    OUTAGES.with_zero(_store)
REDIS_FAILURES = Counter("kebab_redis_failures_total", "Total number of failed Redis operations.")
PROBLEMS.with_zero("429", "rate_limited").with_zero("500", "internal_error")


def count_problem(status: int, code: str) -> None:
    """Count a problem response, and the outage of a store if one caused it."""
    PROBLEMS.add(str(status), code)
    if code in _BLAMED:
        OUTAGES.add(_BLAMED[code])
