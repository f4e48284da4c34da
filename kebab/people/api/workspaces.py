"""`/workspaces`: creation, listing, change and deletion of workspaces, and their audit log."""

from dataclasses import asdict, replace
from itertools import islice
from typing import Any, ClassVar

from django.db import transaction
from django.urls import reverse
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.errors import Forbidden, Unprocessable
from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import page_of
from kebab.http.api.serializers import StrictSerializer, strict_body
from kebab.http.api.views import ApiView, KeysetPage, PageQuery, WorkspaceView
from kebab.identity.caller import (
    ADMINS,
    MANAGERS,
    OWNERS,
    Access,
    Caller,
    Need,
    caller_access,
    caller_memberships,
    member_access,
    operator_access,
    token_access,
)
from kebab.identity.models import AuditEvent, Role, TokenScope, User, Workspace
from kebab.people.audit import events_of
from kebab.people.operator import first_operator
from kebab.people.workspace_settings.registry import clean_preferences, preferences
from kebab.people.workspaces import (
    MAX_NAME_CHARS,
    change_workspace,
    create_workspace,
    delete_workspace,
    quota_of,
    set_quota,
)
from kebab.tenancy.current_workspace import acting_everywhere

_MAX_SHOWN = 20


class PreferencesField(serializers.DictField):
    """Settings of a workspace by name; null restores the default."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """Return the validated settings. Raises ValidationError, which names the known settings."""
        clean, wrong = clean_preferences(super().to_internal_value(data))
        if wrong:
            # An answer shows no more; sixty thousand took 1.6 s and 70 MB.
            raise serializers.ValidationError(dict(islice(wrong.items(), _MAX_SHOWN)))
        return clean


class QuotaField(serializers.DictField):
    """Limits of a workspace by name; 0 means no limit."""

    child = serializers.IntegerField(min_value=0, allow_null=True)


class NewWorkspace(StrictSerializer):
    """The body that creates a workspace. `create_workspace` checks whether the slug is free."""

    slug = serializers.CharField(max_length=63)
    name = serializers.CharField(max_length=MAX_NAME_CHARS, required=False)
    settings = PreferencesField(required=False)
    owner = serializers.EmailField(
        required=False,
        help_text="For operators: the user who owns it; without it the oldest operator's account.",
    )


class WorkspaceChange(StrictSerializer):
    """The body that changes a workspace; fields that are left out stay."""

    slug = serializers.CharField(max_length=63, required=False)
    name = serializers.CharField(max_length=MAX_NAME_CHARS, required=False)
    settings = PreferencesField(required=False)
    quota = QuotaField(
        required=False, help_text="For operators: limits to change; null restores the default."
    )
    force = serializers.BooleanField(
        default=False,
        help_text="Whether settings are changed even where golden queries get worse; the audit log has it.",
    )


class WorkspaceSerializer(serializers.Serializer[Access]):
    """A workspace as the caller may see it."""

    id = serializers.UUIDField(source="workspace.id")
    slug = serializers.CharField(source="workspace.slug")
    name = serializers.CharField(source="workspace.name")
    role = serializers.ChoiceField(Role.choices, allow_null=True, help_text="The caller's; null for a token.")
    seq = serializers.IntegerField(source="workspace.head_seq", help_text="The number of the latest change.")
    settings = serializers.SerializerMethodField(help_text="As in force, defaults included.")
    quota = serializers.SerializerMethodField(help_text="The limits in force; 0: no limit.")
    created_at = serializers.DateTimeField(source="workspace.created_at")

    @extend_schema_field(QuotaField)
    def get_quota(self, access: Access) -> dict[str, int]:
        """Return the limits in force."""
        return asdict(quota_of(access.workspace))

    def get_settings(self, access: Access) -> dict[str, Any]:
        """Return the settings in force."""
        return preferences(access.workspace)


class WorkspacesView(ApiView):
    """The caller's workspaces."""

    queries: ClassVar = {"GET": PageQuery}

    @extend_schema(responses=page_of(WorkspaceSerializer))
    def get(self, request: Request) -> Response:
        """List the caller's workspaces by slug; a token has only its own."""
        page = KeysetPage.from_view(self, ordering=("workspace__slug",))
        if self.caller.token is not None:
            access = token_access(self.caller, self.caller.token)
            Need(role=Role.VIEWER, scope="any").check(access)
            return Response({"results": [WorkspaceSerializer(access).data], "next_cursor": None})
        if self.caller.operator is not None:
            return self._all(self.caller.operator)
        with acting_everywhere():
            return page.response(
                caller_memberships(self.caller),
                lambda row: WorkspaceSerializer(member_access(self.caller, row)).data,
            )

    def _all(self, operator: str) -> Response:
        """Return the workspaces of this server, which an operator owns."""
        page = KeysetPage.from_view(self, ordering=("slug",))
        with acting_everywhere():
            return page.response(
                Workspace.objects.all(), lambda row: WorkspaceSerializer(operator_access(row, operator)).data
            )

    @extend_schema(request=NewWorkspace, responses={201: WorkspaceSerializer})
    @idempotent(recheck=None)
    def post(self, request: Request) -> Response:
        """Create a workspace, which the caller owns; operators may name another owner.

        A token needs the scope `administer` in all workspaces of a person who owns one.
        """
        _check_creator(self.caller)
        fields = strict_body(request, NewWorkspace)
        with acting_everywhere(), transaction.atomic():
            owner = self._owner(fields.pop("owner", None))
            workspace = create_workspace(self.caller, **fields, owner=owner)
            access = caller_access(self.caller, workspace.slug)
        location = reverse("api-workspace", kwargs={"ws": workspace.slug})
        return Response(WorkspaceSerializer(access).data, status=201, headers={"Location": location})

    def _owner(self, email: str | None) -> User | None:
        """Return who owns a new workspace. Raises Forbidden, Unprocessable for an address that nobody has."""
        if self.caller.operator is None:
            if email is not None:
                raise Forbidden("Only an operator may name the owner; leave owner out.")
            return self.caller.user
        if email is None:
            return first_operator()
        user = User.objects.with_address(email).first()
        if user is None:
            raise Unprocessable(
                f"There is no user {email!r}; people come by invitation.", code="user_unknown"
            )
        return user


def _check_creator(caller: Caller) -> None:
    """Raise Forbidden for a token that isn't that of an owner, to administer all of their workspaces."""
    tool = caller.personal_token
    if caller.token is None and tool is None:
        return
    if tool is not None and tool.workspace_ids is None and TokenScope.ADMINISTER in tool.scopes:
        with acting_everywhere():
            if caller_memberships(caller).filter(role=Role.OWNER).exists():
                return
    raise Forbidden(
        "This takes a person, or an owner's personal token with the scope administer in all workspaces."
    )


class OneWorkspaceView(WorkspaceView):
    """One workspace."""

    required: ClassVar = {
        "GET": Need(role=Role.VIEWER, scope="any"),
        "PATCH": MANAGERS,
        "DELETE": OWNERS,
    }

    @extend_schema(responses=WorkspaceSerializer)
    def get(self, request: Request, ws: str) -> Response:
        """Return the workspace."""
        return Response(WorkspaceSerializer(self.access).data)

    @extend_schema(request=WorkspaceChange, responses=WorkspaceSerializer)
    def patch(self, request: Request, ws: str) -> Response:
        """Change name, slug, settings or limits; those that are left out stay, null restores the default.

        409 `quality_gate` if ranking settings make the golden queries worse, 409 `quality_gate_untested` for
        settings of indexing if there are golden queries, unless `force` is set.
        """
        fields = strict_body(request, WorkspaceChange)
        quota = fields.pop("quota", None)
        if quota is not None:
            if self.access.caller.operator is None:
                raise Forbidden("Only an operator may change the limits of a workspace; leave quota out.")
            set_quota(self.access, quota)
        changed = replace(self.access, workspace=change_workspace(self.access, **fields))
        return Response(WorkspaceSerializer(changed).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, ws: str) -> Response:
        """Delete the workspace with everything in it. For owners only."""
        delete_workspace(self.access)
        return Response(status=204)


class AuditQuery(PageQuery):
    """Filters of the audit log; a missing one matches all events."""

    action = serializers.CharField(
        max_length=64, required=False, help_text="`member.added`, or `member.` for all that begins so."
    )
    actor = serializers.CharField(
        max_length=320, required=False, help_text="An address, or a token's `kbb_` and prefix."
    )
    since = serializers.DateTimeField(required=False, help_text="The earliest time.")
    until = serializers.DateTimeField(required=False, help_text="The first time that is too late.")


class AuditEventSerializer(serializers.Serializer[AuditEvent]):
    """One event of the audit log."""

    id = serializers.UUIDField()
    at = serializers.DateTimeField()
    actor = serializers.CharField(
        help_text="An address, `kbb_` and a token's prefix, or `operator:` and a name."
    )
    action = serializers.CharField()
    subject = serializers.CharField()
    detail = serializers.DictField(child=serializers.JSONField(allow_null=True))
    address = serializers.CharField(allow_null=True, help_text="Where the request came from.")


class AuditView(WorkspaceView):
    """The audit log of a workspace."""

    required: ClassVar = {"GET": ADMINS}
    queries: ClassVar = {"GET": AuditQuery}

    @extend_schema(responses=page_of(AuditEventSerializer))
    def get(self, request: Request, ws: str) -> Response:
        """List the events of the audit log, newest first."""
        page = KeysetPage.from_view(self, ordering=("-at", "id"))
        filters: dict[str, Any] = {
            name: self.query.get(name) for name in ("action", "actor", "since", "until")
        }
        return page.response(events_of(self.workspace, **filters), lambda row: AuditEventSerializer(row).data)
