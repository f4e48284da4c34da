"""Workspaces, members, groups, invitations and tokens in the Django admin."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db import models
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter

from kebab.admin import formatting
from kebab.admin.actions import ActionAdmin, RowAction, admin_access, register_actions
from kebab.admin.changelist import FOUND, ReadOnlyAdmin
from kebab.admin.site import site
from kebab.admin.tenants import IN_WORKSPACE, WORKSPACE_FILTER, TenantAdmin, WorkspaceColumn
from kebab.http.api.errors import InvalidRequest
from kebab.people.access.caller import Caller
from kebab.people.admin.access_report import AccessReportAdmin
from kebab.people.invitations.lifecycle import withdraw_invitation
from kebab.people.members import remove_member
from kebab.people.models import (
    ApiToken,
    Group,
    GroupMember,
    Invitation,
    Membership,
    TokenGroup,
    User,
    Workspace,
)
from kebab.people.token_lifecycle import revoke_token
from kebab.people.tokens import with_token_groups
from kebab.people.workspaces import change_workspace, check_slug


class _WorkspaceForm(forms.ModelForm):  # type: ignore[type-arg]  # the class itself is not generic
    def clean_slug(self) -> str:
        try:
            return check_slug(self.cleaned_data["slug"])
        except InvalidRequest as error:
            raise ValidationError(error.detail) from error


@admin.register(Workspace, site=site)
class WorkspaceAdmin(ActionAdmin):
    """Workspaces. `kebab workspace delete` deletes one, because files go with it."""

    form = _WorkspaceForm
    figures = ((_("Workspaces"), {}),)
    list_display = ("slug", "name", "head_seq", "created_at")
    ordering = ("slug",)
    search_fields = ("slug",)
    search_help_text = "How a slug begins, or an id"
    fields = ("slug", "name", "id", "corpus_id", "head_seq", "members_shown", "settings_shown", "created_at")
    readonly_fields = ("id", "corpus_id", "head_seq", "members_shown", "settings_shown", "created_at")

    @admin.display(description="members")
    def members_shown(self, workspace: Workspace) -> Any:
        """Return a table of the first members."""
        memberships = Membership.objects.filter(workspace=workspace).select_related("user").order_by("user")
        cells = [
            (formatting.link(each, each.user.email), each.role)
            for each in memberships[: formatting.MOST_ROWS]
        ]
        return formatting.rows(cells, "Member", "Role")

    @admin.display(description="settings")
    def settings_shown(self, workspace: Workspace) -> Any:
        """Return the settings as JSON."""
        return formatting.as_json(workspace.settings)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False: a workspace needs an owner, which `kebab workspace create` sets."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False: rows and files of search and ingest would remain."""
        return False

    def save_model(self, request: HttpRequest, obj: Workspace, form: Any, change: bool) -> None:
        """Rename it by the same function as every interface."""
        change_workspace(admin_access(request, obj), slug=obj.slug, name=obj.name)

    def find(self, request: HttpRequest, term: str) -> models.QuerySet[Workspace]:
        """Return the workspaces with this id, or whose slug starts with `term`."""
        workspaces = Workspace.objects.filter(slug__startswith=term.lower())
        return workspaces | Workspace.objects.by_slug_or_id(term)


@admin.register(Membership, site=site)
class MembershipAdmin(WorkspaceColumn, AccessReportAdmin, ReadOnlyAdmin):
    """Memberships, newest users first, in the order of the index on (workspace, user)."""

    list_display = ("__str__", "person", "in_workspace", "role", "created_at", "access_link")
    list_select_related = ("workspace", "user")
    ordering = ("-user_id", "-id")
    window_by = "user_id"
    scopes: ClassVar[Mapping[str, str]] = {IN_WORKSPACE: "workspace_id"}
    list_filter = (WORKSPACE_FILTER, ("role", ChoicesDropdownFilter))
    search_fields = ("user__email",)
    search_help_text = "How an address begins, a workspace's slug, or both"
    fields = ("person", "in_workspace", "role", "groups_shown", "created_at")

    def caller_in(self, request: HttpRequest, row: Membership) -> tuple[Caller, Workspace | None]:
        """Return the user, in this workspace."""
        return Caller(user=row.user), row.workspace

    def find(self, request: HttpRequest, term: str) -> models.QuerySet[Membership]:
        """Return the memberships that match each word: by the start of the address or the
        workspace's slug.
        """
        found = Membership.objects.all()
        for word in term.lower().split():
            people = list(User.objects.filter(email__startswith=word).values_list("pk", flat=True)[:FOUND])
            workspaces = list(Workspace.objects.filter(slug=word).values_list("pk", flat=True))
            found = found.filter(models.Q(user__in=people) | models.Q(workspace__in=workspaces))
        return found

    @admin.display(description="person")
    def person(self, membership: Membership) -> Any:
        """Return a link to the user."""
        return formatting.link(membership.user, membership.user.email)

    @admin.display(description="groups")
    def groups_shown(self, membership: Membership) -> Any:
        """Return a table of the member's groups."""
        return formatting.groups(
            GroupMember.objects.filter(workspace=membership.workspace_id, membership=membership)
        )


@admin.register(Group, site=site)
class GroupAdmin(TenantAdmin):
    """Groups, which sources can be restricted to."""

    list_display = ("name", "in_workspace", "created_at")
    ordering = ("workspace_id", "name")
    fields = ("name", "in_workspace", "id", "members_shown", "tokens_shown", "created_at")

    @admin.display(description="members")
    def members_shown(self, group: Group) -> Any:
        """Return a table of the first members."""
        rows = (
            GroupMember.objects.filter(workspace=group.workspace_id, group=group)
            .select_related("membership__user")
            .order_by("pk")
        )
        cells = [
            (formatting.link(row.membership, row.membership.user.email),)
            for row in rows[: formatting.MOST_ROWS]
        ]
        return formatting.rows(cells, "Member")

    @admin.display(description="tokens")
    def tokens_shown(self, group: Group) -> Any:
        """Return a table of the first tokens."""
        rows = (
            TokenGroup.objects.filter(workspace=group.workspace_id, group=group)
            .select_related("token")
            .order_by("pk")
        )
        return formatting.rows(
            [(formatting.link(row.token),) for row in rows[: formatting.MOST_ROWS]], "Token"
        )


@admin.register(Invitation, site=site)
class InvitationAdmin(TenantAdmin):
    """Invitations, without the secrets of their links."""

    list_display = (
        "email",
        "in_workspace",
        "role",
        "invited_by",
        "created_at",
        "expires_at",
        "accepted_at",
        "withdrawn_at",
    )
    ordering = ("workspace_id", "-created_at")
    fields = list_display


@admin.register(ApiToken, site=site)
class ApiTokenAdmin(WorkspaceColumn, AccessReportAdmin, ReadOnlyAdmin):
    """Tokens, without anything of their secrets."""

    list_display = (
        "prefix",
        "in_workspace",
        "name",
        "scopes",
        "expires_at",
        "revoked_at",
        "last_used_at",
        "access_link",
    )
    list_select_related = ("workspace",)
    ordering = ("prefix",)
    list_filter = (WORKSPACE_FILTER,)
    search_fields = ("prefix",)
    search_help_text = "kbb_ and twelve letters"
    fields = (
        "prefix",
        "in_workspace",
        "name",
        "scopes",
        "groups_shown",
        "maker",
        "created_at",
        "expires_at",
        "revoked_at",
        "last_used_at",
    )

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[ApiToken]:
        """Return tokens with what the access report needs."""
        return with_token_groups(super().get_queryset(request).select_related("workspace"))

    def caller_in(self, request: HttpRequest, row: ApiToken) -> tuple[Caller, Workspace | None]:
        """Return the token, in its workspace."""
        return Caller(token=row), row.workspace

    @admin.display(description=_("created by"))
    def maker(self, token: ApiToken) -> Any:
        """Return a link to the user who created the token."""
        return formatting.link(token.created_by)

    @admin.display(description="groups")
    def groups_shown(self, token: ApiToken) -> Any:
        """Return a table of the token's groups."""
        return formatting.groups(TokenGroup.objects.filter(workspace=token.workspace_id, token=token))

    def find(self, request: HttpRequest, term: str) -> models.QuerySet[ApiToken]:
        """Return the token with this prefix; the rest of `term`, a secret, is ignored."""
        return ApiToken.objects.filter(prefix=term.removeprefix("kbb_")[:12])


def _revoke(request: HttpRequest, token: ApiToken) -> str:
    was_good = revoke_token(admin_access(request, token.workspace), token)
    return f"{token} is revoked." if was_good else f"{token} was revoked before."


def _withdraw(request: HttpRequest, invitation: Invitation) -> str:
    withdraw_invitation(admin_access(request, invitation.workspace), invitation.pk)
    return f"The invitation of {invitation.email} was withdrawn."


def _remove(request: HttpRequest, membership: Membership) -> str:
    remove_member(admin_access(request, membership.workspace), membership.user_id)
    return f"{membership.user.email} was removed from {membership.workspace}."


register_actions(
    ApiToken,
    RowAction(
        name="revoke",
        label=_("Revoke"),
        icon="block",
        question=_("Revoke this token for good?"),
        perform=_revoke,
        is_destructive=True,
        fits=lambda token: token.revoked_at is None,
    ),
)
register_actions(
    Invitation,
    RowAction(
        name="withdraw",
        label=_("Withdraw"),
        icon="block",
        question=_("Withdraw this invitation? Its link stops working."),
        perform=_withdraw,
        is_destructive=True,
        fits=lambda invitation: invitation.accepted_at is None and invitation.withdrawn_at is None,
    ),
)
register_actions(
    Membership,
    RowAction(
        name="remove",
        label=_("Remove"),
        icon="person_remove",
        question=_("Remove this person from the workspace?"),
        perform=_remove,
        permission="delete",
        is_destructive=True,
    ),
)
