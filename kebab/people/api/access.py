"""`/workspaces/{ws}/access`: the access report. For people only."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.http.api.fields import HexIdField
from kebab.http.api.permissions import ADMINS
from kebab.http.api.serializers import StrictSerializer
from kebab.http.api.views import WorkspaceView
from kebab.people.access.report import AccessReport, explain_access, find_caller
from kebab.people.models import Group, Role, TokenScope


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


class NamedGroupSerializer(serializers.Serializer[Group]):
    """A group's id and name."""

    id = serializers.UUIDField()
    name = serializers.CharField()


class PermissionSerializer(serializers.Serializer[Any]):
    """One right, and whether the caller has it."""

    name = serializers.CharField()
    means = serializers.CharField()
    is_allowed = serializers.BooleanField()
    why = serializers.CharField()
    operations = serializers.ListField(
        child=serializers.CharField(), help_text="Methods and addresses below `/workspaces/{ws}`."
    )


class ThingSerializer(serializers.Serializer[Any]):
    """The visibility of a source or a document to the caller."""

    kind = serializers.CharField()
    id = serializers.CharField()
    name = serializers.CharField(help_text="A source's key, a document's path.")
    is_visible = serializers.BooleanField(
        help_text="Whether it exists for them: in lists, by its id, in jobs."
    )
    is_searchable = serializers.BooleanField(help_text="Whether its text is found and read.")
    why = serializers.CharField()


class AccessReportSerializer(serializers.Serializer[AccessReport]):
    """The rights of a member or a token in a workspace, with reasons."""

    schema_version = serializers.CharField(default="access_report.v1", read_only=True)
    workspace = serializers.CharField(source="workspace.slug")
    subject = serializers.CharField(help_text="An address, or `kbb_` and a token's prefix.")
    role = serializers.ChoiceField(Role.choices, allow_null=True)
    scopes = serializers.ListField(child=serializers.ChoiceField(TokenScope.choices))
    groups = NamedGroupSerializer(many=True)
    reads_all = serializers.BooleanField(help_text="Whether restricted sources are read without a group.")
    barred = serializers.CharField(allow_blank=True, help_text="Why they are not let in at all; else empty.")
    permissions = PermissionSerializer(many=True)
    things = ThingSerializer(many=True)
    has_more = serializers.BooleanField(
        help_text="Whether there are more sources than the first 1,000 by key."
    )


class AccessView(WorkspaceView):
    """The access report."""

    required: ClassVar = {"GET": ADMINS}
    queries: ClassVar = {"GET": AccessQuery}

    @extend_schema(responses=AccessReportSerializer)
    def get(self, request: Request, ws: str) -> Response:
        """Return the rights of a member or a token in this workspace, with the rules that decide them."""
        target = {name: self.query.get(name) for name in ("document", "source")}
        caller = find_caller(self.workspace, user_id=self.query.get("user"), token_id=self.query.get("token"))
        report = explain_access(self.workspace, caller, **target)
        return Response(AccessReportSerializer(report).data)
