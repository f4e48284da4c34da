"""`/workspaces`: creation, listing, change and deletion of workspaces."""

from dataclasses import replace
from typing import ClassVar

from django.db import transaction
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.errors import Forbidden, Unprocessable
from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import page_of
from kebab.http.api.serializers import strict_body
from kebab.http.api.views import ApiView, KeysetPage, PageQuery, WorkspaceView
from kebab.identity.caller import (
    MANAGERS,
    Need,
    caller_access,
    caller_memberships,
    member_access,
    operator_access,
    token_access,
)
from kebab.identity.models import Role, User, Workspace
from kebab.people.api.serializers import NewWorkspace, WorkspaceChange, WorkspaceSerializer
from kebab.people.deletion import delete_workspace
from kebab.people.workspaces import change_workspace, create_workspace, set_quota
from kebab.tenancy.current_workspace import acting_everywhere


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
        """Create a workspace, which the caller owns. For people; operators may name another owner."""
        if self.caller.token is not None or self.caller.personal_token is not None:
            raise Forbidden("Only a person who has signed in may create a workspace, not a token.")
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
            superusers = User.objects.filter(is_superuser=True, is_active=True)[:2]
            return superusers[0] if len(superusers) == 1 else None
        user = User.objects.with_address(email).first()
        if user is None:
            raise Unprocessable(
                f"There is no user {email!r}; people come by invitation.", code="user_unknown"
            )
        return user


class OneWorkspaceView(WorkspaceView):
    """One workspace."""

    required: ClassVar = {
        "GET": Need(role=Role.VIEWER, scope="any"),
        "PATCH": MANAGERS,
        "DELETE": Need(role=Role.OWNER, scope=None),
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
