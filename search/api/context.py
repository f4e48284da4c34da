"""`/workspaces/{ws}/context`: libraries, and a library's rules and snippets on a question, for agents."""

from typing import ClassVar

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
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
from search.libraries import find, snippets
from search.libraries.context import DEFAULT_TOKENS, MAX_TOKENS, gather_context
from search.libraries.formats import libraries_text, snippets_text
from search.libraries.ids import MAX_ID_CHARS
from search.libraries.library import choose_library
from search.models.source import MAX_TAG_CHARS
from search.retrieval.query.filters import ChunkKind

READ = Need(role=Role.VIEWER, scope=TokenScope.SEARCH)
PLAIN_TEXT = "text/plain; charset=utf-8"
_MAX_NAME_CHARS = 300
_MAX_TYPED_CHARS = 1_000


class FormatFields(StrictSerializer):
    """The format parameter: JSON for programs, or text for agents."""

    type = serializers.ChoiceField(["json", "txt"], default="json")


class LibraryIdField(serializers.CharField):
    """A library's id as typed; a version may follow."""

    def __init__(self) -> None:
        super().__init__(
            max_length=MAX_ID_CHARS + 1 + MAX_TAG_CHARS,
            help_text="`/owner/repo`, `/owner/repo@v1.2` or `/owner/repo/v1.2`.",
        )


class LibrarySearchQuery(FormatFields):
    """The parameters of a search for libraries."""

    libraryName = serializers.CharField(  # as such tools name it
        max_length=_MAX_NAME_CHARS, help_text="A part of title, id or description, or words of the content."
    )
    query = serializers.CharField(
        default="", allow_blank=True, help_text="A question: of libraries equally good, who answers it best?"
    )
    limit = serializers.IntegerField(min_value=1, max_value=find.MAX_LIMIT, default=find.DEFAULT_LIMIT)


class SnippetSearchQuery(StrictSerializer):
    """The parameters of a search for a library's snippets."""

    libraryId = LibraryIdField()
    query = serializers.CharField(
        max_length=_MAX_TYPED_CHARS,
        allow_blank=True,
        trim_whitespace=False,
        help_text='As typed so far; "phrases", AND, OR, NOT and a trailing * are understood.',
    )
    version = serializers.CharField(
        default="", max_length=MAX_TAG_CHARS, help_text="A tag, where libraryId names none."
    )
    kind = serializers.ListField(child=serializers.ChoiceField(["code", "info"]), required=False)
    limit = serializers.IntegerField(
        min_value=1, max_value=snippets.MAX_LIMIT, default=snippets.DEFAULT_LIMIT
    )
    offset = serializers.IntegerField(min_value=0, max_value=snippets.MAX_OFFSET, default=0)


class LibrarySearchView(WorkspaceView):
    """Libraries by name."""

    required: ClassVar = {"GET": READ}
    queries: ClassVar = {"GET": LibrarySearchQuery}

    @extend_schema(
        responses={
            (200, "application/json"): wire_component("library_search.v1"),
            (200, "text/plain"): OpenApiTypes.STR,
        }
    )
    def get(self, request: Request, ws: str) -> HttpResponse:
        """Find libraries, best first."""
        name, query = self.query["libraryName"], self.query["query"]
        reader, limit = self.access.reader, self.query["limit"]
        found = find.find_libraries(self.workspace, reader, name, query=query, limit=limit)
        if self.query["type"] == "txt":
            return HttpResponse(libraries_text(found.results), content_type=PLAIN_TEXT)
        return Response(to_document("library_search.v1", found))


class SnippetSearchView(WorkspaceView):
    """Search-as-you-type in the snippets of one library."""

    required: ClassVar = {"GET": READ}
    queries: ClassVar = {"GET": SnippetSearchQuery}

    @extend_schema(responses={200: wire_component("snippet_search.v1")})
    def get(self, request: Request, ws: str) -> Response:
        """Find snippets, best first. The last word is matched as a prefix, and stop words count."""
        reader, library_id = self.access.reader, self.query["libraryId"]
        library = choose_library(self.workspace, reader, library_id, self.query["version"])
        page = snippets.SnippetPage(
            kinds=tuple(map(ChunkKind, self.query.get("kind", ()))),
            limit=self.query["limit"],
            offset=self.query["offset"],
        )
        found = snippets.search_snippets(self.workspace, reader, library, self.query["query"], page)
        return Response(to_document("snippet_search.v1", found))


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
