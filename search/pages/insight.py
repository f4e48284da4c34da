"""The insight page: statistics of a workspace's queries, and the lag of its indexes."""

from collections.abc import Callable, Sequence
from datetime import date
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext_lazy as _

from kebab.errors import InvalidRequest
from kebab.identity.models import Workspace
from kebab.pages.page import PostAction, WorkspacePage
from kebab.pages.plots import VERDICT, Axes, Plot, Point, bar_plot, line_plot
from search.mirror import local_mirrors
from search.models import Change, Chunk, Door, ReviewState
from search.pages.search.form import MODES
from search.query_log.statistics import DEFAULT_DAYS, Analytics, Counts, compute_analytics
from search.query_log.storage import REVIEW, review_query
from search.retrieval.text.sanitize import strip_unstorable
from search.settings.search_settings import MANAGE_RULES
from search.vectors.backfill import count_without_vector
from search.vectors.lifecycle import filled_spaces


def mirror_status(workspace: Workspace) -> dict[str, Any]:
    """Return the position of this node's mirror in the workspace's change log, and what it lacks."""
    head, applied = workspace.head_seq, local_mirrors.mirror_seq(workspace.pk)
    waiting = Change.objects.in_workspace(workspace).filter(seq__gt=applied).order_by("seq")
    oldest = waiting.values_list("at", flat=True).first()
    return {
        "node": settings.KEBAB_NODE_ID,
        "head_seq": head,
        "applied_seq": applied,  # 0 without a mirror
        "lag": max(0, head - applied),
        "lag_s": 0.0 if oldest is None else max(0.0, (timezone.now() - oldest).total_seconds()),
        "is_missing": bool(head) and not applied,
    }


def space_statuses(workspace: Workspace) -> list[dict[str, Any]]:
    """Return the coverage of the workspace's chunks by each space that is filled, the live one first.

    The percentage is rounded down: 100 means all.
    """
    chunks = Chunk.objects.in_workspace(workspace).count()
    found = []
    for space in filled_spaces(workspace):
        missing = min(count_without_vector(space), chunks)
        percent = 100 * (chunks - missing) // max(1, chunks) if missing else 100
        found.append(
            {
                "model": space.model,
                "state": space.state,
                "chunks": chunks,
                "missing": missing,
                "percent": percent,
            }
        )
    return found


_DAYS = (7, 30, 90)
_DOORS: Final = {
    Door.PAGE: _("on the search page"),
    Door.API: _("by the API"),
    Door.MCP: _("by AI assistants (MCP)"),
    Door.CLI: _("on the command line"),
}


@WorkspacePage.of(need=REVIEW, tab="insight")
def insight_page(page: WorkspacePage) -> HttpResponse:
    """Return query counts, queries without results, response times, and the state of the indexes.

    They are of a period or of one `day`. Raises Forbidden, InvalidRequest.
    """
    request, workspace = page.request, page.access.workspace
    days, given_day = _parse_days(request), request.GET.get("day")
    found = period = compute_analytics(page.access, days=days)
    day = None if given_day is None else _find_day(period, given_day)
    if day is not None:
        found = compute_analytics(page.access, days=days, day=day)
    context = {
        "found": found,
        "day": day,
        "choices": _DAYS,
        "share": _percent(found.total.share_without_hits),
        "modes": [(MODES.get(mode, mode), counts) for mode, counts in found.modes],
        "doors": [(_DOORS[Door(door)], queries) for door, queries in found.doors],
        "may_rule": MANAGE_RULES.allows(page.access),
        "states": ReviewState.choices,
        "plots": _plots(period),
        "mirror": mirror_status(workspace),
        "spaces": space_statuses(workspace),
    }
    return page.render(request, "search/insight.html", **context)


@PostAction.of(need=REVIEW, tab="insight")
def store_review(page: PostAction) -> HttpResponse:
    """Store the state of a `query`. Raises Forbidden, InvalidRequest."""
    text, state = strip_unstorable(page.request.POST.get("query", "")), page.request.POST.get("state")
    if not text.strip():
        raise InvalidRequest("query: name the search.")
    if state not in ReviewState.values:
        raise InvalidRequest(f"state: choose one of {', '.join(ReviewState.values)}.")
    review_query(page.access, text, ReviewState(state))
    return redirect("insight", page.access.workspace.slug)


def _parse_days(request: HttpRequest) -> int:
    given = request.GET.get("days", str(DEFAULT_DAYS))
    if given not in map(str, _DAYS):
        raise InvalidRequest(f"days: choose one of {', '.join(map(str, _DAYS))}.")
    return int(given)


def _find_day(period: Analytics, given: str) -> date:
    day = next((day for day, _counts in period.by_day if day.isoformat() == given), None)
    if day is None:
        raise InvalidRequest("day: choose a day of the plot, like 2026-01-31.")
    return day


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %" if share >= 0.01 or not share else "< 1 %"


def _plots(found: Analytics) -> Sequence[Plot]:
    """Return the plots by day; none of a single day, whose figures the page states."""
    if len(found.by_day) < 2:
        return ()
    return (_queries_a_day(found), _times_a_day(found))


def _queries_a_day(found: Analytics) -> Plot:
    series = (_("with results"), _("no results"))
    axes = Axes(name=_("Searches by day"), series=series, across=_("Day"), kinds=VERDICT, least=2)
    return bar_plot(axes, _points(found, lambda each: (each.queries - each.without_hits, each.without_hits)))


def _times_a_day(found: Analytics) -> Plot:
    axes = Axes(
        name=_("Response time by day, in ms"),
        series=(_("typical"), _("slow")),
        across=_("Day"),
        format_value="{:.0f}".format,
        least=10,
    )
    return line_plot(axes, _points(found, lambda each: (each.p50_ms, each.p95_ms)))


def _points(found: Analytics, values_of: Callable[[Counts], tuple[float | None, ...]]) -> Sequence[Point]:
    """Return a point for each day; those of days with queries lead to them."""
    return [
        Point(
            label=date_format(day, "j M"),
            values=values_of(each),
            address=f"?days={found.days}&day={day.isoformat()}" if each.queries else "",
        )
        for day, each in found.by_day
    ]
