"""`/workspaces/{ws}/members`: members and their roles. For people only."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.errors import Unprocessable
from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import page_of
from kebab.http.api.serializers import strict_body
from kebab.http.api.views import KeysetPage, PageQuery, WorkspaceView
from kebab.identity.caller import ADMINS, Need
from kebab.identity.models import Role
from kebab.people.api.serializers import MemberChange, MemberSerializer, NewMember
from kebab.people.invitations.lifecycle import check_guesses, count_guess
from kebab.people.members import add_member, change_role, members_of, remove_member


class MembersView(WorkspaceView):
    """The members of a workspace."""

    required: ClassVar = {"GET": ADMINS, "POST": ADMINS}
    queries: ClassVar = {"GET": PageQuery}

    @extend_schema(responses=page_of(MemberSerializer))
    def get(self, request: Request, ws: str) -> Response:
        """List the members, oldest membership first."""
        page = KeysetPage.from_view(self, ordering=("id",))
        return page.response(members_of(self.workspace), lambda row: MemberSerializer(row).data)

    @extend_schema(request=NewMember, responses={201: MemberSerializer})
    @idempotent(recheck=None)
    def post(self, request: Request, ws: str) -> Response:
        """Add a user, who must exist, as a member. Nobody gives a role above their own."""
        fields = strict_body(request, NewMember)
        check_guesses(self.access)
        try:
            membership = add_member(self.access, fields["email"], Role(fields["role"]))
        except Unprocessable:  # nobody has that address
            count_guess(self.access)
            raise
        return Response(MemberSerializer(membership).data, status=201)


class OneMemberView(WorkspaceView):
    """One member of a workspace."""

    required: ClassVar = {"PATCH": ADMINS, "DELETE": Need(role=Role.VIEWER, scope=None)}

    @extend_schema(request=MemberChange, responses=MemberSerializer)
    def patch(self, request: Request, ws: str, user_id: int) -> Response:
        """Change a member's role. The last owner remains an owner."""
        fields = strict_body(request, MemberChange)
        return Response(MemberSerializer(change_role(self.access, user_id, Role(fields["role"]))).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, ws: str, user_id: int) -> Response:
        """Remove a member, also from all groups; anyone may leave. The last owner can't."""
        remove_member(self.access, user_id)
        return Response(status=204)
