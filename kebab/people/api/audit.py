"""`/workspaces/{ws}/audit`: the audit log. For people only."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.http.api.openapi_schema import page_of
from kebab.http.api.views import KeysetPage, PageQuery, WorkspaceView
from kebab.identity.caller import ADMINS
from kebab.identity.models import AuditEvent
from kebab.people.audit import events_of


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
