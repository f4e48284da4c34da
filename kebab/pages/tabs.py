"""The tabs of a workspace, which apps name in their extensions."""

from dataclasses import dataclass

from django.urls import reverse

from kebab.extension import contributions
from kebab.http.api.errors import Forbidden
from kebab.http.api.permissions import Need
from kebab.people.access.caller import Access


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    """A tab of a workspace; its `route` takes the slug as only argument."""

    label: str
    route: str
    need: Need
    #: Tabs are sorted by this number.
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TabLink:
    """A tab with its URL, as rendered."""

    label: str
    address: str
    is_current: bool


def tabs_of(access: Access, current: str) -> list[TabLink]:
    """Return the tabs that the caller may open, in order; `current` is the route of the open one."""
    ordered = sorted(contributions("tabs"), key=lambda tab: tab.place)
    return [
        TabLink(
            label=tab.label,
            address=reverse(tab.route, args=[access.workspace.slug]),
            is_current=tab.route == current,
        )
        for tab in ordered
        if _may_open(tab, access)
    ]


def _may_open(tab: Tab, access: Access) -> bool:
    try:
        tab.need.check(access)
    except Forbidden:
        return False
    return True
