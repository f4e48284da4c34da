"""The tabs of a workspace, each registered by the package of its pages."""

from dataclasses import dataclass

from django.urls import reverse

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


_tabs: dict[str, Tab] = {}


def register_tab(tab: Tab) -> None:
    """Register a tab, shown to users who may see its page."""
    _tabs[tab.route] = tab


def tabs_of(access: Access, current: str) -> list[TabLink]:
    """Return the tabs that the caller may open, in order; `current` is the route of the open one."""
    ordered = sorted(_tabs.values(), key=lambda tab: tab.place)
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
