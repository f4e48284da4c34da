"""`/workspaces/{ws}/search/bulk`: many searches in one request, each with its own result."""

from typing import Any, ClassVar

from django.conf import settings
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from kebab.http.api.openapi_schema import wire_component
from kebab.http.api.problems import log_problem, problem_document
from kebab.http.api.serializers import strict_body, validate_fields
from kebab.http.api.views import WorkspaceView
from kebab.identity.models import Role, TokenScope
from kebab.identity.permissions import Need
from search.api.query import run_search
from search.api.query_fields import TYPED_TEXT, BulkBody, SearchBody
from search.api.search import json_response
from search.retrieval.deadline import is_over, limit_time
from search.retrieval.errors import OutOfTime
from search.wire import BULK_VERSION, result_to_wire


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
