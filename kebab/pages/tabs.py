"""The tabs of a workspace: each is registered by the part that has its pages."""

from dataclasses import dataclass

from django.urls import reverse

from kebab.http.api.errors import Forbidden
from kebab.http.api.permissions import Need
from kebab.people.access.caller import Access


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    """A way to pages of a workspace; `route` takes its slug and nothing else."""

    label: str
    route: str
    need: Need
    #: Tabs stand in the order of these.
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTab:
    """A tab as somebody sees it."""

    label: str
    address: str
    is_current: bool


_tabs: dict[str, Tab] = {}


def register_tab(tab: Tab) -> None:
    """Have workspaces show a tab to those who may see its page."""
    _tabs[tab.route] = tab


def tabs_of(access: Access, current: str) -> list[ShownTab]:
    """Return the tabs that the caller may open, in order; `current` is the route of the one that is open."""
    ordered = sorted(_tabs.values(), key=lambda tab: tab.place)
    return [
        ShownTab(
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
