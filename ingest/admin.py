"""Jobs and unreadable files in the Django admin."""

from typing import Any, ClassVar

from django.contrib import admin
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter

from ingest.models import Job, Unreadable
from kebab.admin.changelist import WORKSPACE_FILTER, TenantAdmin
from kebab.admin.site import site


@admin.register(Job, site=site)
class JobAdmin(TenantAdmin):
    """Jobs, newest first."""

    list_display = (
        "kind",
        "state",
        "workspace",
        "source",
        "items_done",
        "items_total",
        "error",
        "requested_by",
        "created_at",
    )
    details = (
        "id",
        "current_path",
        "counts",
        "bytes_done",
        "chunks_done",
        "calls",
        "seq",
        "started_at",
        "finished_at",
        "attempt",
        "stalled_attempts",
        "due_at",
        "lease_until",
        "cancel_requested",
        "payload",
    )
    list_select_related = ("workspace", "source")
    ordering = ("-created_at", "id")
    window_by = "created_at"
    figures = (
        (_("Running jobs"), {"state__exact": "running"}),
        (_("Waiting jobs"), {"state__exact": "queued"}),
        (_("Failed jobs"), {"state__exact": "failed"}),
    )
    list_filter: ClassVar[Any] = (
        WORKSPACE_FILTER,
        ("state", ChoicesDropdownFilter),
        ("kind", ChoicesDropdownFilter),
    )
    search_fields = ("id",)
    search_help_text = "The id of a job"


@admin.register(Unreadable, site=site)
class UnreadableAdmin(TenantAdmin):
    """Refused and quarantined files, the latest first."""

    list_display = ("path", "workspace", "version__source", "state", "reason", "detail", "size_bytes", "at")
    details = ("content_hash", "parser_version")
    list_select_related = ("workspace", "version__source")
    ordering = ("-at", "id")
    window_by = "at"
    figures = ((_("Unreadable files"), {}),)
