"""`/workspaces/{ws}/search` and `/context-pack`: searches in a workspace, one or many a request."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

import orjson
from django.conf import settings
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request

from kebab.http.api.openapi_schema import wire_component
from kebab.http.api.problems import log_problem, problem_document
from kebab.http.api.serializers import ShortListField, StrictSerializer, strict_body, validate_fields
from kebab.http.api.views import WorkspaceView, next_link
from kebab.identity.caller import Need
from kebab.identity.models import Role, TokenScope, Workspace
from kebab.wire import to_document
from search.api.query import awaited_seq, make_query, parse_enum, run_search
from search.api.query_fields import (
    TYPED_TEXT,
    AwaitedSeqField,
    BulkBody,
    ChannelFields,
    EnumeratedField,
    FilterFields,
    SearchBody,
    SearchParameters,
    drop_nulls,
)
from search.context import (
    DEFAULT_BUDGET,
    MAX_BUDGET,
    MAX_NEIGHBOUR_STEPS,
    Budget,
    BudgetUnit,
    ContextRequest,
    ResponseMode,
    Surroundings,
    build_context_pack,
)
from search.rerank.configured import reranker
from search.retrieval.deadline import is_over, limit_time
from search.retrieval.errors import OutOfTime
from search.retrieval.expansion import NEIGHBOUR_STEPS
from search.retrieval.fusion.post_fusion import TOP_M
from search.retrieval.types import Fusion, Mode
from search.settings.search_settings import SearchSettings
from search.wire import BULK_VERSION, result_to_wire

READ = Need(role=Role.VIEWER, scope=TokenScope.SEARCH, filters=True)
_FILTERS = frozenset(FilterFields().fields)


class SearchView(WorkspaceView):
    """Search in a workspace. The same query on the same documents gives byte-identical hits."""

    required: ClassVar = {"GET": READ, "POST": READ}
    only_reads = True
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
    only_reads = True
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


MAX_TERMS = 100
MAX_TERM_CHARS = 1_000
_VERSION = "context_pack.v1"
_READ = Need(role=Role.VIEWER, scope=TokenScope.SEARCH)
_SIZE = {"type": "integer", "minimum": 1, "maximum": MAX_BUDGET}
# Fields that a search has, too, with the same names.
_QUERY_FIELDS = ("mode", "fusion", "filters", "cutoff")


@extend_schema_field(
    {
        "oneOf": [
            _SIZE,
            *(
                {
                    "type": "object",
                    "additionalProperties": False,
                    "required": [unit.value],
                    "properties": {unit.value: _SIZE},
                }
                for unit in BudgetUnit
            ),
        ],
        "description": "Of the segments' texts; a bare number counts characters."
        f" Left out: {DEFAULT_BUDGET.total} {DEFAULT_BUDGET.unit.value}.",
    }
)
class BudgetField(serializers.Field[Any, Any, Any, Any]):
    """A number of characters, `{"chars": n}` or `{"tokens": n}`."""

    default_error_messages: ClassVar = {
        "invalid": f"Give a number of characters, or an object with it as chars or tokens, 1 to {MAX_BUDGET}."
    }

    def to_internal_value(self, data: Any) -> Budget:
        """Return the budget. Raises ValidationError."""
        given = data if isinstance(data, Mapping) else {BudgetUnit.CHARS.value: data}
        if len(given) != 1:
            self.fail("invalid")
        [(unit, total)] = given.items()
        is_number = isinstance(total, int) and not isinstance(total, bool)
        if unit not in tuple(BudgetUnit) or not is_number or not 1 <= total <= MAX_BUDGET:
            self.fail("invalid")
        return Budget(unit=BudgetUnit(unit), total=total)


class SurroundingFields(StrictSerializer):
    """The passages that are added to the hits, at a lower score."""

    neighbours = serializers.IntegerField(
        min_value=0,
        max_value=MAX_NEIGHBOUR_STEPS,
        default=NEIGHBOUR_STEPS,
        help_text="Chunks to each side in the same document, score × 0.8 a step.",
    )
    siblings = serializers.BooleanField(
        default=True, help_text="Others under the same breadcrumb parent, score × 0.7."
    )
    imports = serializers.BooleanField(
        default=False, help_text="Files that a hit in code imports, score × 0.6."
    )


class ContextPackBody(StrictSerializer):
    """A request for a context pack."""

    information_request = serializers.CharField(
        allow_blank=True, trim_whitespace=False, help_text="What is to be known, in plain words."
    )
    technical_terms = ShortListField(
        child=serializers.CharField(max_length=MAX_TERM_CHARS, allow_blank=True),
        max_length=MAX_TERMS,
        required=False,
        help_text="Names that the answer is likely to hold: functions, options, errors.",
    )
    budget = BudgetField(required=False)
    filters = FilterFields(required=False, allow_null=True)
    mode = EnumeratedField(Mode, required=False, allow_null=True)
    fusion = EnumeratedField(Fusion, required=False, allow_null=True)
    channels = ChannelFields(required=False, allow_null=True)
    k = serializers.IntegerField(
        required=False, min_value=1, max_value=TOP_M, help_text="The most hits before expansion."
    )
    per_file_cap = serializers.IntegerField(
        required=False, allow_null=True, help_text="The most hits of one document; 0 and less: no limit."
    )
    rerank = serializers.BooleanField(required=False, help_text="Left out: where a reranker is configured.")
    cutoff = serializers.BooleanField(
        default=True, help_text="End the hits where they stop being about the request, after eight at most."
    )
    expand = SurroundingFields(required=False)
    by_file = serializers.BooleanField(
        default=False,
        help_text="Rank files by all that was found of them, and show something of many: for code.",
    )
    response_mode = EnumeratedField(
        ResponseMode,
        required=False,
        help_text="`overview` lists files and the names in them before the text; left out: `text`.",
    )
    min_seq = AwaitedSeqField(required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the fields that are not null."""
        return drop_nulls(attrs)


class ContextPackView(WorkspaceView):
    """Context packs: passages that belong together, cited, within a budget."""

    required: ClassVar = {"POST": _READ}
    only_reads = True

    @extend_schema(request=ContextPackBody, responses={200: wire_component(_VERSION)})
    def post(self, request: Request, ws: str) -> HttpResponse:
        """Find passages for an information request, with their surroundings. Nothing is changed."""
        given = strict_body(request, ContextPackBody)
        context, seq = context_request(self.workspace, given), awaited_seq(self.workspace, given)
        pack = build_context_pack(self.workspace, self.access.reader, context, min_seq=seq)
        return json_response(to_document(_VERSION, pack))


def context_request(workspace: Workspace, given: Mapping[str, Any]) -> ContextRequest:
    """Build the request from the clean fields of a body. Raises InvalidQuery, InvalidFilter."""
    query_fields = {name: given[name] for name in _QUERY_FIELDS if name in given}
    query = make_query(
        workspace,
        {
            **query_fields,
            "q": given["information_request"],
            "operators": False,
            "k": given.get("k", TOP_M),
            "rerank": given.get("rerank", reranker() is not None),
            "per_file_cap": given.get("per_file_cap", SearchSettings.of(workspace).pre_rerank_max_per_file),
        },
        given.get("filters", {}),
    )
    return ContextRequest.with_channels(
        query,
        given.get("technical_terms", ()),
        budget=given.get("budget", DEFAULT_BUDGET),
        surroundings=Surroundings(**given.get("expand", {})),
        response_mode=parse_enum(
            ResponseMode, "response_mode", given.get("response_mode", ResponseMode.TEXT)
        ),
        by_file=given["by_file"],
        **given.get("channels", {}),
    )
