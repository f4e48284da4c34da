"""`/workspaces/{ws}/context`: a library's rules and snippets on a question, for agents."""

from typing import ClassVar

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.http.api.openapi_schema import wire_component
from kebab.http.api.views import WorkspaceView
from kebab.wire import to_document
from search.api.libraries import PLAIN_TEXT, READ, FormatFields, LibraryIdField
from search.libraries.context import DEFAULT_TOKENS, MAX_TOKENS, gather_context
from search.libraries.formats import snippets_text
from search.libraries.library import choose_library


class ContextQuery(FormatFields):
    """The parameters of a library's context."""

    libraryId = LibraryIdField()
    query = serializers.CharField(allow_blank=True, trim_whitespace=False)
    tokens = serializers.IntegerField(
        min_value=1,
        max_value=MAX_TOKENS,
        default=DEFAULT_TOKENS,
        help_text="The most tokens of the text form; it ends with the last whole snippet that fits.",
    )


class ContextView(WorkspaceView):
    """A library's rules and its best snippets for a question."""

    required: ClassVar = {"GET": READ}
    queries: ClassVar = {"GET": ContextQuery}

    @extend_schema(
        responses={
            (200, "application/json"): wire_component("context.v1"),
            (200, "text/plain"): OpenApiTypes.STR,
        }
    )
    def get(self, request: Request, ws: str) -> HttpResponse:
        """Return rules and snippets, best first, within the budget. Without a version they are of the default
        branch.
        """
        reader = self.access.reader
        library = choose_library(self.workspace, reader, self.query["libraryId"])
        context = gather_context(
            self.workspace, reader, library, self.query["query"], tokens=self.query["tokens"]
        )
        if self.query["type"] == "txt":
            return HttpResponse(snippets_text(context.rules, context.snippets), content_type=PLAIN_TEXT)
        return Response(to_document("context.v1", context))
