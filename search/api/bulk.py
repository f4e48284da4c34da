"""`/workspaces/{ws}/search/bulk`: many searches in one request, each with an answer of its own."""

from time import monotonic
from typing import Any, ClassVar

from django.conf import settings
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from kebab.http.api.permissions import Need
from kebab.http.api.problems import logged_problem, problem_document
from kebab.http.api.serializers import strict_body, validated
from kebab.http.api.views import WorkspaceView
from kebab.people.models import Role, Scope
from search.api.query import TYPED_TEXT, BulkBody, SearchBody, answer
from search.api.search import json_response
from search.retrieval.errors import OutOfTime
from search.retrieval.wire import BULK_VERSION, result_to_wire
from search.wire_schemas import inlined_schema


class BulkSearchView(WorkspaceView):
    """Up to 100 searches, one after another; an error in one is that one's."""

    required: ClassVar = {"POST": Need(role=Role.VIEWER, scope=Scope.SEARCH)}
    body_limit_bytes = 5_000_000
    typed_text = TYPED_TEXT

    @extend_schema(request=BulkBody, responses={200: inlined_schema("bulk_response.v1")})
    def post(self, request: Request, ws: str) -> HttpResponse:
        """Search for each query; the results stand in the queries' order, each an answer or a problem."""
        queries = strict_body(request, BulkBody)["queries"]
        deadline = monotonic() + settings.KEBAB_BULK_LIMIT_S
        results = [self._result(query, deadline) for query in queries]
        return json_response({"schema_version": BULK_VERSION, "results": results})

    def _result(self, query: dict[str, Any], deadline: float) -> dict[str, object]:
        try:
            if monotonic() >= deadline:
                limit = f"{settings.KEBAB_BULK_LIMIT_S} s"
                raise OutOfTime(f"The bulk's {limit} were over before this query's turn; ask fewer at once.")
            given = validated(SearchBody, query)
            return result_to_wire(answer(self.access, given, given.get("filters", {})))
        except Exception as error:  # noqa: BLE001 - a defect that one query meets takes no other along
            return problem_document(logged_problem(error, type(self).__name__))
