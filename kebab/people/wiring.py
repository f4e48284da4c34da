"""The extension of the app `people`."""

from django.utils.translation import gettext_lazy as _

from kebab.extension import Extension, lazy
from kebab.http import cross_origin
from kebab.http.api.permissions import ADMINS, MANAGERS
from kebab.pages.tabs import Tab

EXTENSION = Extension(
    preferences=(cross_origin.PREFERENCE,),
    start_remarks=(lazy("kebab.people.members.remark_on_owners"),),
    tabs=(
        Tab(label=_("People"), route="people", icon="users", need=ADMINS, place=70),
        Tab(label=_("Settings"), route="settings", icon="settings", need=MANAGERS, place=80),
    ),
)
