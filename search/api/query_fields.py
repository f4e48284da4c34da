"""Serializers of search requests."""

from collections.abc import Mapping
from enum import Enum
from typing import Any

import orjson
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from kebab.http.api.serializers import ShortListField, StrictSerializer, TypedTextField
from search.corpus.seq_tokens import parse_seq_token
from search.mirror.query.facets import FACETS
from search.retrieval.errors import InvalidFilter
from search.retrieval.query.filter_codec import parse_moment
from search.retrieval.query.filters import MOMENTS, ChunkKind, Media, TrustLevel
from search.retrieval.types import (
    MAX_TEXT_CHARS,
    Fusion,
    Group,
    Include,
    Mode,
    Sort,
)
from search.wire import HIT_FIELDS

MAX_SNIPPET_CHARS = 10_000
#: The fields that hold query text.
TYPED_TEXT = frozenset({"q", "vector", "lexical", "rerank"})
#: The most values of one filter.
MAX_FILTER_VALUES = 100
MAX_BULK_QUERIES = 100
_MAX_CURSOR_CHARS = 200

#: The names of facets. Moments have no values of their own.
FACET_NAMES = tuple(name for name in FACETS if name not in MOMENTS)


class EnumeratedField(serializers.ChoiceField):
    """A value of an enumeration, for the documentation; the enumeration itself refuses other values, with the
    remedy.
    """

    def __init__(self, values: type[Enum], **options: Any) -> None:
        super().__init__(choices=[value.value for value in values], **options)

    def to_internal_value(self, data: Any) -> str:
        """Return the text. Raises ValidationError for anything else."""
        if not isinstance(data, str):
            self.fail("invalid_choice", input=data)
        return data


class ValuesField(ShortListField):
    """A list of alternatives, or a single value."""

    def __init__(self, child: serializers.Field[Any, Any, Any, Any], **options: Any) -> None:
        super().__init__(
            child=child, required=False, allow_null=True, max_length=MAX_FILTER_VALUES, **options
        )

    def to_internal_value(self, data: Any) -> list[Any]:
        """Return the values. Raises ValidationError."""
        return super().to_internal_value([data] if isinstance(data, str) else data)


class FlagField(serializers.BooleanField):
    """True, false or null; no string means null."""

    NULL_VALUES = {None}

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, allow_null=True, **options)


class MomentField(serializers.DateTimeField):
    """An ISO 8601 time; the filter refuses a missing time zone."""

    def to_internal_value(self, value: Any) -> Any:
        """Return the text. Raises ValidationError if it is no time."""
        try:
            parse_moment(str(self.field_name), value)
        except InvalidFilter:
            self.fail("invalid", format="2026-01-31T12:00:00Z")
        return value


@extend_schema_field({"type": "object", "additionalProperties": True})
class MetadataField(serializers.JSONField):
    """An object with a condition for each field; the filter itself refuses others, with the remedy."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the object, parsed if it is text. Raises ValidationError."""
        if not isinstance(data, str):
            return data
        try:
            return orjson.loads(data)
        except ValueError:
            self.fail("invalid")


@extend_schema_field({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}]})
class AwaitedSeqField(serializers.IntegerField):
    """The change that must be searchable before the search runs: number and token, or None."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            min_value=0,
            max_value=2**63 - 1,
            help_text="Wait, within a limit, until this `seq` or, better, `seq_token` is searchable.",
            **options,
        )

    def to_internal_value(self, data: Any) -> Any:
        """Return number and token. Raises ValidationError."""
        if not isinstance(data, str) or "-" not in data[1:]:
            return super().to_internal_value(data), None
        try:
            return parse_seq_token(data)
        except ValueError:
            self.fail("invalid")

    def run_validators(self, value: Any) -> None:
        """Check the number."""
        super().run_validators(value[0])


class RecencyField(serializers.FloatField):
    """The weight of age."""

    def __init__(self, **options: Any) -> None:
        super().__init__(help_text="0 to 1: the share of its score that an old hit loses.", **options)


def _text_values_field(help_text: str = "") -> ValuesField:
    return ValuesField(
        serializers.CharField(max_length=1_000, trim_whitespace=False, allow_blank=True), help_text=help_text
    )


def drop_nulls(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that are not null."""
    return {name: value for name, value in fields.items() if value is not None}


class FilterFields(StrictSerializer):
    """The filters of a search: values of one filter are alternatives, and all filters must match.

    No value of `path_not_glob` may match.
    """

    tags_any = _text_values_field()
    lang = _text_values_field()
    path_glob = _text_values_field(
        "Anchored; `*`, `?`, `[…]` stay within a name, `**` before a slash is any number of folders."
    )
    path_not_glob = _text_values_field("The same; a path that fits any of these is left out.")
    trust_min = EnumeratedField(TrustLevel, required=False, allow_null=True)
    source = _text_values_field("Keys or ids of sources.")  # type: ignore[assignment]  # a declared field, not the base's attribute
    version = _text_values_field("Version tags; without any, the default versions are searched.")
    kind = ValuesField(EnumeratedField(ChunkKind))
    code_lang = _text_values_field(
        "Programming languages of code: python, typescript, go; js and py are known, too."
    )
    media = ValuesField(EnumeratedField(Media))
    doc_id = _text_values_field()
    ingested_after = MomentField(required=False, allow_null=True, help_text="With a time zone.")
    author = _text_values_field("Authors of documents.")
    dated_after = MomentField(
        required=False, allow_null=True, help_text="The document's date is this or later; with a time zone."
    )
    dated_before = MomentField(
        required=False, allow_null=True, help_text="The document's date is earlier; with a time zone."
    )

    metadata = MetadataField(
        required=False,
        allow_null=True,
        help_text="By field: a value, a list of alternatives, or an object with `gt`, `gte`, `lt`, `lte`"
        " (numbers or dates), `in`, `not`, `exists`. In a GET it is JSON.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the filters that are not null."""
        return drop_nulls(attrs)


class RankingFields(StrictSerializer):
    """The fields of a search in any number of workspaces, whose settings are the defaults."""

    q = TypedTextField(
        required=False,
        allow_null=True,
        allow_blank=True,
        trim_whitespace=False,
        help_text="Needed without a cursor.",
    )
    mode = EnumeratedField(Mode, required=False, allow_null=True)
    fusion = EnumeratedField(Fusion, required=False, allow_null=True)
    exact = FlagField(
        help_text="False: without the list of exact names, as `rateLimit`; only the two legs are fused."
    )
    typos = FlagField(help_text="False: words that no passage has are not corrected.")
    operators = FlagField(help_text="False: all of `q` is text, also `-word`, `path:` and the like.")
    prefix = FlagField(help_text="The last word may be the beginning of a word.")
    group = EnumeratedField(
        Group, required=False, allow_null=True, help_text="document: a hit is a document, with its sections."
    )
    sort = EnumeratedField(
        Sort,
        required=False,
        allow_null=True,
        help_text="date: the newest of the best hits first, date_asc: the oldest, either with undated ones"
        " last; title: these by title. No related hits. With a blank q: the documents that pass the filters.",
    )
    recency = RecencyField(required=False, allow_null=True)
    k = serializers.IntegerField(
        required=False, allow_null=True, help_text="At most 1,000; 0: the workspace's setting."
    )
    snippet_chars = serializers.IntegerField(required=False, allow_null=True, max_value=MAX_SNIPPET_CHARS)
    include = ValuesField(EnumeratedField(Include), help_text="Parts of hits that are null otherwise.")
    max_text_chars = serializers.IntegerField(
        required=False, allow_null=True, help_text=f"Length of `text`, at most {MAX_TEXT_CHARS:,}."
    )
    per_file_cap = serializers.IntegerField(
        required=False, allow_null=True, help_text="The most hits of one document; 0 and less: no limit."
    )
    rerank = FlagField(help_text="Have the first candidates read again.")
    cutoff = FlagField(help_text="End the list where its scores say that it stops being about the question.")
    floor = FlagField(help_text="Leave out hits that are only related to the query.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the fields that are not null. Raises ValidationError without a query."""
        given = drop_nulls(attrs)
        if "q" not in given:
            missing = serializers.Field.default_error_messages["required"]
            raise serializers.ValidationError({"q": [missing]})
        return given


class QueryFields(RankingFields):
    """The fields of a search in one workspace, except its filters."""

    cursor = serializers.CharField(
        required=False,
        allow_null=True,
        max_length=_MAX_CURSOR_CHARS,
        help_text="`next_cursor` of the page before; k and fields alone may stand beside it.",
    )
    fields = ValuesField(  # type: ignore[assignment]  # a declared field, not the base's attribute
        serializers.ChoiceField(choices=sorted(HIT_FIELDS)), help_text="The fields of hits; all without it."
    )
    facets = ValuesField(
        serializers.CharField(max_length=200),
        help_text=f"Count documents by these: {', '.join(FACET_NAMES)}, `metadata.` and the name of a"
        " field, or `metadata` for the names of fields.",
    )
    max_facet_values = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=100, help_text="Values of each facet: 10."
    )
    explain = FlagField()
    why_not = serializers.CharField(
        required=False, allow_null=True, help_text="A chunk or document: why it is not among the hits."
    )
    min_seq = AwaitedSeqField(required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Validate and return the fields of a query, or a cursor and k. Raises ValidationError."""
        given = drop_nulls(attrs)
        if "cursor" not in given:
            return super().validate(given)
        beside = sorted(given.keys() - {"cursor", "k", "fields"})
        if beside:
            raise serializers.ValidationError(
                {name: ["A cursor has its query already; leave this out."] for name in beside}
            )
        return given


class SearchParameters(QueryFields, FilterFields):
    """The parameters of a search by GET; filters are parameters like the others and may be repeated."""


def _channel_field() -> TypedTextField:
    return TypedTextField(required=False, allow_null=True, allow_blank=True, trim_whitespace=False)


class ChannelFields(StrictSerializer):
    """The query text for each stage; the default is `q`."""

    vector = _channel_field()
    lexical = _channel_field()
    rerank = _channel_field()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the channels that are not null."""
        return drop_nulls(attrs)


class SearchBody(QueryFields):
    """The body of a search by POST."""

    filters = FilterFields(required=False, allow_null=True)
    channels = ChannelFields(required=False, allow_null=True)


@extend_schema_field(SearchBody)
class _UncheckedQuery(serializers.JSONField):
    pass


class BulkBody(StrictSerializer):
    """The body of a bulk search; each query is the body of a search, validated just before it runs."""

    queries = ShortListField(
        child=_UncheckedQuery(allow_null=True), min_length=1, max_length=MAX_BULK_QUERIES
    )
