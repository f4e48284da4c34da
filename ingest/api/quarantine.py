"""`/workspaces/{ws}/quarantine`: files that crashed every parser, to retry or delete."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from ingest.api.jobs.serializers import AskedJobSerializer
from ingest.api.querysets import (
    check_replay,
    get_quarantined,
    job_response,
    readable_quarantine,
    source_condition,
)
from ingest.models import Unreadable
from ingest.services.quarantine import delete_quarantined, retry_quarantined
from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import page_of
from kebab.http.api.pagination import KeysetPage, PageQuery
from kebab.http.api.permissions import Need
from kebab.http.api.views import WorkspaceView
from kebab.people.models import Role, TokenScope

_READ = Need(role=Role.VIEWER, scope="any")
_CHANGE = Need(role=Role.EDITOR, scope=TokenScope.INGEST)


class QuarantinedFileSerializer(serializers.Serializer[Unreadable]):
    """A file that is not tried again until its content or a parser changes."""

    id = serializers.IntegerField()
    source = serializers.CharField(source="version.source.key")  # type: ignore[assignment]  # a declared field, not the base's attribute
    version = serializers.CharField(source="version.tag")
    path = serializers.CharField()
    size_bytes = serializers.IntegerField()
    content_hash = serializers.CharField()
    parser_version = serializers.CharField(help_text="The parsers that were tried, with their versions.")
    reason = serializers.CharField(source="detail", help_text="How each attempt ended, for people.")
    at = serializers.DateTimeField()


class QuarantineQuery(PageQuery):
    """The parameters of the quarantine's list; a filter may be repeated."""

    source = serializers.ListField(  # type: ignore[assignment]  # a declared field, not the base's attribute
        child=serializers.CharField(max_length=63), required=False, help_text="Key or id."
    )


class QuarantineView(WorkspaceView):
    """The quarantined files of a workspace."""

    required: ClassVar = {"GET": _READ}
    queries: ClassVar = {"GET": QuarantineQuery}

    @extend_schema(responses=page_of(QuarantinedFileSerializer))
    def get(self, request: Request, ws: str) -> Response:
        """List the files that crashed every parser, the latest first."""
        page = KeysetPage.from_view(self, ordering=("-at", "id"))
        files = readable_quarantine(self.access)
        if "source" in self.query:
            files = files.filter(source_condition(self.query["source"], "version__source"))
        return page.response(files, lambda row: QuarantinedFileSerializer(row).data)


class OneQuarantinedView(WorkspaceView):
    """One quarantined file."""

    required: ClassVar = {"DELETE": _CHANGE}

    @extend_schema(responses={204: None})
    def delete(self, request: Request, ws: str, entry_id: int) -> Response:
        """Delete a quarantined upload with its bytes. Returns 409 for a file of a source that is synced."""
        delete_quarantined(self.access, get_quarantined(self.access, entry_id))
        return Response(status=204)


class QuarantineRetryView(WorkspaceView):
    """The retry of a quarantined file."""

    required: ClassVar = {"POST": _CHANGE}
    with_body: ClassVar = ()

    @extend_schema(request=None, responses={202: AskedJobSerializer})
    @idempotent(recheck=check_replay)
    def post(self, request: Request, ws: str, entry_id: int) -> Response:
        """Read the file again, in a job. It stays in the list until that succeeds."""
        entry = get_quarantined(self.access, entry_id)
        return job_response(self.access, retry_quarantined(self.access, entry))
