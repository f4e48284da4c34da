"""The base classes of models that are only shown: their rows change through pages, the API and commands."""

from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.db import models
from django.http import HttpRequest

from kebab.admin.changelist import WORKSPACE_FILTER, ListAdmin
from kebab.identity.models import Workspace


class ReadOnlyAdmin(ListAdmin):
    """An admin that shows rows, and changes none; no column is shown that it doesn't name."""

    #: The columns that a row's page adds to those of the list.
    details: ClassVar[tuple[str, ...]] = ()

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Return the fields of a row's page."""
        return (*self.list_display, *self.details)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False, so that all fields are read-only."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False."""
        return False


class TenantAdmin(ReadOnlyAdmin):
    """The admin of a table whose keys begin with the workspace: no index begins with the id alone."""

    list_filter: ClassVar[Any] = (WORKSPACE_FILTER,)
    list_select_related: ClassVar[Any] = ("workspace",)

    def get_object(self, request: HttpRequest, object_id: Any, from_field: str | None = None) -> Any:
        """Return the row with this id; None if there is none."""
        try:
            key = self.opts.pk.to_python(object_id)
        except ValidationError:
            return None
        rows = self.get_queryset(request).select_related(*self.list_select_related)
        return self.rows_by_key(rows).filter(pk=key).first()

    def rows_by_key(self, rows: models.QuerySet[Any]) -> models.QuerySet[Any]:
        """Return `rows` of all workspaces, so that they are looked up in each by the index."""
        return rows.filter(workspace__in=Workspace.objects.order_by())
