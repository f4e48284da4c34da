"""`/workspaces/{ws}/quarantine`: files that could not be read, to retry or delete."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from ingest.api.jobs.serializers import AskedJobSerializer
from ingest.api.querysets import (
    UNREADABLE_STATES,
    check_replay,
    get_unreadable,
    job_response,
    list_unreadable,
    narrow_unreadable,
)
from ingest.models import Unreadable
from ingest.services.quarantine import delete_unreadable, retry_unreadable
from ingest.skip_messages import explanations
from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import page_of
from kebab.http.api.views import KeysetPage, PageQuery, WorkspaceView
from kebab.identity.caller import Need
from kebab.identity.models import Role, TokenScope

_READ = Need(role=Role.VIEWER, scope="any")
_CHANGE = Need(role=Role.EDITOR, scope=TokenScope.INGEST)


class UnreadableFileSerializer(serializers.Serializer[Unreadable]):
    """A file that is not tried again until its content or a parser changes."""

    id = serializers.IntegerField()
    source = serializers.CharField(source="version.source.key")  # type: ignore[assignment]  # a declared field, not the base's attribute
    version = serializers.CharField(source="version.tag")
    path = serializers.CharField()
    size_bytes = serializers.IntegerField()
    content_hash = serializers.CharField()
    parser_version = serializers.CharField(help_text="The parsers that were tried, with their versions.")
    state = serializers.ChoiceField(
        UNREADABLE_STATES, help_text="Refused: no parser reads it. Quarantined: every parser failed on it."
    )
    code = serializers.CharField(source="reason", help_text="The reason, as in a job's report.")
    reason = serializers.CharField(source="detail", help_text="What was found, or how each attempt ended.")
    advice = serializers.SerializerMethodField(help_text="What the code means, and what to do.")
    at = serializers.DateTimeField()

    def get_advice(self, entry: Unreadable) -> str:
        """Return the sentence for people; '' for a code without one."""
        return explanations([entry.reason]).get(entry.reason, "")


class QuarantineQuery(PageQuery):
    """The parameters of the list; `source` may be repeated."""

    source = serializers.ListField(  # type: ignore[assignment]  # a declared field, not the base's attribute
        child=serializers.CharField(max_length=63), required=False, help_text="Key or id."
    )
    state = serializers.ChoiceField(UNREADABLE_STATES, required=False)


class QuarantineView(WorkspaceView):
    """The files of a workspace that could not be read."""

    required: ClassVar = {"GET": _READ}
    queries: ClassVar = {"GET": QuarantineQuery}

    @extend_schema(responses=page_of(UnreadableFileSerializer))
    def get(self, request: Request, ws: str) -> Response:
        """List the files that could not be read, the latest first."""
        page = KeysetPage.from_view(self, ordering=("-at", "id"))
        sources, state = self.query.get("source", ()), self.query.get("state", "")
        files = narrow_unreadable(list_unreadable(self.access), sources=sources, state=state)
        return page.response(files, lambda row: UnreadableFileSerializer(row).data)


class OneQuarantinedView(WorkspaceView):
    """One file that could not be read."""

    required: ClassVar = {"DELETE": _CHANGE}

    @extend_schema(responses={204: None})
    def delete(self, request: Request, ws: str, entry_id: int) -> Response:
        """Delete an upload with its bytes. Returns 409 for a file of a source that is synced."""
        delete_unreadable(self.access, get_unreadable(self.access, entry_id))
        return Response(status=204)


class QuarantineRetryView(WorkspaceView):
    """The retry of a file that could not be read."""

    required: ClassVar = {"POST": _CHANGE}
    with_body: ClassVar = ()

    @extend_schema(request=None, responses={202: AskedJobSerializer})
    @idempotent(recheck=check_replay)
    def post(self, request: Request, ws: str, entry_id: int) -> Response:
        """Read the file again, in a job. It stays in the list until that succeeds."""
        entry = get_unreadable(self.access, entry_id)
        return job_response(self.access, retry_unreadable(self.access, entry))
