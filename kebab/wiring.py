"""The extension of the apps below `kebab`."""

from django.utils.translation import gettext_lazy as _

from kebab.contributions import lazy
from kebab.extension import Extension
from kebab.health.server_checks import CHECKS
from kebab.identity.caller import ADMINS, MANAGERS
from kebab.pages.page import Tab
from kebab.people.workspace_settings.hooks import ORIGINS
from kebab.stack.servers import server_metrics
from kebab.stack.servers.replication import replication_rows
from kebab.stack.storage.private_places import mark_own_folders

EXTENSION = Extension(
    preferences=(ORIGINS,),
    tabs=(
        Tab(label=_("People"), route="people", icon="users", need=ADMINS, place=70),
        Tab(label=_("Settings"), route="settings", icon="settings", need=MANAGERS, place=80),
    ),
    checks=CHECKS,
    init_steps=(
        ("private folders", mark_own_folders),
        ("secrets of webhooks", lazy("kebab.webhooks.endpoints.rotate_secrets")),
    ),
    start_remarks=(lazy("kebab.people.members.remark_on_owners"),),
    status_sections=(("replication", replication_rows),),
    collectors=server_metrics.COLLECTORS,
)
