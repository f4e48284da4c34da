"""The Django admin: what operators see and do. What has rules of its own is only shown here."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import BaseUserCreationForm
from django.db import models
from django.http import HttpRequest

from kebab.people.models import ApiToken, AuditEvent, Membership, User, Workspace


class _ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]
    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class _NewPerson(BaseUserCreationForm):  # type: ignore[type-arg]
    class Meta:
        model = User
        fields = ("email",)

    def clean_email(self) -> str:
        return str(self.cleaned_data["email"]).lower()


@admin.register(User)
class PersonAdmin(UserAdmin):  # type: ignore[type-arg]
    """People, who sign in with their address."""

    add_form = _NewPerson
    ordering = ("email",)
    list_display = ("email", "display_name", "is_active", "is_staff", "last_login")
    search_fields = ("email", "display_name")
    list_filter = ("is_active", "is_staff", "is_superuser")
    fieldsets = (
        (None, {"fields": ("email", "password")}),
        ("Person", {"fields": ("display_name",)}),
        ("Rights", {"fields": ("is_active", "is_staff", "is_superuser", "groups", "user_permissions")}),
        ("Dates", {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = ((None, {"classes": ("wide",), "fields": ("email", "password1", "password2")}),)
    readonly_fields = ("last_login", "date_joined")


class _Members(admin.TabularInline):  # type: ignore[type-arg]
    model = Membership
    extra = 0
    autocomplete_fields = ("user",)


@admin.register(Workspace)
class WorkspaceAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Workspaces and their members. `kebab workspace delete` deletes one, because files go with it."""

    list_display = ("slug", "name", "members", "head_seq", "created_at")
    search_fields = ("slug", "name")
    fields = ("slug", "name", "id", "corpus_id", "head_seq", "settings", "created_at")
    readonly_fields = ("id", "corpus_id", "head_seq", "settings", "created_at")
    inlines = (_Members,)

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Workspace]:
        """Count the members in the same query."""
        return super().get_queryset(request).annotate(member_count=models.Count("memberships"))

    @admin.display(ordering="member_count")
    def members(self, workspace: Any) -> int:
        """How many members it has."""
        return int(workspace.member_count)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody: the rows of search and ingest and their files would stay."""
        return False


@admin.register(ApiToken)
class ApiTokenAdmin(_ReadOnly):
    """Tokens, without anything of their secrets."""

    list_display = ("prefix", "workspace", "name", "scopes", "expires_at", "revoked_at", "last_used_at")
    list_select_related = ("workspace",)
    list_filter = ("revoked_at",)
    search_fields = ("prefix", "name", "workspace__slug")
    exclude = ("secret_sha256",)


@admin.register(AuditEvent)
class AuditEventAdmin(_ReadOnly):
    """What was done, newest first."""

    list_display = ("at", "actor", "action", "subject", "workspace")
    list_select_related = ("workspace",)
    list_filter = ("action",)
    search_fields = ("actor", "subject", "workspace__slug")
    date_hierarchy = "at"
