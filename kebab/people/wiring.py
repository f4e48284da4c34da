"""The extension of the app `people`."""

from kebab.extension import Extension
from kebab.http.api.permissions import ADMINS, Need
from kebab.pages.tabs import Tab
from kebab.people.models import Role, TokenScope

_MANAGE = Need(role=Role.ADMIN, scope=TokenScope.MANAGE)
EXTENSION = Extension(
    tabs=(
        Tab(label="People", route="people", need=ADMINS, place=70),
        Tab(label="Settings", route="settings", need=_MANAGE, place=80),
    ),
    listings="kebab.people.listings.LISTINGS",
)
