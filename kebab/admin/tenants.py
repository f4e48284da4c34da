"""Admins of tenant tables, whose keys begin with the workspace, over all workspaces or in one."""

import uuid
from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db import models
from django.http import HttpRequest
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from kebab.admin import formatting
from kebab.admin.actions import ActionAdmin
from kebab.admin.changelist import FOUND, ReadOnlyAdmin
from kebab.people.models import Workspace

#: The list parameter that selects a workspace.
IN_WORKSPACE = "workspace__id__exact"
WORKSPACE_FILTER = ("workspace", AutocompleteSelectFilter)


def chosen_workspace(request: HttpRequest) -> uuid.UUID | None:
    """Return the workspace selected in the list; None for all."""
    try:
        return uuid.UUID(request.GET.get(IN_WORKSPACE, ""))
    except ValueError:
        return None


class WorkspaceColumn:
    """A column with a link to the row's workspace."""

    @admin.display(description="workspace")
    def in_workspace(self, row: Any) -> Any:
        """Return a link to the workspace."""
        return formatting.link(row.workspace)


class TenantAdmin(WorkspaceColumn, ActionAdmin, ReadOnlyAdmin):
    """The admin of a tenant table; its queries name workspaces, because no index begins with the id alone."""

    scopes: ClassVar[Mapping[str, str]] = {IN_WORKSPACE: "workspace_id"}
    list_filter: ClassVar[Any] = (WORKSPACE_FILTER,)
    list_select_related: ClassVar[Any] = ("workspace",)

    def get_object(self, request: HttpRequest, object_id: Any, from_field: str | None = None) -> Any:
        """Return the row with this id, looked up in each workspace by the index; None if there is none."""
        try:
            key = self.opts.pk.to_python(object_id)
        except ValidationError:
            return None
        rows = self.get_queryset(request).select_related(*self.list_select_related)
        return rows.filter(workspace__in=Workspace.objects.order_by(), pk=key).first()

    def get_search_results(
        self, request: HttpRequest, queryset: models.QuerySet[Any], search_term: str
    ) -> tuple[models.QuerySet[Any], bool]:
        """Return the rows of `queryset` found by `find`, by workspace and id."""
        if not search_term.strip():
            return queryset, False
        found = self.find(request, search_term.strip()).order_by().values_list("workspace_id", "pk")[:FOUND]
        keys = list(found)
        return queryset.filter(workspace__in={ws for ws, _ in keys}, pk__in=[key for _, key in keys]), False

    def scoped_rows(self, request: HttpRequest) -> models.QuerySet[Any]:
        """Return the rows of the selected workspace, or of all, so that an index on (workspace, …) serves."""
        workspace = chosen_workspace(request)
        if workspace is not None:
            return self.get_queryset(request).filter(workspace=workspace)
        return self.get_queryset(request).filter(workspace__in=Workspace.objects.order_by())
