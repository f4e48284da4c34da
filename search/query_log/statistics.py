"""What a workspace was asked in the last days, as figures: how much, how often in vain, how fast."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from django.db.models import Aggregate, Count, FloatField, Max, Q, QuerySet
from django.db.models.functions import TruncDate
from django.utils import timezone

from kebab.people.access.caller import Access
from kebab.people.workspace_settings.registry import preference
from search.models import AskedQuery
from search.query_log.storage import KEPT_DAYS, visible_queries

MAX_DAYS: Final = 365
DEFAULT_DAYS: Final = 30
MAX_LISTED: Final = 100
DEFAULT_LISTED: Final = 20
#: Of more queries the newest are looked at.
MOST_QUERIES: Final = 200_000
# Nothing was found, or nothing that has a word of it: a vector leg always knows something near.
_IN_VAIN: Final = Q(hits=0) | Q(lexical_total=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Queries, and how they went; without one there is no share and no time."""

    queries: int
    #: Those that found nothing, or nothing that has a word of them.
    without_hits: int
    #: In [0, 1].
    share_without_hits: float | None
    p50_ms: float | None
    p95_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedText:
    """A query by its text, whatever its case and spaces."""

    #: As it was last typed.
    query: str
    count: int
    without_hits: int
    last_asked_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Analytics:
    """What a workspace was asked."""

    days: int
    #: The figures are of what was asked since then: later than `days` ago when there is too much.
    since: datetime
    #: How many days the workspace keeps queries; 0: none are kept.
    kept_days: int
    total: Counts
    #: Queries of which a leg took no part.
    degraded: int
    #: By name of door, those of most queries first.
    doors: Sequence[tuple[str, int]]
    #: The commonest first; as many the one asked last.
    top_queries: Sequence[AskedText]
    #: Those that found nothing, or nothing that has a word of them, most often.
    no_hit_queries: Sequence[AskedText]
    #: By mode, that of most queries first.
    modes: Sequence[tuple[str, Counts]]
    #: By day of UTC, the first one first; every day from the first to today.
    by_day: Sequence[tuple[date, Counts]]


def analytics(access: Access, *, days: int = DEFAULT_DAYS, limit: int = DEFAULT_LISTED) -> Analytics:
    """Return the figures of the last `days`, with lists of `limit` queries at most. Raises Forbidden."""
    queries = visible_queries(access)
    since = _since(queries, days)
    asked = queries.filter(asked_at__gte=since)
    return Analytics(
        days=days,
        since=since,
        kept_days=preference(access.workspace, KEPT_DAYS),
        total=_counts(asked.aggregate(**_COUNTED)),
        degraded=asked.exclude(degraded=[]).count(),
        doors=[(row["door"], row["queries"]) for row in _grouped(asked, "door")],
        top_queries=_texts(asked, limit),
        no_hit_queries=_texts(asked.filter(_IN_VAIN), limit),
        modes=[(row["mode"], _counts(row)) for row in _grouped(asked, "mode")],
        by_day=_by_day(asked),
    )


class _Percentile(Aggregate):
    """percentile_cont: between two values it lies where the share does."""

    function = "percentile_cont"
    template = "%(function)s(%(share)s) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = FloatField()

    def __init__(self, expression: str, share: float) -> None:
        super().__init__(expression, share=share)


_COUNTED: Final = {
    "queries": Count("*"),
    "without_hits": Count("pk", filter=_IN_VAIN),
    "p50_ms": _Percentile("took_ms", 0.5),
    "p95_ms": _Percentile("took_ms", 0.95),
}


def _since(queries: "QuerySet[AskedQuery]", days: int) -> datetime:
    since = timezone.now() - timedelta(days=days)
    newest = queries.filter(asked_at__gte=since).order_by("-asked_at").values_list("asked_at", flat=True)
    cut = newest[MOST_QUERIES : MOST_QUERIES + 1].first()
    return since if cut is None else cut


def _grouped(asked: "QuerySet[AskedQuery]", name: str) -> Iterable[Any]:
    return asked.order_by().values(name).annotate(**_COUNTED).order_by("-queries", name)


def _counts(row: Any) -> Counts:
    queries, without = row["queries"], row["without_hits"]
    return Counts(
        queries=queries,
        without_hits=without,
        share_without_hits=without / queries if queries else None,
        p50_ms=_rounded(row["p50_ms"]),
        p95_ms=_rounded(row["p95_ms"]),
    )


def _rounded(ms: float | None) -> float | None:
    return None if ms is None else round(ms, 3)


def _texts(asked: "QuerySet[AskedQuery]", limit: int) -> list[AskedText]:
    counted = asked.exclude(folded="").order_by().values("folded")
    rows = counted.annotate(
        count=Count("*"), without_hits=Count("pk", filter=_IN_VAIN), last=Max("asked_at")
    ).order_by("-count", "-last", "folded")[:limit]
    typed = asked.filter(folded__in=[row["folded"] for row in rows])
    latest = typed.order_by("folded", "-asked_at", "id").distinct("folded")
    names = dict(latest.values_list("folded", "text"))
    return [
        AskedText(
            query=names[row["folded"]],
            count=row["count"],
            without_hits=row["without_hits"],
            last_asked_at=row["last"],
        )
        for row in rows
    ]


def _by_day(asked: "QuerySet[AskedQuery]") -> list[tuple[date, Counts]]:
    rows = asked.order_by().annotate(day=TruncDate("asked_at", tzinfo=UTC)).values("day").annotate(**_COUNTED)
    found = {row["day"]: _counts(row) for row in rows}
    if not found:
        return []
    first, today = min(found), max(timezone.now().astimezone(UTC).date(), max(found))
    days = [first + timedelta(days=n) for n in range((today - first).days + 1)]
    return [(day, found.get(day, _NONE)) for day in days]


_NONE: Final = Counts(queries=0, without_hits=0, share_without_hits=None, p50_ms=None, p95_ms=None)
