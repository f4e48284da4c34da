"""`/workspaces/{ws}/search`: search in a workspace."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

import orjson
from django.conf import settings
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from kebab.http.api.openapi_schema import wire_component
from kebab.http.api.problems import log_problem, problem_document
from kebab.http.api.serializers import strict_body, validate_fields
from kebab.http.api.views import WorkspaceView, next_link
from kebab.identity.models import Role, TokenScope
from kebab.identity.permissions import Need
from search.api.query import run_search
from search.api.query_fields import TYPED_TEXT, BulkBody, FilterFields, SearchBody, SearchParameters
from search.retrieval.deadline import is_over, limit_time
from search.retrieval.errors import OutOfTime
from search.wire import BULK_VERSION, result_to_wire

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


class BulkSearchView(WorkspaceView):
    """Up to 100 searches, run one after another; an error in one doesn't affect the others."""

    required: ClassVar = {"POST": Need(role=Role.VIEWER, scope=TokenScope.SEARCH, filters=True)}
    body_limit_bytes = 5_000_000
    typed_text = TYPED_TEXT

    @extend_schema(request=BulkBody, responses={200: wire_component("bulk_response.v1")})
    def post(self, request: Request, ws: str) -> HttpResponse:
        """Search for each query. The results are in the queries' order, each a response or a problem."""
        queries = strict_body(request, BulkBody)["queries"]
        with limit_time(settings.KEBAB_BULK_LIMIT_S):
            results = [self._run_query(query) for query in queries]
        return json_response({"schema_version": BULK_VERSION, "results": results})

    def _run_query(self, query: dict[str, Any]) -> dict[str, object]:
        try:
            if is_over():
                limit = f"{settings.KEBAB_BULK_LIMIT_S} s"
                raise OutOfTime(f"The bulk's {limit} were over before this query's turn; ask fewer at once.")
            given = validate_fields(SearchBody, query)
            result = run_search(self.access, given, given.get("filters", {}))
            return result_to_wire(result, given.get("fields", ()))
        except Exception as error:  # noqa: BLE001 - a defect in one query must not fail the others
            return problem_document(log_problem(error, type(self).__name__))
