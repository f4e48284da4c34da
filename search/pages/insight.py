"""The insight page: statistics of a workspace's queries, and the lag of its indexes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

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
from search.models import Change, Chunk, Door, EmbeddingSpace, ReviewState
from search.pages.search.form import MODES
from search.query_log.statistics import DEFAULT_DAYS, Analytics, Counts, compute_analytics
from search.query_log.storage import REVIEW, review_query
from search.retrieval.text.sanitize import strip_unstorable
from search.settings.search_settings import MANAGE_RULES
from search.vectors.backfill import count_without_vector
from search.vectors.lifecycle import filled_spaces


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorStatus:
    """The position of this node's mirror in the change log."""

    node: str
    head_seq: int
    #: 0 without a mirror.
    applied_seq: int
    #: Age of the oldest change that it lacks; 0 without any.
    lag_s: float

    @property
    def lag(self) -> int:
        """Return the number of changes that it lacks."""
        return max(0, self.head_seq - self.applied_seq)

    @property
    def is_missing(self) -> bool:
        """Return whether the log has changes and there is no mirror."""
        return bool(self.head_seq) and not self.applied_seq


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceStatus:
    """The coverage of a workspace's chunks by the vectors of a space."""

    model: str
    state: str
    chunks: int
    missing: int

    @property
    def percent(self) -> int:
        """Return the percentage of chunks with a vector, rounded down: 100 means all."""
        return 100 if not self.missing else 100 * (self.chunks - self.missing) // max(1, self.chunks)


def mirror_status(workspace: Workspace) -> MirrorStatus:
    """Return the position and lag of this node's mirror of a workspace."""
    applied = local_mirrors.mirror_seq(workspace.pk)
    waiting = Change.objects.in_workspace(workspace).filter(seq__gt=applied).order_by("seq")
    oldest = waiting.values_list("at", flat=True).first()
    return MirrorStatus(
        node=settings.KEBAB_NODE_ID,
        head_seq=workspace.head_seq,
        applied_seq=applied,
        lag_s=0.0 if oldest is None else max(0.0, (timezone.now() - oldest).total_seconds()),
    )


def space_statuses(workspace: Workspace) -> Sequence[SpaceStatus]:
    """Return the coverage of the spaces that are filled, the live one first."""
    chunks = Chunk.objects.in_workspace(workspace).count()
    return [_space_status(space, chunks) for space in filled_spaces(workspace)]


def _space_status(space: EmbeddingSpace, chunks: int) -> SpaceStatus:
    missing = min(count_without_vector(space), chunks)
    return SpaceStatus(model=space.model, state=space.state, chunks=chunks, missing=missing)


_DAYS = (7, 30, 90)
_DOORS: Final = {
    Door.PAGE: _("on the search page"),
    Door.API: _("by the API"),
    Door.MCP: _("by AI assistants (MCP)"),
    Door.CLI: _("on the command line"),
}


class InsightPage(WorkspacePage):
    """Query counts, queries without results, response times, and the state of the indexes."""

    need = REVIEW
    tab = "insight"

    def show(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Return the page, of a period or of one `day`. Raises Forbidden, InvalidRequest."""
        days, given_day = _parse_days(request), request.GET.get("day")
        found = period = compute_analytics(self.access, days=days)
        day = None if given_day is None else _find_day(period, given_day)
        if day is not None:
            found = compute_analytics(self.access, days=days, day=day)
        context = {
            "found": found,
            "day": day,
            "choices": _DAYS,
            "share": _percent(found.total.share_without_hits),
            "modes": [(MODES.get(mode, mode), counts) for mode, counts in found.modes],
            "doors": [(_DOORS[Door(door)], queries) for door, queries in found.doors],
            "may_rule": MANAGE_RULES.allows(self.access),
            "states": ReviewState.choices,
            "plots": _plots(period),
            "mirror": mirror_status(workspace),
            "spaces": space_statuses(workspace),
        }
        return self.render(request, "search/insight.html", **context)


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
