"""Arguments of the tools: dataclasses from which the published schemas are built and calls are parsed."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from dataclasses import Field as DataclassField
from functools import cache
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar
from uuid import UUID

from pydantic import BeforeValidator, ConfigDict, FailFast, Field, ValidationError

from kebab.errors import FieldError, InvalidRequest
from kebab.http.api.parsers import check_text
from kebab.wire import adapter_of, locate_error
from search.libraries.context import DEFAULT_TOKENS as LIBRARY_TOKENS
from search.libraries.context import MAX_TOKENS as MOST_LIBRARY_TOKENS
from search.libraries.ids import MAX_ID_CHARS
from search.mcp.tools.outputs import without_refs
from search.mcp.tools.token_budget import LEAST_TOKENS, MOST_TOKENS
from search.models.source import MAX_TAG_CHARS
from search.retrieval.errors import preview
from search.retrieval.query.filter_codec import filters_from_json
from search.retrieval.query.filters import SearchFilters
from search.retrieval.text.sanitize import strip_unstorable

DEFAULT_TOKENS: Final = 5_000
CODE_TOKENS: Final = 8_000
MOST_HITS: Final = 100
MOST_AROUND: Final = 100
_MOST_CHARS: Final = 4_000
_MOST_UNKNOWN: Final = 5

Arguments = TypeVar("Arguments")


def _clean_text(given: object) -> object:
    """Drop characters that no stored text has, such as NUL, instead of refusing them."""
    return strip_unstorable(given) if isinstance(given, str) else given


def _wrap_in_list(given: object) -> object:
    """Return a single value as a list of one."""
    return [given] if isinstance(given, str) else given


QueryText = Annotated[str, BeforeValidator(_clean_text), Field(max_length=_MOST_CHARS)]
# One error is enough: 80,000 wrong texts took 90 MB.
Texts = Annotated[tuple[QueryText, ...], FailFast(), BeforeValidator(_wrap_in_list), Field(max_length=100)]
Filters = Annotated[
    SearchFilters,
    BeforeValidator(filters_from_json),
    Field(
        description="Narrows what is looked at: values of one filter are alternatives, all filters must hold."
        " source: keys of sources; version: tags, without any the default versions; path_glob: anchored,"
        " like guides/**/*.md; ingested_after, dated_after, dated_before: ISO 8601"
        " with a time zone."
    ),
]
MaxTokens = Annotated[
    int,
    Field(
        ge=LEAST_TOKENS,
        le=MOST_TOKENS,
        description="The most tokens of the answer; it ends with a whole passage, only the first one is cut.",
    ),
]


class _Strict:
    __slots__ = ()
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchArguments(_Strict):
    """Arguments of `search`."""

    query: Annotated[
        QueryText,
        Field(
            description='Words or a question. "a phrase" is required, -word and -"a phrase" exclude passages;'
            " title: path: source: type: lang: tag: author: after: before: filter, as type:pdf after:2026-03."
        ),
    ]
    mode: Annotated[
        Literal["hybrid", "lexical", "vector"],
        Field(description="By words and meaning, by words alone, by meaning alone."),
    ] = "hybrid"
    fusion: Annotated[
        Literal["rrf", "convex"] | None,
        Field(description="How both lists become one; left out: the workspace's setting."),
    ] = None
    sort: Annotated[
        Literal["relevance", "date", "date_asc", "title"],
        Field(description="date: the newest of the best hits first; date_asc: the oldest."),
    ] = "relevance"
    k: Annotated[
        int | None, Field(ge=1, le=MOST_HITS, description="The most hits; left out: the workspace's setting.")
    ] = None
    max_per_document: Annotated[
        int | None,
        Field(
            ge=0,
            le=MOST_HITS,
            description="The most hits of one document; 0: no limit; left out: 2, or as many as fill up k.",
        ),
    ] = None
    filters: Filters = field(default_factory=SearchFilters)
    max_tokens: MaxTokens = DEFAULT_TOKENS
    detail: Annotated[
        Literal["titles", "snippets", "passages"],
        Field(description="Where each hit is; with the words around the find; or with its whole text."),
    ] = "snippets"


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchArguments(_Strict):
    """Arguments of `fetch`."""

    id: Annotated[
        str,
        Field(
            max_length=_MOST_CHARS,
            description="A chunk's or a document's id, or a citation like guides/install.md#L7-L12.",
        ),
    ]
    lines: Annotated[
        str | None,
        Field(description="Lines of the document, like 10-40, or 10 for one; left out: what the id names."),
    ] = None
    before: Annotated[
        int,
        Field(
            ge=0, le=MOST_AROUND, description="Passages before; with lines, or a citation of lines, lines."
        ),
    ] = 0
    after: Annotated[
        int,
        Field(
            ge=0, le=MOST_AROUND, description="Passages behind; with lines, or a citation of lines, lines."
        ),
    ] = 0
    max_tokens: MaxTokens = DEFAULT_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveLibraryArguments(_Strict):
    """Arguments of `resolve-library-id`."""

    libraryName: Annotated[
        QueryText,
        Field(
            min_length=1, max_length=300, description="A part of title, id or description, or its content's."
        ),
    ]
    query: Annotated[
        QueryText, Field(description="The question: of libraries equally good, who answers it best?")
    ] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryDocsArguments(_Strict):
    """Arguments of `query-docs`."""

    libraryId: Annotated[
        str,
        Field(
            max_length=MAX_ID_CHARS + 1 + MAX_TAG_CHARS,
            description="As resolve-library-id gives it: /owner/repo, /owner/repo@v1.2.",
        ),
    ]
    query: Annotated[QueryText, Field(description="What is to be known of it.")]
    tokens: Annotated[
        int,
        Field(
            ge=1,
            le=MOST_LIBRARY_TOKENS,
            description="The most tokens of the answer; it ends with the last whole snippet that fits.",
        ),
    ] = LIBRARY_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class CodebaseArguments(_Strict):
    """Arguments of `codebase-retrieval`."""

    information_request: Annotated[
        QueryText, Field(description="What is to be known of the code, in plain words.")
    ]
    source: Annotated[Texts, Field(description="Keys or ids of the code's sources; left out: all.")] = ()
    version: Annotated[Texts, Field(description="Version tags; left out: the default versions.")] = ()
    technical_terms: Annotated[
        Texts, Field(description="Names that the code is likely to hold: functions, types, options, errors.")
    ] = ()
    response_mode: Annotated[
        Literal["text", "overview"],
        Field(
            description="The best files' code with paths and lines; or files and what they define, then code."
        ),
    ] = "text"
    include: Annotated[
        Texts, Field(description="Patterns, as src/**/*.py: a path has to fit one of them.")
    ] = ()
    exclude: Annotated[
        Texts, Field(description="Patterns, as **/tests/**: a path may fit none of them.")
    ] = ()
    languages: Annotated[Texts, Field(description="Programming languages, by name or file ending.")] = ()
    max_tokens: MaxTokens = CODE_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class AskArguments(_Strict):
    """Arguments of `ask`."""

    question: Annotated[QueryText, Field(description="What is to be known, as one would ask a colleague.")]
    filters: Filters = field(default_factory=SearchFilters)
    conversation_id: Annotated[
        UUID | None, Field(description="Of an answer before, to go on with; left out: a new conversation.")
    ] = None
    recency: Annotated[
        float | None, Field(ge=0, le=1, description="The share of its score that an old hit loses.")
    ] = None


def input_schema(type_: type[Any]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments."""
    schema = adapter_of(type_).json_schema()  # type: ignore[arg-type]  # mypy thinks that classes have no hash
    if "SearchFilters" in schema.get("$defs", {}):
        schema["$defs"]["SearchFilters"]["properties"]["metadata"] = _METADATA
    return without_refs(schema)


_METADATA: Final = {
    "type": "object",
    "additionalProperties": True,
    "description": 'By field: a value, alternatives, or {"gte": 2020, "lt": "2026-01-31", "not": "x",'
    ' "exists": true}.',
}


def read_arguments(type_: type[Arguments], given: Mapping[str, Any]) -> Arguments:
    """Parse a tool's arguments, without unknown ones; null for an optional one means the default.

    Raises InvalidRequest, naming the argument, InvalidQuery, InvalidFilter.
    """
    check_text(dict(given), _query_text_fields(type_))  # type: ignore[arg-type]  # mypy thinks that classes have no hash
    optional = {each.name: not _is_required(each) for each in fields(type_)}  # type: ignore[arg-type]  # all are dataclasses
    stated = {
        name: value
        for name, value in given.items()
        if name in optional and not (value is None and optional[name])
    }
    try:
        arguments: Arguments = adapter_of(type_).validate_python(stated)  # type: ignore[arg-type]  # mypy thinks that classes have no hash
    except ValidationError as error:
        errors = [_field_error(each) for each in error.errors(include_url=False, include_input=False)]
        if note := unknown_note(type_, given):
            errors.append(FieldError(field="arguments", message=note))
        raise InvalidRequest(errors[0].message, errors=errors) from error
    return arguments


def unknown_note(type_: type[Any], given: Mapping[str, Any]) -> str:
    """Return a note on the arguments that a tool doesn't have; '' without such."""
    known = [each.name for each in fields(type_)]
    unknown = [preview(name) for name in given if name not in known]
    if not unknown:
        return ""
    listed = ", ".join(unknown[:_MOST_UNKNOWN])
    return f"There is no argument {listed}, so it was ignored; there are: {', '.join(known)}."


def _is_required(argument: DataclassField[Any]) -> bool:
    return argument.default is MISSING and argument.default_factory is MISSING


@cache
def _query_text_fields(type_: type[Any]) -> frozenset[str]:
    return frozenset({"query", "question", "libraryName", "information_request"}) & {
        each.name for each in fields(type_)
    }


def _field_error(error: Any) -> FieldError:
    place, wanted = locate_error(error)
    message = {
        "missing_keyword_only_argument": "It is needed.",
        "missing": "It is needed.",
    }.get(error["type"], f"{wanted}.")
    return FieldError(field=place[:200], message=message)
