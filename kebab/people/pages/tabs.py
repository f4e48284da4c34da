"""Tabs of the people's pages."""

from kebab.http.api.permissions import ADMINS, Need
from kebab.pages.tabs import Tab, register_tab
from kebab.people.models import Role, TokenScope


def register() -> None:
    """Register the tabs; called once, when the apps are ready."""
    register_tab(Tab(label="People", route="people", need=ADMINS, place=70))
    manage = Need(role=Role.ADMIN, scope=TokenScope.MANAGE)
    register_tab(Tab(label="Settings", route="settings", need=manage, place=80))
