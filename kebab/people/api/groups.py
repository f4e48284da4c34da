"""`/workspaces/{ws}/groups`: groups that sources can be restricted to. For people only."""

import uuid
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import page_of
from kebab.http.api.serializers import StrictSerializer, strict_body
from kebab.http.api.views import KeysetPage, PageQuery, WorkspaceView
from kebab.identity.caller import ADMINS
from kebab.people.api.serializers import MemberSerializer
from kebab.people.groups import (
    add_to_group,
    create_group,
    delete_group,
    get_group,
    group_sizes,
    remove_from_group,
    rename_group,
)
from kebab.people.members import members_of


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
