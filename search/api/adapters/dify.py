"""Dify's external knowledge API: `POST …/retrieval`.

https://docs.dify.ai/en/use-dify/knowledge/external-knowledge-api
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.http.api.problems import log_problem, summarize_problem
from kebab.http.api.serializers import ShortListField
from kebab.http.api.views import ApiView
from search.api.adapters.retrieval import MAX_HITS, compare_shown, find_passages
from search.retrieval.errors import InvalidFilter, preview
from search.retrieval.query.metadata import read_number
from search.retrieval.query.metadata_filter import ALL, ANY, MAX_CONDITIONS
from search.retrieval.types import SearchHit

_NO_TOKEN: Final = 1001
_REFUSED: Final = 1002
_NO_KNOWLEDGE: Final = 2001
_WRONG: Final = 4000
_CODES: Final = {401: _NO_TOKEN, 403: _REFUSED, 404: _NO_KNOWLEDGE}


def _split(value: Any) -> Any:
    """Return the alternatives of a text with commas, as Dify reads them."""
    parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else []
    return [value, *filter(None, parts)] if len(parts) > 1 else value


def _as_number(value: Any) -> Any:
    """Return a text and the number that it is, such as 2.50."""
    number = read_number(value) if isinstance(value, str) else None
    return value if number is None else [value, number]


# The conditions of Dify as those of a filter on metadata.
_POSITIVE: Final[Mapping[str, Callable[[Any], Any]]] = {
    "is": lambda value: value,
    "=": _as_number,
    "in": _split,
    "contains": lambda value: {"contains": value},
    "start with": lambda value: {"starts_with": value},
    "end with": lambda value: {"ends_with": value},
    **dict.fromkeys((">", "after"), lambda value: {"gt": value}),
    **dict.fromkeys(("<", "before"), lambda value: {"lt": value}),
    "≥": lambda value: {"gte": value},
    "≤": lambda value: {"lte": value},
}
_NEGATIVE: Final[Mapping[str, str]] = {"is not": "is", "≠": "=", "not in": "in", "not contains": "contains"}
_PRESENT: Final = ("not empty", "not null", "exists")
_ABSENT: Final = ("empty", "null", "not exists")


_TOP_K = 10


class RetrievalSetting(serializers.Serializer[Any]):
    """The length of the answer."""

    top_k = serializers.IntegerField(
        min_value=1, required=False, allow_null=True, help_text=f"Left out: {_TOP_K}."
    )
    score_threshold = serializers.FloatField(required=False, allow_null=True)


@extend_schema_field({"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})
class NamesField(ShortListField):
    """A name, as Dify sends it, or a list of names."""

    def to_internal_value(self, data: Any) -> list[Any]:
        """Return the names. Raises ValidationError."""
        return super().to_internal_value([data] if isinstance(data, str) else data)


class MetadataCondition(serializers.Serializer[Any]):
    """A comparison with one field, or with any of several."""

    name = NamesField(child=serializers.CharField(), min_length=1, max_length=MAX_CONDITIONS)
    comparison_operator = serializers.CharField()
    value = serializers.JSONField(required=False, allow_null=True)


class MetadataConditions(serializers.Serializer[Any]):
    """Comparisons with the metadata of documents."""

    logical_operator = serializers.ChoiceField(["and", "or"], default="and", allow_null=True)
    conditions = MetadataCondition(  # type: ignore[call-arg]  # many=True makes a list, which has max_length
        many=True,
        required=False,
        allow_null=True,
        max_length=MAX_CONDITIONS,
    )


class RetrievalBody(serializers.Serializer[Any]):
    """The body of Dify's request; what later versions add is ignored."""

    knowledge_id = serializers.CharField()
    query = serializers.CharField(allow_blank=True)
    retrieval_setting = RetrievalSetting(required=False, allow_null=True)
    metadata_condition = MetadataConditions(required=False, allow_null=True)


class RetrievalRecord(serializers.Serializer[Any]):
    """A passage."""

    content = serializers.CharField()
    score = serializers.FloatField()
    title = serializers.CharField()
    metadata = serializers.DictField()


class RetrievalRecords(serializers.Serializer[Any]):
    """The passages that were found, best first."""

    records = RetrievalRecord(many=True)


class DifyErrorSerializer(serializers.Serializer[Any]):
    """An error, as Dify shows it."""

    error_code = serializers.IntegerField()
    error_msg = serializers.CharField()


class DifyRetrievalView(ApiView):
    """A workspace as an external knowledge base of Dify."""

    error_serializer = DifyErrorSerializer

    @extend_schema(request=RetrievalBody, responses=RetrievalRecords)
    def post(self, request: Request) -> Response:
        """Return the passages of a workspace, `knowledge_id` (slug or id), that answer a query."""
        body = RetrievalBody(data=request.data)
        body.is_valid(raise_exception=True)
        given = body.validated_data
        setting = given.get("retrieval_setting") or {}
        hits = find_passages(
            self.caller,
            given["knowledge_id"],
            given["query"],
            k=min(setting.get("top_k") or _TOP_K, MAX_HITS),
            metadata=_read_conditions(given.get("metadata_condition")),
            least_score=setting.get("score_threshold") or 0.0,
        )
        return Response({"records": [_record(hit) for hit in hits]})

    def handle_exception(self, error: Exception) -> Response:
        """Return the error in the form that Dify shows."""
        problem = log_problem(error, "Dify's retrieval")
        code = _CODES.get(problem.status, _WRONG)
        response = Response(
            {"error_code": code, "error_msg": summarize_problem(problem)}, status=problem.status
        )
        response.exception = True
        for name, value in problem.headers.items():
            response.headers[name] = value
        return response


def _read_conditions(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return Dify's conditions as a filter on metadata. Raises InvalidFilter."""
    conditions = (given or {}).get("conditions")
    if not given or not conditions:
        return {}
    filters = []
    for each in conditions:
        named = [
            _read_condition(name, each["comparison_operator"], each.get("value")) for name in each["name"]
        ]
        if all(named):
            filters.append(named[0] if len(named) == 1 else {ANY: named})
    return {ANY if given["logical_operator"] == "or" else ALL: filters} if filters else {}


def _read_condition(name: str, operator: str, value: Any) -> dict[str, Any]:
    """Return a condition on one field as a filter; without a value to compare none, as in Dify."""
    if operator in (*_PRESENT, *_ABSENT):
        is_present = operator in _PRESENT
        return compare_shown(name, {"exists": is_present}, is_negative=not is_present)
    translate = _POSITIVE.get(_NEGATIVE.get(operator, operator))
    if translate is None:
        known = ", ".join((*_POSITIVE, *_NEGATIVE, *_ABSENT, *_PRESENT))
        raise InvalidFilter(f"There is no condition {preview(operator)}; there are: {known}.")
    if isinstance(value, list):
        value = [each for each in value if each is not None]
    if value is None or value == []:
        return {}
    if name == "citation" and isinstance(value, str):
        value = value.partition("#")[0]
    wanted = translate(value)
    is_negative = operator in _NEGATIVE
    return compare_shown(name, {"not": wanted} if is_negative else wanted, is_negative=is_negative)


def _record(hit: SearchHit) -> dict[str, Any]:
    facts = {
        "path": hit.doc_path,
        "source": hit.source,
        "citation": hit.citation.uri,
        "document_id": hit.doc_id,
        "date": hit.date.isoformat(),
        "author": hit.author,
    }
    return {
        "content": hit.text or "",
        "score": hit.score,
        "title": hit.title,
        # Dify takes no null for it.
        "metadata": {**(hit.metadata or {}), **{name: value for name, value in facts.items() if value}},
    }
