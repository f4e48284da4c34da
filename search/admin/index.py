"""Django admin of embedding spaces, and the action that rebuilds a workspace's mirror."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from kebab.admin.actions import RowAction, admin_access, register_actions
from kebab.admin.site import site
from kebab.admin.tenants import WORKSPACE_FILTER, TenantAdmin
from kebab.people import audit
from kebab.people.models import Workspace
from search.mirror import local_mirrors
from search.models import EmbeddingSpace

_SPACE_STATES = {"live": "success", "building": "info"}


@admin.register(EmbeddingSpace, site=site)
class EmbeddingSpaceAdmin(TenantAdmin):
    """Embedding spaces: the models that vectors were computed with."""

    list_display = (
        "model",
        "in_workspace",
        "state_label",
        "dim",
        "is_indexed",
        "epoch",
        "retire_at",
        "created_at",
    )
    ordering = ("workspace_id", "-id")
    list_filter: ClassVar[Any] = (WORKSPACE_FILTER, ("state", ChoicesDropdownFilter))
    fields = (
        "model",
        "revision",
        "in_workspace",
        "state_label",
        "dim",
        "query_prefix",
        "passage_prefix",
        "languages",
        "known_share",
        "is_indexed",
        "switches_by_itself",
        "epoch",
        "live_until",
        "retire_at",
        "created_at",
    )

    @display(description="state", label=_SPACE_STATES)
    def state_label(self, space: EmbeddingSpace) -> str:
        """Return the state."""
        return space.state


def _rebuild_mirror(request: HttpRequest, workspace: Workspace) -> str:
    transaction.on_commit(lambda: local_mirrors.trigger_rebuild(workspace.pk))
    audit.record(admin_access(request, workspace), "mirror.rebuild_asked", workspace.slug)
    return f"The mirror of {workspace.slug} on this node is being rebuilt. Searches continue."


register_actions(
    Workspace,
    RowAction(
        name="rebuild-mirror",
        label=_("Rebuild mirror"),
        icon="sync",
        question=_("Rebuild this node's mirror from the database? Searches continue."),
        perform=_rebuild_mirror,
    ),
)
