"""`/workspaces/{ws}/suggest`: suggestions for a partly typed query."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.http.api.openapi_schema import wire_component
from kebab.http.api.serializers import StrictSerializer
from kebab.http.api.views import WorkspaceView
from kebab.identity.caller import Need
from kebab.identity.models import Role, TokenScope
from kebab.wire import to_document
from search.engine.suggest import DEFAULT_LIMIT, MAX_LIMIT, suggest

SUGGEST_VERSION = "suggest_response.v1"
_READ = Need(role=Role.VIEWER, scope=TokenScope.SEARCH)
_MAX_TYPED_CHARS = 1_000


class SuggestQuery(StrictSerializer):
    """The parameters of a request for suggestions."""

    q = serializers.CharField(
        max_length=_MAX_TYPED_CHARS, allow_blank=True, trim_whitespace=False, help_text="As typed so far."
    )
    limit = serializers.IntegerField(min_value=1, max_value=MAX_LIMIT, default=DEFAULT_LIMIT)


class SuggestView(WorkspaceView):
    """Titles, headings and words that begin with the typed text."""

    required: ClassVar = {"GET": _READ}
    queries: ClassVar = {"GET": SuggestQuery}

    @extend_schema(responses={200: wire_component(SUGGEST_VERSION)})
    def get(self, request: Request, ws: str) -> Response:
        """Suggest titles, then headings, then words, only from documents that the caller may read."""
        found = suggest(self.workspace, self.query["q"], reader=self.access.reader, limit=self.query["limit"])
        return Response(to_document(SUGGEST_VERSION, found))
