"""`/workspaces/{ws}/search`: search in a workspace."""

import json
from collections.abc import Mapping
from typing import ClassVar

import orjson
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from kebab.http.api.openapi_schema import wire_component
from kebab.http.api.serializers import strict_body
from kebab.http.api.views import WorkspaceView, next_link
from kebab.identity.models import Role, TokenScope
from kebab.identity.permissions import Need
from search.api.query import run_search
from search.api.query_fields import TYPED_TEXT, FilterFields, SearchBody, SearchParameters
from search.wire import result_to_wire

READ = Need(role=Role.VIEWER, scope=TokenScope.SEARCH, filters=True)
_FILTERS = frozenset(FilterFields().fields)


class SearchView(WorkspaceView):
    """Search in a workspace. The same query on the same documents gives byte-identical hits."""

    required: ClassVar = {"GET": READ, "POST": READ}
    queries: ClassVar = {"GET": SearchParameters}
    typed_text = TYPED_TEXT

    @extend_schema(responses={200: wire_component("search_response.v1")})
    def get(self, request: Request, ws: str) -> HttpResponse:
        """Search. Repeat a parameter to give it several values."""
        filters = {name: value for name, value in self.query.items() if name in _FILTERS}
        result = run_search(self.access, self.query, filters)
        response = json_response(result_to_wire(result, self.query.get("fields", ())))
        if result.next_cursor is not None:
            response.headers["Link"] = next_link(request, result.next_cursor, keep=("k", "fields"))
        return response

    @extend_schema(request=SearchBody, responses={200: wire_component("search_response.v1")})
    def post(self, request: Request, ws: str) -> HttpResponse:
        """Search as by GET, for long queries and query channels."""
        given = strict_body(request, SearchBody)
        result = run_search(self.access, given, given.get("filters", {}))
        return json_response(result_to_wire(result, given.get("fields", ())))


def json_response(document: Mapping[str, object]) -> HttpResponse:
    """Return `document` as a JSON response; equal documents give the same bytes."""
    try:
        # orjson writes a float as the shortest text that parses to the same number.
        body = orjson.dumps(document)
    except orjson.JSONEncodeError:  # metadata may have integers beyond 64 bits, which orjson refuses
        body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    return HttpResponse(body, content_type="application/json")
