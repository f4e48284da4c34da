"""OpenAI's search of a vector store: a workspace is a store, a document a file.

https://platform.openai.com/docs/api-reference/vector-stores/search
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.errors import FieldError, InvalidRequest, NotFound
from kebab.http.api.problems import log_problem, summarize_problem
from kebab.http.api.serializers import StrictSerializer
from kebab.http.api.views import ApiView
from kebab.identity.caller import Access
from search.api.adapters.retrieval import MAX_HITS, compare_shown, find_passages
from search.retrieval.errors import InvalidFilter, preview
from search.retrieval.query.metadata_filter import ALL, ANY
from search.retrieval.types import SearchHit

#: Precedes a document's id.
FILE: Final = "file-"
#: OpenAI's limits of attributes.
MAX_ATTRIBUTES: Final = 16
MAX_NAME_CHARS: Final = 64
MAX_VALUE_CHARS: Final = 512
_BOUNDS: Final = ("gt", "gte", "lt", "lte")
_OFFERED: Final = (
    "It offers files (create, list, retrieve, content, delete) and vector_stores (list, retrieve, update,"
    " search, files, file_batches): see docs/integrations.md."
)
_ERROR_TYPES: Final = {401: "authentication_error", 403: "permission_error", 404: "not_found_error"}


class OpenAiErrorDetail(serializers.Serializer[Any]):
    """Details of an error."""

    message = serializers.CharField()
    type = serializers.CharField()
    param = serializers.CharField(allow_null=True)
    code = serializers.CharField()


class OpenAiErrorSerializer(serializers.Serializer[Any]):
    """An error, as OpenAI's clients read it."""

    error = OpenAiErrorDetail()


class OpenAiView(ApiView):
    """A view with OpenAI's errors."""

    error_serializer = OpenAiErrorSerializer
    #: What to do instead of a method that it lacks.
    instead: ClassVar[Mapping[str, str]] = {}

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        """Raise NotFound, which says what there is instead."""
        remedy = self.instead.get(request.method or "", "Kebab does not offer this call.")
        raise NotFound(f"{remedy} {_OFFERED}")

    def handle_exception(self, error: Exception) -> Response:
        """Return the error in OpenAI's form."""
        problem = log_problem(error, f"OpenAI's {type(self).__name__}")
        kind = "server_error" if problem.status >= 500 else "invalid_request_error"
        body = {
            "message": summarize_problem(problem),
            "type": _ERROR_TYPES.get(problem.status, kind),
            "param": problem.errors[0].field if problem.errors else None,
            "code": problem.code,
        }
        response = Response({"error": body}, status=problem.status)
        response.exception = True
        for name, value in problem.headers.items():
            response.headers[name] = value
        return response


class VectorStoresQuery(StrictSerializer):
    """The parameters of a list; `after` and `before` are ids of stores."""

    limit = serializers.IntegerField(min_value=1, max_value=100, default=20)
    order = serializers.ChoiceField(["asc", "desc"], default="desc", help_text="By time of creation.")
    after = serializers.CharField(required=False, help_text="List what follows this store.")
    before = serializers.CharField(required=False, help_text="List what precedes this store.")


class RankingOptions(serializers.Serializer[Any]):
    """The least score of a result."""

    score_threshold = serializers.FloatField(required=False, allow_null=True)


class VectorStoreQuery(serializers.Serializer[Any]):
    """The body of OpenAI's request; what later versions add is ignored."""

    query = serializers.JSONField()
    filters = serializers.JSONField(required=False, allow_null=True)
    max_num_results = serializers.IntegerField(min_value=1, max_value=MAX_HITS, default=10)
    ranking_options = RankingOptions(required=False, allow_null=True)

    def validate_query(self, value: Any) -> list[str]:
        """Return the queries. Raises ValidationError for what is neither a text nor texts."""
        queries = [value] if isinstance(value, str) else value
        if not isinstance(queries, list) or not queries or not all(isinstance(each, str) for each in queries):
            raise serializers.ValidationError("Give a text, or a list of texts.")
        return queries


class VectorStoreSearchView(OpenAiView):
    """The search of a workspace."""

    @extend_schema(request=VectorStoreQuery, responses={200: {"type": "object"}})
    def post(self, request: Request, store: str) -> Response:
        """Return the passages that answer a query; several queries are searched for as one."""
        body = VectorStoreQuery(data=request.data)
        body.is_valid(raise_exception=True)
        given = body.validated_data
        hits = find_passages(
            self.caller,
            store,
            "\n".join(given["query"]),
            k=given["max_num_results"],
            metadata=read_filter(given.get("filters")),
            least_score=(given.get("ranking_options") or {}).get("score_threshold") or 0.0,
        )
        return Response(
            {
                "object": "vector_store.search_results.page",
                "search_query": given["query"],
                "data": [_result(hit) for hit in hits],
                "has_more": False,
                "next_page": None,
            }
        )


def read_filter(given: Any) -> dict[str, Any]:
    """Return a comparison or compound filter as a filter on metadata. Raises InvalidFilter."""
    if not given:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidFilter(f"The filter is {preview(given)}; give an object with type, key and value.")
    kind = given.get("type")
    if kind in ("and", "or"):
        filters = given.get("filters")
        if not isinstance(filters, Sequence) or isinstance(filters, str) or not filters:
            raise InvalidFilter(f"The filter {kind} has {preview(filters)}; give a list of filters.")
        return {ALL if kind == "and" else ANY: [read_filter(each) for each in filters]}
    key, value = given.get("key"), given.get("value")
    if kind in ("eq", "in"):
        return compare_shown(str(key), value)
    if kind in ("ne", "nin"):
        return compare_shown(str(key), {"not": value}, is_negative=True)
    if kind in _BOUNDS:
        return compare_shown(str(key), {kind: value})
    known = ", ".join(("eq", "ne", *_BOUNDS, "in", "nin", "and", "or"))
    raise InvalidFilter(f"There is no filter of the type {preview(kind)}; there are: {known}.")


def cut_page(found: Sequence[Access], query: Mapping[str, Any]) -> tuple[Sequence[Access], bool]:
    """Return the page of a list, and whether there is more in its direction. Raises InvalidRequest.

    A page `before` a store ends next to it; any other begins the list, or next to the store it is `after`.
    """
    limit = query["limit"]
    start = _position(found, "after", query["after"]) + 1 if "after" in query else 0
    end = _position(found, "before", query["before"]) if "before" in query else len(found)
    between = found[start:end]
    is_backward = "before" in query and "after" not in query
    page = between[-limit:] if is_backward else between[:limit]
    return page, len(page) < len(between)


def _position(found: Sequence[Access], field: str, store: str) -> int:
    slugs = [access.workspace.slug for access in found]
    if store not in slugs:
        message = f"You may search no vector store {preview(store)}."
        raise InvalidRequest(message, errors=[FieldError(field=field, message=message)])
    return slugs.index(store)


def _result(hit: SearchHit) -> dict[str, Any]:
    return {
        "file_id": f"{FILE}{hit.doc_id}",
        "filename": hit.doc_path,
        "score": hit.score,
        "attributes": _attributes(hit),
        "content": [{"type": "text", "text": hit.text or ""}],
    }


def _attributes(hit: SearchHit) -> dict[str, str | float | bool]:
    """Return what a file's attributes may hold: 16 short texts, numbers and booleans."""
    facts = {"title": hit.title, "citation": hit.citation.uri, "source": hit.source, "author": hit.author}
    known = {**facts, **(hit.metadata or {})}
    plain = {
        str(name)[:MAX_NAME_CHARS]: value[:MAX_VALUE_CHARS] if isinstance(value, str) else value
        for name, value in known.items()
        if isinstance(value, str | int | float) and value != ""
    }
    return dict(list(plain.items())[:MAX_ATTRIBUTES])
