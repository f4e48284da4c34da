"""Workspaces, members, groups, invitations, tokens and the audit log in the Django admin."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib import admin
from django.db import models
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter, FieldTextFilter, TextFilter

from kebab.admin.changelist import IN_WORKSPACE, WORKSPACE_FILTER, ReadOnlyAdmin, TenantAdmin
from kebab.admin.site import site
from kebab.identity.models import ApiToken, AuditEvent, Group, Invitation, Membership, Workspace


@admin.register(Workspace, site=site)
class WorkspaceAdmin(ReadOnlyAdmin):
    """Workspaces, by slug."""

    figures = ((_("Workspaces"), {}),)
    list_display = ("slug", "name", "head_seq", "created_at")
    details = ("id", "corpus_id", "settings", "quota")
    search_fields = ("slug__startswith", "id")
    search_help_text = "How a slug begins, or an id"


@admin.register(Membership, site=site)
class MembershipAdmin(ReadOnlyAdmin):
    """Memberships, newest users first, in the order of the index on (workspace, user)."""

    list_display = ("user__email", "workspace", "role", "created_at")
    list_select_related = ("workspace", "user")
    ordering = ("-user_id", "-id")
    window_by = "user_id"
    list_filter = (WORKSPACE_FILTER, ("role", ChoicesDropdownFilter))
    search_fields = ("user__email__startswith",)
    search_help_text = "How an address begins"


@admin.register(Group, site=site)
class GroupAdmin(TenantAdmin):
    """Groups, which sources can be restricted to."""

    list_display = ("name", "workspace", "created_at")
    details = ("id",)
    ordering = ("workspace_id", "name")


@admin.register(Invitation, site=site)
class InvitationAdmin(TenantAdmin):
    """Invitations, without the secrets of their links."""

    list_display = ("email", "workspace", "role", "invited_by", "created_at")
    details = ("expires_at", "accepted_at", "withdrawn_at")
    ordering = ("workspace_id", "-created_at")


@admin.register(ApiToken, site=site)
class ApiTokenAdmin(ReadOnlyAdmin):
    """Tokens, without anything of their secrets."""

    list_display = ("prefix", "workspace", "name", "scopes", "expires_at", "revoked_at", "last_used_at")
    details = ("filters", "created_by", "created_at")
    list_select_related = ("workspace", "created_by")
    ordering = ("prefix",)
    list_filter = (WORKSPACE_FILTER,)
    search_fields = ("prefix",)
    search_help_text = "kbb_ and twelve letters"

    def get_search_results(
        self, request: HttpRequest, queryset: models.QuerySet[Any], search_term: str
    ) -> tuple[models.QuerySet[Any], bool]:
        """Return the token with this prefix; the rest of the term, a secret, is ignored."""
        return super().get_search_results(request, queryset, search_term.strip().removeprefix("kbb_")[:12])


class _ActorFilter(TextFilter):
    title = "actor"
    parameter_name = "actor"

    def queryset(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> models.QuerySet[Any]:
        """Return the events of this actor."""
        return queryset.filter(actor=self.value()) if self.value() else queryset


@admin.register(AuditEvent, site=site)
class AuditEventAdmin(ReadOnlyAdmin):
    """Audit events, newest first; those of a deleted workspace have its id."""

    list_display = ("at", "actor", "action", "subject", "workspace", "address")
    details = ("workspace_id", "detail")
    list_select_related = ("workspace",)
    ordering = ("-at", "id")
    window_by = "at"
    scopes: ClassVar[Mapping[str, str]] = {IN_WORKSPACE: "workspace_id", "actor": "actor"}
    list_filter = (WORKSPACE_FILTER, _ActorFilter, ("action", FieldTextFilter))
