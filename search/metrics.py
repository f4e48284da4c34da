"""Metrics of searches, answers and mirrors; stages are spans as well where tracing is on."""

from collections.abc import Mapping
from time import perf_counter
from types import TracebackType

from kebab.observability import tracing
from kebab.observability.metrics.instruments import LONG_SECONDS, Counter, Histogram
from search.retrieval.types import SearchResult

SEARCH_SECONDS = Histogram("kebab_search_seconds", "Duration of a search in seconds.", "mode")
LEG_SECONDS = Histogram("kebab_search_leg_seconds", "Duration of a leg of a search in seconds.", "leg")
STAGE_SECONDS = Histogram(
    "kebab_search_stage_seconds", "Duration of a stage of a search in seconds.", "stage"
)
DEGRADED = Counter(
    "kebab_searches_degraded_total",
    "Total number of searches with an incomplete leg: out_of_time, unavailable, or off as configured.",
    "leg",
    "reason",
).with_zero("lexical", "out_of_time")
EMPTY = Counter("kebab_searches_empty_total", "Total number of searches without hits.", "mode")
PAGES = Counter("kebab_search_pages_total", "Total number of result pages fetched with a cursor.")
VECTOR_LEGS = Counter(
    "kebab_search_vector_legs_total", "Total number of vector scans by method: codes, index, or all.", "way"
)
RERANKS = Counter("kebab_reranks_total", "Total number of rerank requests by outcome.", "outcome")
ANSWERS = Counter("kebab_answers_total", "Total number of answers to questions.", "state", "reason")
ANSWER_SECONDS = Histogram(
    "kebab_answer_seconds", "Duration of an answer in seconds.", "state", bounds=LONG_SECONDS
)
SYNC_SECONDS = Histogram("kebab_mirror_sync_seconds", "Duration of a mirror sync in seconds.")
CHANGES = Counter("kebab_mirror_changes_total", "Total number of changes applied to mirrors.")
REBUILDS = Counter(
    "kebab_mirror_rebuilds_total", "Total number of mirror rebuilds by reason.", "reason"
).with_zero("damaged")
REBUILD_SECONDS = Histogram(
    "kebab_mirror_rebuild_seconds", "Duration of a mirror rebuild in seconds.", bounds=LONG_SECONDS
)
SYNC_FAILURES = Counter(
    "kebab_mirror_sync_failures_total", "Total number of syncs that failed to write a mirror."
)

# Stages timed by the retrieval core, which reports durations without metrics.
_CORE_STAGES = ("read_back", "scoring", "fusion", "cap", "cutoff", "rerank")


class stage:
    """A context manager that times its block as a stage of a search."""

    __slots__ = ("_began", "_histogram", "_name", "_span")

    def __init__(self, name: str, histogram: Histogram = STAGE_SECONDS) -> None:
        self._name = name
        self._histogram = histogram

    def __enter__(self) -> None:
        self._span = tracing.span(f"search.{self._name}")
        self._span.__enter__()
        self._began = perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._histogram.observe(perf_counter() - self._began, self._name)
        self._span.__exit__(kind, error, trace)


def count_search(result: SearchResult, timings_ms: Mapping[str, float], seconds: float) -> None:
    """Count and time a finished search."""
    SEARCH_SECONDS.observe(seconds, result.mode)
    for name in _CORE_STAGES:
        if name in timings_ms:
            STAGE_SECONDS.observe(timings_ms[name] / 1000, name)
    if result.rerank is not None:
        RERANKS.add(result.rerank.status)
    if not result.hits:
        EMPTY.add(result.mode)


def count_answer(state: str, reason: str | None, took_ms: float) -> None:
    """Count and time an answer to a question."""
    ANSWERS.add(state, reason or "")
    ANSWER_SECONDS.observe(took_ms / 1000, state)
