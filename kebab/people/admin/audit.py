"""The audit log in the Django admin."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib import admin
from django.db import models
from django.http import HttpRequest
from unfold.contrib.filters.admin import TextFilter

from kebab.admin import formatting
from kebab.admin.changelist import ReadOnlyAdmin
from kebab.admin.site import site
from kebab.admin.tenants import IN_WORKSPACE, WORKSPACE_FILTER
from kebab.people.models import AuditEvent


class _ActorFilter(TextFilter):
    title = "actor"
    parameter_name = "actor"

    def queryset(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> models.QuerySet[Any]:
        """Return the events of this actor."""
        return queryset.filter(actor=self.value()) if self.value() else queryset


class _ActionFilter(TextFilter):
    title = "action"
    parameter_name = "action_begins"

    def queryset(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> models.QuerySet[Any]:
        """Return the events whose action has this prefix: `member` for all actions on members."""
        return queryset.filter(action__startswith=self.value()) if self.value() else queryset


@admin.register(AuditEvent, site=site)
class AuditEventAdmin(ReadOnlyAdmin):
    """Audit events, newest first."""

    list_display = ("at", "actor", "action", "subject_shown", "in_workspace", "address")
    ordering = ("-at", "id")
    window_by = "at"
    scopes: ClassVar[Mapping[str, str]] = {IN_WORKSPACE: "workspace_id", "actor": "actor"}
    list_filter = (WORKSPACE_FILTER, _ActorFilter, _ActionFilter)
    fields = ("at", "actor", "action", "subject", "in_workspace", "address", "detail_shown")

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[AuditEvent]:
        """Join the workspace, which is missing for a deleted one."""
        return super().get_queryset(request).select_related("workspace")

    @admin.display(description="subject")
    def subject_shown(self, event: AuditEvent) -> str:
        """Return the subject, truncated."""
        return formatting.truncate(event.subject)

    @admin.display(description="workspace")
    def in_workspace(self, event: AuditEvent) -> Any:
        """Return a link to the workspace; its id if it is deleted."""
        gone = formatting.NONE if event.workspace_id is None else str(event.workspace_id)
        return gone if event.workspace is None else formatting.link(event.workspace)

    @admin.display(description="detail")
    def detail_shown(self, event: AuditEvent) -> Any:
        """Return the event's detail as JSON."""
        return formatting.as_json(event.detail)
