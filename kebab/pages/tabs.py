"""The tabs of a workspace, which apps name in their extensions."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from kebab.contributions import contributions
from kebab.errors import Forbidden
from kebab.identity.caller import Access
from kebab.identity.permissions import Need


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    """A tab of a workspace; its `route` takes the slug as only argument."""

    label: "str | Promise"
    route: str
    #: The name of its icon in Lucide.
    icon: str
    need: Need
    #: Tabs are sorted by this number; those from MANAGING on are listed apart.
    place: int
    #: Return the number of what needs attention there; 0 for nothing.
    count: "Callable[[Access], int] | None" = None


#: The place of the first tab for those who manage the workspace.
MANAGING = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class TabLink:
    """A tab with its URL, as rendered."""

    label: "str | Promise"
    route: str
    icon: str
    address: str
    is_current: bool
    badge: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TabGroup:
    """Tabs listed below one heading; '' for none."""

    label: "str | Promise"
    tabs: tuple[TabLink, ...]


def tabs_of(access: Access, current: str) -> list[TabGroup]:
    """Return the tabs that the caller may open, in order; `current` is the route of the open one."""
    allowed = sorted(
        (tab for tab in contributions("tabs") if _may_open(tab, access)), key=lambda tab: tab.place
    )
    return [
        TabGroup(label=_("Manage") if manages else "", tabs=tuple(_links(tabs, access, current)))
        for manages, tabs in groupby(allowed, key=lambda tab: tab.place >= MANAGING)
    ]


def _links(tabs: Iterable[Tab], access: Access, current: str) -> Iterable[TabLink]:
    return (
        TabLink(
            label=tab.label,
            route=tab.route,
            icon=tab.icon,
            address=reverse(tab.route, args=[access.workspace.slug]),
            is_current=tab.route == current,
            badge=tab.count(access) if tab.count else 0,
        )
        for tab in tabs
    )


def _may_open(tab: Tab, access: Access) -> bool:
    try:
        tab.need.check(access)
    except Forbidden:
        return False
    return True
