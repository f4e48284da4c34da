"""Statistics of a workspace's recent queries: counts, searches without result, and latency."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from django.db.models import Aggregate, Count, FloatField, Max, Q, QuerySet
from django.db.models.functions import TruncDate
from django.utils import timezone

from kebab.identity.caller import Access
from kebab.identity.models import Workspace
from kebab.people.workspace_settings.registry import preference
from search.models import AskedQuery, QueryReview, ReviewState
from search.query_log.storage import KEPT_DAYS, fold_query, visible_queries

MAX_DAYS: Final = 365
DEFAULT_DAYS: Final = 30
MAX_LISTED: Final = 100
DEFAULT_LISTED: Final = 20
#: Limit of evaluated queries, newest first.
MOST_QUERIES: Final = 200_000
# The log counts relevant hits alone.
_WITHOUT_RESULT: Final = Q(hits=0)
_DAY: Final = TruncDate("asked_at", tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Number of queries with result figures; shares and times are None without queries."""

    queries: int
    #: Queries without a relevant hit.
    without_hits: int
    #: In [0, 1].
    share_without_hits: float | None
    p50_ms: float | None
    p95_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryCount:
    """A query text with its counts, regardless of case and spaces."""

    #: As typed last.
    query: str
    count: int
    without_hits: int
    last_asked_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class UnansweredQuery(QueryCount):
    """A query text without results, with what is done about it."""

    state: ReviewState
    #: The actor who set the state; '' while it is open.
    owner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Analytics:
    """Query statistics of a workspace."""

    days: int
    #: Start of the evaluated period; later than `days` ago when there are too many queries.
    since: datetime
    #: Retention of queries in days; 0 logs none.
    kept_days: int
    total: Counts
    #: Queries with a missing leg.
    degraded: int
    #: (door, queries), most queries first.
    doors: Sequence[tuple[str, int]]
    #: Most frequent first; ties by the latest query.
    top_queries: Sequence[QueryCount]
    #: The same for queries without a relevant hit.
    no_hit_queries: Sequence[UnansweredQuery]
    #: By mode, most queries first.
    modes: Sequence[tuple[str, Counts]]
    #: Every UTC day from the first with a query to today.
    by_day: Sequence[tuple[date, Counts]]


def compute_analytics(
    access: Access, *, days: int = DEFAULT_DAYS, limit: int = DEFAULT_LISTED, day: date | None = None
) -> Analytics:
    """Return the statistics of the last `days`, or of a UTC `day` among them, with lists of up to `limit`."""
    queries = visible_queries(access)
    since = _find_start(queries, days)
    logged = queries.filter(asked_at__gte=since)
    if day is not None:
        logged = logged.annotate(day=_DAY).filter(day=day)
    return Analytics(
        days=days,
        since=since,
        kept_days=preference(access.workspace, KEPT_DAYS),
        total=_to_counts(logged.aggregate(**_AGGREGATES)),
        degraded=logged.exclude(degraded=[]).count(),
        doors=[(row["door"], row["queries"]) for row in _count_by(logged, "door")],
        top_queries=_count_texts(logged, limit),
        no_hit_queries=_add_reviews(access.workspace, _count_texts(logged.filter(_WITHOUT_RESULT), limit)),
        modes=[(row["mode"], _to_counts(row)) for row in _count_by(logged, "mode")],
        by_day=_count_by_day(logged),
    )


class _Percentile(Aggregate):
    """PostgreSQL's percentile_cont, which interpolates between two values."""

    function = "percentile_cont"
    template = "%(function)s(%(share)s) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = FloatField()

    def __init__(self, expression: str, share: float) -> None:
        super().__init__(expression, share=share)


_AGGREGATES: Final = {
    "queries": Count("*"),
    "without_hits": Count("pk", filter=_WITHOUT_RESULT),
    "p50_ms": _Percentile("took_ms", 0.5),
    "p95_ms": _Percentile("took_ms", 0.95),
}


def _find_start(queries: "QuerySet[AskedQuery]", days: int) -> datetime:
    since = timezone.now() - timedelta(days=days)
    newest = queries.filter(asked_at__gte=since).order_by("-asked_at").values_list("asked_at", flat=True)
    cut = newest[MOST_QUERIES : MOST_QUERIES + 1].first()
    return since if cut is None else cut


def _count_by(logged: "QuerySet[AskedQuery]", name: str) -> Iterable[Any]:
    counted: Iterable[Any] = logged.order_by().values(name).annotate(**_AGGREGATES).order_by("-queries", name)
    return counted


def _to_counts(row: Any) -> Counts:
    queries, without = row["queries"], row["without_hits"]
    return Counts(
        queries=queries,
        without_hits=without,
        share_without_hits=without / queries if queries else None,
        p50_ms=_round_ms(row["p50_ms"]),
        p95_ms=_round_ms(row["p95_ms"]),
    )


def _round_ms(ms: float | None) -> float | None:
    return None if ms is None else round(ms, 3)


def _count_texts(logged: "QuerySet[AskedQuery]", limit: int) -> list[QueryCount]:
    counted = logged.exclude(folded="").order_by().values("folded")
    rows = counted.annotate(
        count=Count("*"), without_hits=Count("pk", filter=_WITHOUT_RESULT), last=Max("asked_at")
    ).order_by("-count", "-last", "folded")[:limit]
    typed = logged.filter(folded__in=[row["folded"] for row in rows])
    latest = typed.order_by("folded", "-asked_at", "id").distinct("folded")
    names = dict(latest.values_list("folded", "text"))
    return [
        QueryCount(
            query=names[row["folded"]],
            count=row["count"],
            without_hits=row["without_hits"],
            last_asked_at=row["last"],
        )
        for row in rows
    ]


def _add_reviews(workspace: Workspace, counts: Sequence[QueryCount]) -> list[UnansweredQuery]:
    keys = [fold_query(count.query) for count in counts]
    reviews = QueryReview.objects.in_workspace(workspace).filter(folded__in=keys)
    found = {review.folded: (ReviewState(review.state), review.owner) for review in reviews}
    states = (found.get(key, (ReviewState.OPEN, "")) for key in keys)
    return [
        UnansweredQuery(**asdict(count), state=state, owner=owner)
        for count, (state, owner) in zip(counts, states, strict=True)
    ]


def _count_by_day(logged: "QuerySet[AskedQuery]") -> list[tuple[date, Counts]]:
    rows = logged.order_by().annotate(day=_DAY).values("day").annotate(**_AGGREGATES)
    found = {row["day"]: _to_counts(row) for row in rows}
    if not found:
        return []
    first, today = min(found), max(timezone.now().astimezone(UTC).date(), max(found))
    days = [first + timedelta(days=n) for n in range((today - first).days + 1)]
    return [(day, found.get(day, _NONE)) for day in days]


_NONE: Final = Counts(queries=0, without_hits=0, share_without_hits=None, p50_ms=None, p95_ms=None)
