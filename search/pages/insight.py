"""The insight page: statistics of a workspace's queries, and the lag of its indexes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse

from kebab.http.api.errors import InvalidRequest
from kebab.pages.page import WorkspacePage
from kebab.pages.plots import Axes, Plot, Point, bar_plot, line_plot
from kebab.people.models import Workspace
from search.pages.index_status import mirror_status, space_statuses
from search.query_log.statistics import DEFAULT_DAYS, Analytics, QueryCount, compute_analytics
from search.query_log.storage import REVIEW

_DAYS = (7, 30, 90)


@dataclass(frozen=True, slots=True, kw_only=True)
class DaysChoice:
    """A period to choose."""

    days: int
    is_current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownText:
    """A query, and the query string that repeats it."""

    asked: QueryCount
    address: str


class InsightPage(WorkspacePage):
    """Query counts, queries without results, response times, and the state of the indexes."""

    need = REVIEW
    tab = "insight"

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the page. Raises Forbidden, InvalidRequest for a number of days that isn't offered."""
        days = _parse_days(request)
        found = compute_analytics(self.access, days=days)
        context = {
            "found": found,
            "choices": [DaysChoice(days=each, is_current=each == days) for each in _DAYS],
            "share": _percent(found.total.share_without_hits),
            "top": _present_texts(found.top_queries),
            "vain": _present_texts(found.no_hit_queries),
            "plots": _plots(found),
            "mirror": mirror_status(workspace),
            "spaces": space_statuses(workspace),
        }
        return self.render(request, "search/insight.html", **context)


def _parse_days(request: HttpRequest) -> int:
    given = request.GET.get("days", str(DEFAULT_DAYS))
    if given not in map(str, _DAYS):
        raise InvalidRequest(f"days: choose one of {', '.join(map(str, _DAYS))}.")
    return int(given)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %" if share >= 0.01 or not share else "under 1 %"


def _present_texts(texts: Sequence[QueryCount]) -> list[ShownText]:
    return [ShownText(asked=each, address=urlencode({"q": each.query})) for each in texts]


def _plots(found: Analytics) -> Sequence[Plot]:
    if not found.by_day:
        return ()
    return (_queries_a_day(found), _times_a_day(found))


def _queries_a_day(found: Analytics) -> Plot:
    axes = Axes(name="Queries a day", series=("with results", "without results"), across="Day", least=2)
    points = [
        Point(label=_label(day), values=(each.queries - each.without_hits, each.without_hits))
        for day, each in found.by_day
    ]
    return bar_plot(axes, points)


def _times_a_day(found: Analytics) -> Plot:
    axes = Axes(
        name="Time to answer in ms",
        series=("median", "95th percentile"),
        across="Day",
        format_value="{:.0f}".format,
        least=10,
    )
    points = [Point(label=_label(day), values=(each.p50_ms, each.p95_ms)) for day, each in found.by_day]
    return line_plot(axes, points)


def _label(day: date) -> str:
    return f"{day:%b} {day.day}"
