"""The URL configuration of API tests: the shipped people API and small views for every part."""

import errno
from typing import ClassVar

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import OperationalError, connection
from django.http import Http404
from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView
from redis.exceptions import ConnectionError as RedisConnectionError
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.response import Response

from kebab.admin.site import site
from kebab.errors import NotFound, TooLarge
from kebab.http.api import problems
from kebab.http.api.idempotency import idempotent
from kebab.http.api.parsers import StrictJSONParser, StrictMultiPartParser
from kebab.http.api.serializers import StrictSerializer, strict_body
from kebab.http.api.urls import below_workspace
from kebab.http.api.views import ApiView, KeysetPage, PageQuery, WorkspaceView
from kebab.identity.caller import Need
from kebab.identity.models import AuditEvent, Role, TokenScope
from kebab.people import audit
from search.retrieval.errors import EmbedderUnavailable, SearchError

handler400 = problems.bad_request
handler403 = problems.permission_denied
handler404 = problems.page_not_found
handler500 = problems.server_error


class KitchenError(SearchError):
    """A tree of another package."""

    status = 422
    code = "kitchen"


class BurntError(KitchenError):
    """Burnt."""

    code = "burnt"


class Filters(StrictSerializer):
    tags_any = serializers.ListField(child=serializers.CharField(), required=False)


class NewNote(StrictSerializer):
    text = serializers.CharField(trim_whitespace=False)
    weight = serializers.FloatField(required=False)
    filters = Filters(required=False)
    extra = serializers.JSONField(required=False)
    file = serializers.FileField(required=False)


class NotesQuery(PageQuery):
    tags_any = serializers.ListField(child=serializers.CharField(), required=False)


class NotesView(WorkspaceView):
    """Notes, kept as audit events."""

    parser_classes = (StrictJSONParser, StrictMultiPartParser)
    body_limit_bytes = 10_000
    queries: ClassVar = {"GET": NotesQuery}
    required: ClassVar = {
        "GET": Need(role=Role.VIEWER, scope=TokenScope.SEARCH),
        "POST": Need(role=Role.EDITOR, scope=TokenScope.INGEST),
    }

    def get(self, request, ws):
        if "tags_any" in self.query:
            return Response({"tags_any": self.query["tags_any"]})
        page = KeysetPage.from_view(self, ordering=("-at", "id"))
        notes = AuditEvent.objects.filter(workspace=self.workspace, action="note")
        return page.response(notes, lambda row: {"id": row.id, "text": row.subject})

    @idempotent(recheck=None, withhold=("secret",))
    def post(self, request, ws):
        fields = strict_body(request, NewNote)
        if fields["text"] == "refuse":
            raise TooLarge("Too long a note.")
        audit.record(self.access, "note", fields["text"])
        content = fields["file"].read().decode() if "file" in fields else None
        answer = {"text": fields["text"], "content": content, "secret": "s3cret"}
        return Response(answer, status=201, headers={"Location": "/n"})


class OtherNotesView(NotesView):
    """Another list of the same things."""


class ThingView(WorkspaceView):
    """A thing that is never there."""

    required: ClassVar = {"GET": Need(role=Role.VIEWER, scope="any")}

    def get(self, request, ws, doc_id):
        raise NotFound


class FailingView(ApiView):
    """Raises the error named in the URL."""

    def get(self, request, how):
        raise {
            "tree": BurntError("The dish is burnt; cook another."),
            "database": OperationalError("connection refused"),
            "redis": RedisConnectionError("gone"),
            "disk": OSError(errno.ENOSPC, "No space left on device"),
            "files": OSError(errno.EMFILE, "Too many open files"),
            "embedder": EmbedderUnavailable("It needs a key.", is_lasting=True),
            "defect": RuntimeError("a password: hunter2"),
            "missing": Http404("No Document matches the given query."),
            "suspicious": SuspiciousOperation("a path of ours"),
            "denied": PermissionDenied("a rule of ours"),
        }[how]


class DatabaseView(ApiView):
    """Has the database fail in earnest."""

    def get(self, request, how):
        statements = {
            "slow": "SET LOCAL statement_timeout = 5; SELECT pg_sleep(10)",
            "range": "SELECT 1000000::smallint",
            "disk": "DO $$ BEGIN RAISE SQLSTATE '53100'; END $$",
            "deadlock": "DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$",
            "read_only": "SET LOCAL transaction_read_only = on; CREATE TABLE t ()",
            "defect": "SELECT nonsense",
        }
        with connection.cursor() as cursor:
            cursor.execute(statements[how])
        return Response({})


def plain_page(request):
    raise OperationalError("connection refused")


def defective_page(request):
    raise RuntimeError("a defect")


api = [
    path("", include("kebab.people.api.urls")),
    below_workspace("/notes", NotesView.as_view(), "notes"),
    below_workspace("/other-notes", OtherNotesView.as_view(), "other-notes"),
    below_workspace("/things/<hex32:doc_id>", ThingView.as_view(), "thing"),
    path("fail/<str:how>", FailingView.as_view()),
    path("database/<str:how>", DatabaseView.as_view()),
    path("plain", plain_page),
]

urlpatterns = [
    path("", include("kebab.health.views")),
    path("api/v1/", include(api)),
    path("plain", plain_page),
    path("defective", defective_page),
    path("admin/", site.urls),
    path("api/schema/", SpectacularAPIView.as_view(permission_classes=[AllowAny])),
]
