"""`/workspaces/{ws}` members, groups, invitations and access: who may do what."""

import uuid
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.errors import Unprocessable
from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import page_of, wire_component
from kebab.http.api.serializers import HexIdField, ShortListField, StrictSerializer, strict_body
from kebab.http.api.views import KeysetPage, PageQuery, WorkspaceView
from kebab.http.site_address import site_address
from kebab.identity.caller import ADMINS, MEMBERS
from kebab.identity.models import Invitation, Role
from kebab.identity.models.invitation import InvitationState
from kebab.people.access_report import explain_access, find_caller
from kebab.people.groups import (
    MAX_GROUPS,
    add_to_group,
    create_group,
    delete_group,
    get_group,
    group_sizes,
    remove_from_group,
    rename_group,
)
from kebab.people.invitations import check_guesses, count_guess, invite_by_mail, withdraw_invitation
from kebab.people.members import add_member, change_role, members_of, remove_member
from kebab.wire import to_document


class GroupIdsField(ShortListField):
    """Ids of groups of the workspace, without duplicates. The domain checks that they exist."""

    def __init__(self, **options: Any) -> None:
        super().__init__(child=serializers.UUIDField(), max_length=MAX_GROUPS, **options)


class NewMember(StrictSerializer):
    """The body that adds a member."""

    email = serializers.EmailField()
    role = serializers.ChoiceField(Role.choices)


class MemberChange(StrictSerializer):
    """The body that changes a member's role."""

    role = serializers.ChoiceField(Role.choices)


class MemberSerializer(serializers.Serializer[Any]):
    """A member."""

    user_id = serializers.IntegerField()
    email = serializers.EmailField(source="user.email")
    display_name = serializers.CharField(source="user.display_name")
    is_active = serializers.BooleanField(
        source="user.is_active", help_text="False: an operator has deactivated the person, who can't sign in."
    )
    role = serializers.ChoiceField(Role.choices)
    groups = serializers.ListField(child=serializers.UUIDField(), source="group_ids")
    created_at = serializers.DateTimeField()


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

    required: ClassVar = {"PATCH": ADMINS, "DELETE": MEMBERS}

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


class GroupName(StrictSerializer):
    """The body that creates or renames a group."""

    name = serializers.CharField(
        max_length=500, help_text="1 to 100 characters, spaces counted once; no two groups have the same."
    )


class GroupSerializer(serializers.Serializer[Any]):
    """A group."""

    id = serializers.UUIDField(source="group.id")
    name = serializers.CharField(source="group.name")
    member_count = serializers.IntegerField()
    token_count = serializers.IntegerField()
    source_count = serializers.IntegerField(help_text="How many sources are restricted to it.")
    created_at = serializers.DateTimeField(source="group.created_at")


class GroupWithMembersSerializer(GroupSerializer):
    """A group with a page of its members."""

    members = MemberSerializer(many=True)
    next_cursor = serializers.CharField(allow_null=True, help_text="Of the next page of members.")


class GroupsView(WorkspaceView):
    """The groups of a workspace."""

    required: ClassVar = {"GET": ADMINS, "POST": ADMINS}
    queries: ClassVar = {"GET": PageQuery}

    @extend_schema(responses=page_of(GroupSerializer))
    def get(self, request: Request, ws: str) -> Response:
        """List the groups by name."""
        rows, next_cursor = KeysetPage.from_view(self, ordering=("name",)).fetch(self.workspace.groups.all())
        found = GroupSerializer(group_sizes(self.workspace, rows), many=True).data
        return Response({"results": found, "next_cursor": next_cursor})

    @extend_schema(request=GroupName, responses={201: GroupSerializer})
    @idempotent(recheck=None)
    def post(self, request: Request, ws: str) -> Response:
        """Create a group."""
        group = create_group(self.access, strict_body(request, GroupName)["name"])
        return Response(_serialize_group(self, group), status=201)


class OneGroupView(WorkspaceView):
    """One group of a workspace."""

    required: ClassVar = {"GET": ADMINS, "PATCH": ADMINS, "DELETE": ADMINS}
    queries: ClassVar = {"GET": PageQuery}

    @extend_schema(responses=GroupWithMembersSerializer)
    def get(self, request: Request, ws: str, group_id: uuid.UUID) -> Response:
        """Return the group with its members, oldest membership first."""
        group = get_group(self.workspace, group_id)
        page = KeysetPage.from_view(self, ordering=("id",))
        rows, next_cursor = page.fetch(members_of(self.workspace).filter(groups__group=group))
        members = MemberSerializer(rows, many=True).data
        return Response({**_serialize_group(self, group), "members": members, "next_cursor": next_cursor})

    @extend_schema(request=GroupName, responses=GroupSerializer)
    def patch(self, request: Request, ws: str, group_id: uuid.UUID) -> Response:
        """Rename the group."""
        fields = strict_body(request, GroupName)
        return Response(_serialize_group(self, rename_group(self.access, group_id, fields["name"])))

    @extend_schema(responses={200: GroupSerializer})
    def delete(self, request: Request, ws: str, group_id: uuid.UUID) -> Response:
        """Delete the group; the answer holds its last counts.

        A source that was restricted to it alone stays restricted: only owners and admins can read it.
        """
        return Response(GroupSerializer(delete_group(self.access, group_id)).data)


class GroupMemberView(WorkspaceView):
    """The membership of a member in a group."""

    required: ClassVar = {"PUT": ADMINS, "DELETE": ADMINS}
    with_body: ClassVar = ()

    @extend_schema(request=None, responses={204: None})
    def put(self, request: Request, ws: str, group_id: uuid.UUID, user_id: int) -> Response:
        """Add a member to the group; one who is in it stays."""
        add_to_group(self.access, group_id, user_id)
        return Response(status=204)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, ws: str, group_id: uuid.UUID, user_id: int) -> Response:
        """Remove a member from the group."""
        remove_from_group(self.access, group_id, user_id)
        return Response(status=204)


def _serialize_group(view: WorkspaceView, group: Any) -> dict[str, Any]:
    return dict(GroupSerializer(group_sizes(view.workspace, [group])[0]).data)


class NewInvitation(StrictSerializer):
    """The body that invites somebody."""

    email = serializers.EmailField()
    role = serializers.ChoiceField(Role.choices, help_text="Nobody gives one above their own.")
    groups = GroupIdsField(required=False, default=list)


class InvitationSerializer(serializers.Serializer[Invitation]):
    """An invitation without its link."""

    id = serializers.UUIDField()
    email = serializers.EmailField()
    role = serializers.ChoiceField(Role.choices)
    groups = serializers.ListField(child=serializers.UUIDField(), source="group_ids")
    invited_by = serializers.CharField()
    state = serializers.ChoiceField(
        InvitationState.choices, help_text="`void`: who made it may give that role no more."
    )
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()


class InvitationWithLinkSerializer(InvitationSerializer):
    """A new invitation."""

    link = serializers.CharField(
        allow_null=True,
        help_text="Where it is accepted, for an operator to pass on while mails don't leave the server. Null"
        " for all others, so that who opens it has shown the address to be theirs, and in an answer repeated"
        " by Idempotency-Key.",
    )
    is_mailed = serializers.BooleanField(help_text="Whether a mail server has taken the mail.")


class InvitationsView(WorkspaceView):
    """The invitations to a workspace."""

    required: ClassVar = {"GET": ADMINS, "POST": ADMINS}
    queries: ClassVar = {"GET": PageQuery}

    @extend_schema(responses=page_of(InvitationSerializer))
    def get(self, request: Request, ws: str) -> Response:
        """List the invitations, newest first, past ones too."""
        page = KeysetPage.from_view(self, ordering=("-created_at", "id"))
        return page.response(
            self.workspace.invitations.with_is_backed(), lambda row: InvitationSerializer(row).data
        )

    @extend_schema(request=NewInvitation, responses={201: InvitationWithLinkSerializer})
    @idempotent(recheck=None, withhold=("link",))
    def post(self, request: Request, ws: str) -> Response:
        """Invite somebody by mail. An earlier invitation to the address is withdrawn.

        The link works once and for a week, for the invited address only.
        """
        fields = strict_body(request, NewInvitation)
        invitation = {"email": fields["email"], "role": Role(fields["role"]), "groups": fields["groups"]}
        sent = invite_by_mail(self.access, site_address(request), **invitation)
        answer: dict[str, Any] = {
            **InvitationSerializer(sent.invitation).data,
            "link": sent.link,
            "is_mailed": sent.is_mailed,
        }
        return Response(answer, status=201, headers={"Cache-Control": "no-store"})


class OneInvitationView(WorkspaceView):
    """One invitation to a workspace."""

    required: ClassVar = {"DELETE": ADMINS}

    @extend_schema(responses={204: None})
    def delete(self, request: Request, ws: str, invitation_id: uuid.UUID) -> Response:
        """Withdraw the invitation: its link no longer works."""
        withdraw_invitation(self.access, invitation_id)
        return Response(status=204)


class AccessQuery(StrictSerializer):
    """The caller and the item that a report covers."""

    user = serializers.IntegerField(min_value=1, required=False, help_text="A member, by `user_id`.")
    token = serializers.UUIDField(required=False, help_text="A token of this workspace, by its id.")
    document = HexIdField(required=False, help_text="Tell of this document alone.")
    source = serializers.CharField(  # type: ignore[assignment]  # a declared field, not the base's attribute
        max_length=63, required=False, help_text="Tell of this source, by key or id."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check that exactly one of user and token is given. Raises ValidationError."""
        if ("user" in attrs) == ("token" in attrs):
            raise serializers.ValidationError("Give user or token, one of them.")
        return attrs


class AccessView(WorkspaceView):
    """The access report."""

    required: ClassVar = {"GET": ADMINS}
    queries: ClassVar = {"GET": AccessQuery}

    @extend_schema(responses={200: wire_component("access_report.v1")})
    def get(self, request: Request, ws: str) -> Response:
        """Return the rights of a member or a token in this workspace, with the rules that decide them."""
        target = {name: self.query.get(name) for name in ("document", "source")}
        caller = find_caller(self.workspace, user_id=self.query.get("user"), token_id=self.query.get("token"))
        report = explain_access(self.workspace, caller, **target)
        return Response(to_document("access_report.v1", report))
