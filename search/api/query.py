"""What a search request may say, and the query it becomes."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from enum import Enum
from typing import Any, ClassVar, TypeVar

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from kebab.http.api.errors import FieldError
from kebab.http.api.fields import ShortListField, TypedTextField
from kebab.http.api.serializers import StrictSerializer
from kebab.people.access.caller import Access
from kebab.people.models import Workspace
from kebab.people.workspace_settings.registry import preference
from search.engine.pages import next_page
from search.engine.search import search
from search.models import Door
from search.query_log.recorder import note_query
from search.retrieval.errors import InvalidFilter, InvalidQuery
from search.retrieval.query.channels import QueryChannels
from search.retrieval.query.filters import ChunkKind, Media, SearchFilters, TrustLevel
from search.retrieval.types import Fusion, Mode, SearchQuery, SearchResult

MAX_SNIPPET_CHARS = 10_000
#: What is looked for, by the names of its fields.
TYPED_TEXT = frozenset({"q", "vector", "lexical", "rerank"})
#: The most values of one filter.
MAX_FILTER_VALUES = 100
MAX_BULK_QUERIES = 100
_MAX_CURSOR_CHARS = 200

_E = TypeVar("_E", bound=Enum)


class EnumeratedField(serializers.ChoiceField):
    """A value of an enumeration, documented here; the enumeration itself refuses others, with the remedy."""

    def __init__(self, values: type[Enum], **options: Any) -> None:
        super().__init__(choices=[value.value for value in values], **options)

    def to_internal_value(self, data: Any) -> str:
        """Return the text. Raises ValidationError for anything else."""
        if not isinstance(data, str):
            self.fail("invalid_choice", input=data)
        return data


class ValuesField(ShortListField):
    """Alternatives: a list, or one value by itself."""

    def __init__(self, child: serializers.Field[Any, Any, Any, Any], **options: Any) -> None:
        super().__init__(
            child=child, required=False, allow_null=True, max_length=MAX_FILTER_VALUES, **options
        )

    def to_internal_value(self, data: Any) -> list[Any]:
        """Return the values. Raises ValidationError."""
        return super().to_internal_value([data] if isinstance(data, str) else data)


class FlagField(serializers.BooleanField):
    """True or false, or null for neither; no text means null."""

    NULL_VALUES: ClassVar = {None}

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, allow_null=True, **options)


class MomentField(serializers.DateTimeField):
    """A time by ISO 8601, taken as it is written: a missing time zone is for the filter to refuse."""

    def to_internal_value(self, value: Any) -> datetime:
        """Return the time. Raises ValidationError."""
        try:
            return datetime.fromisoformat(value)
        except (TypeError, ValueError):
            self.fail("invalid", format="2026-01-31T12:00:00Z")


class AwaitedSeqField(serializers.IntegerField):
    """The number of a change that is to be searchable before there is an answer."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            min_value=0,
            max_value=2**63 - 1,
            help_text="Wait, within a limit, until this change is searchable.",
            **options,
        )


def _texts(help_text: str = "") -> ValuesField:
    return ValuesField(
        serializers.CharField(max_length=1_000, trim_whitespace=False, allow_blank=True), help_text=help_text
    )


def stated(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is stated: a null is as good as nothing."""
    return {name: value for name, value in fields.items() if value is not None}


class FilterFields(StrictSerializer):
    """What a search is narrowed to: values of one filter are alternatives, all filters must hold.

    Of `path_not_glob` no value may fit.
    """

    tags_any = _texts()
    lang = _texts()
    path_glob = _texts("Anchored; `*`, `?`, `[…]` stay within a name, `**/` is any number of folders.")
    path_not_glob = _texts("The same; a path that fits any of these is left out.")
    trust_min = EnumeratedField(TrustLevel, required=False, allow_null=True)
    source = _texts("Keys or ids of sources.")
    version = _texts("Version tags; without any, the default versions are searched.")
    kind = ValuesField(EnumeratedField(ChunkKind))
    code_lang = _texts("Programming languages of code: python, typescript, go; js and py are known, too.")
    media = ValuesField(EnumeratedField(Media))
    doc_id = _texts()
    ingested_after = MomentField(required=False, allow_null=True, help_text="With a time zone.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the filters that narrow."""
        return stated(attrs)


class QueryFields(StrictSerializer):
    """A search, but for its filters; what is left out is the workspace's setting."""

    q = TypedTextField(
        required=False,
        allow_null=True,
        allow_blank=True,
        trim_whitespace=False,
        help_text="Needed without a cursor.",
    )
    cursor = serializers.CharField(
        required=False,
        allow_null=True,
        max_length=_MAX_CURSOR_CHARS,
        help_text="`next_cursor` of the page before; k alone may stand beside it.",
    )
    mode = EnumeratedField(Mode, required=False, allow_null=True)
    fusion = EnumeratedField(Fusion, required=False, allow_null=True)
    k = serializers.IntegerField(
        required=False, allow_null=True, help_text="At most 1,000; 0: the workspace's setting."
    )
    snippet_chars = serializers.IntegerField(required=False, allow_null=True, max_value=MAX_SNIPPET_CHARS)
    per_file_cap = serializers.IntegerField(
        required=False, allow_null=True, help_text="The most hits of one document; 0 and less: no limit."
    )
    rerank = FlagField(help_text="Have the first candidates read again.")
    cutoff = FlagField(help_text="End the list where its scores say that it stops being about the question.")
    explain = FlagField()
    why_not = serializers.CharField(
        required=False, allow_null=True, help_text="A chunk or document: why it is not among the hits."
    )
    min_seq = AwaitedSeqField(required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of a query, or a cursor and k. Raises ValidationError."""
        given = stated(attrs)
        if "cursor" not in given:
            if "q" not in given:
                raise serializers.ValidationError({"q": [self.fields["q"].error_messages["required"]]})
            return given
        beside = sorted(given.keys() - {"cursor", "k"})
        if beside:
            raise serializers.ValidationError(
                {name: ["A cursor has its query already; leave this out."] for name in beside}
            )
        return given


class SearchParameters(QueryFields, FilterFields):
    """The parameters of a search by GET; the filters stand beside the others and may be repeated."""


def _channel() -> TypedTextField:
    return TypedTextField(required=False, allow_null=True, allow_blank=True, trim_whitespace=False)


class ChannelFields(StrictSerializer):
    """The query as each stage is asked it; what is left out is `q`."""

    vector = _channel()
    lexical = _channel()
    rerank = _channel()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the channels that are not `q`."""
        return stated(attrs)


class SearchBody(QueryFields):
    """The body of a search by POST."""

    filters = FilterFields(required=False, allow_null=True)
    channels = ChannelFields(required=False, allow_null=True)


@extend_schema_field(SearchBody)
class _UncheckedQuery(serializers.JSONField):
    pass


class BulkBody(StrictSerializer):
    """The body of a bulk search; each query is the body of a search, checked when its turn comes."""

    queries = ShortListField(
        child=_UncheckedQuery(allow_null=True), min_length=1, max_length=MAX_BULK_QUERIES
    )


def answer(access: Access, given: Mapping[str, Any], filters: Mapping[str, Any]) -> SearchResult:
    """Search for what `given` and `filters`, the clean fields of a request, ask for, or turn the page.

    Under the caller's rights; cursors are bound to its identity.
    Raises InvalidQuery and InvalidFilter with the field named, NotSearchableYet, StaleCursor.
    """
    workspace, reader, caller = access.workspace, access.reader, access.identity
    cursor = given.get("cursor")
    if cursor is not None:
        with _naming("k"):
            return next_page(workspace, cursor, caller, reader=reader, k=given.get("k", 0))
    query = make_query(workspace, given, filters)
    seq = awaited_seq(workspace, given)
    with _naming("q"):
        result = search(workspace, query, reader=reader, min_seq=seq, caller=caller)
    note_query(workspace, result, door=Door.API, caller=caller)
    return result


def awaited_seq(workspace: Workspace, given: Mapping[str, Any]) -> int | None:
    """Return the change to wait for. Raises InvalidQuery for one that was not made when the request came.

    Nobody can have been told of it, and waiting for it would hold a thread for as long as a wait may take.
    """
    seq: int | None = given.get("min_seq")
    if seq is not None and seq > workspace.head_seq:
        with _naming("min_seq"):
            raise InvalidQuery(
                f"There is no change {seq}, the last one is {workspace.head_seq}; give the seq of a write."
            )
    return seq


def make_query(workspace: Workspace, given: Mapping[str, Any], filters: Mapping[str, Any]) -> SearchQuery:
    """Return the query, the workspace's settings in the place of what is left out.

    Raises InvalidQuery and InvalidFilter with the field named.
    """
    k = given.get("k", 0)
    with _naming("k"):
        SearchQuery(text="", k=k)
    with _naming("why_not"):
        SearchQuery(text="", why_not=given.get("why_not"))
    with _naming("snippet_chars"):
        return SearchQuery(
            text=given["q"],
            mode=enumerated(Mode, "mode", given.get("mode", Mode.HYBRID)),
            fusion=enumerated(Fusion, "fusion", given.get("fusion", preference(workspace, "fusion"))),
            k=k or preference(workspace, "default_k"),
            filters=_filters(filters, "filters." if "filters" in given else ""),
            channels=_channels(given),
            snippet_chars=given.get("snippet_chars", preference(workspace, "snippet_chars")),
            per_file_cap=given.get("per_file_cap"),
            rerank=given.get("rerank", False),
            cutoff=given.get("cutoff", False),
            explain=given.get("explain", False),
            why_not=given.get("why_not"),
        )


def _filters(given: Mapping[str, Any], prefix: str) -> SearchFilters:
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
    }
    for name, type_ in (("kind", ChunkKind), ("media", Media)):
        if name in values:
            values[name] = tuple(enumerated(type_, prefix + name, value) for value in values[name])
    if "trust_min" in values:
        values["trust_min"] = enumerated(TrustLevel, f"{prefix}trust_min", values["trust_min"])
    for name, value in values.items():  # one by one first: an error then names its field
        with _naming(prefix + name):
            SearchFilters(**{name: value})
    return SearchFilters(**values)


def _channels(given: Mapping[str, Any]) -> QueryChannels | None:
    channels = given.get("channels")
    if not channels:
        return None
    return QueryChannels(
        vector=channels.get("vector", given["q"]),
        lexical=channels.get("lexical", given["q"]),
        rerank=channels.get("rerank", given["q"]),
    )


def enumerated(type_: type[_E], field: str, value: str) -> _E:
    """Return the member of `type_` that `value` names. Raises what it raises for others, the field named."""
    with _naming(field):
        return type_(value)


@contextmanager
def _naming(field: str) -> Iterator[None]:
    """Have a refusal say which field it is about; the innermost name stands."""
    try:
        yield
    except (InvalidQuery, InvalidFilter) as error:
        if not getattr(error, "errors", ()):
            error.errors = (FieldError(field=field, message=str(error)),)  # type: ignore[union-attr]
        raise
