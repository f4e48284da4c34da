"""`/workspaces/{ws}/access`: the access report. For people only."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.http.api.openapi_schema import wire_component
from kebab.http.api.serializers import HexIdField, StrictSerializer
from kebab.http.api.views import WorkspaceView
from kebab.identity.caller import ADMINS
from kebab.people.access_report import explain_access, find_caller
from kebab.wire import to_document


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
