"""The query that the fields of a request describe, and its search."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from enum import Enum
from typing import Any, TypeVar

from kebab.errors import FieldError, Forbidden
from kebab.identity.caller import Access
from kebab.identity.models import Workspace
from kebab.tenancy.postgres.standby import reads_only
from search.api.query_fields import FACET_NAMES
from search.corpus.seq_tokens import read_token
from search.engine.facets import MAX_VALUES, count_facets
from search.engine.pages import fetch_next_page
from search.engine.search import search, wait_until_searchable
from search.engine.time_limit import limited_search
from search.mirror.query.attributes import METADATA
from search.models import Door
from search.query_log.recorder import record_query
from search.retrieval.errors import InvalidFilter, InvalidQuery, SequenceUnknown, preview
from search.retrieval.query.channels import QueryChannels
from search.retrieval.query.conditions import METADATA_PREFIX
from search.retrieval.query.filter_codec import filters_from_json
from search.retrieval.query.filter_fields import check_field_name
from search.retrieval.query.filters import NO_FILTERS, SearchFilters
from search.retrieval.query.metadata_filter import parse_metadata_filter
from search.retrieval.types import SearchQuery, SearchResult
from search.settings.search_settings import SearchSettings

_E = TypeVar("_E", bound=Enum)
# Fields that a request and a query have by the same names and values, and those that a query checks.
_NAMES = {field.name for field in fields(SearchQuery)} - {"text", "k", "filters", "channels"}
_CHECKED = ("k", "why_not", "recency", "max_text_chars", "mode", "fusion", "group", "sort", "include")


def run_search(access: Access, given: Mapping[str, Any], filters: Mapping[str, Any]) -> SearchResult:
    """Run the search that a request's clean fields `given` and `filters` describe, or return its next page.

    The caller's rights apply; cursors are bound to the caller's identity.
    Raises InvalidQuery and InvalidFilter with the field named, NotSearchableYet, StaleCursor.
    """
    return hide_answers(access, _run_search(access, given, filters))


def hide_answers(access: Access, result: SearchResult) -> SearchResult:
    """Return the result without promoted answers if the token has filters, which no answer is checked by."""
    return replace(result, promoted=()) if _token_filters(access) else result


def _run_search(access: Access, given: Mapping[str, Any], filters: Mapping[str, Any]) -> SearchResult:
    workspace, reader, caller = access.workspace, access.reader, access.identity
    cursor = given.get("cursor")
    filters = effective_filters(access, given, filters)
    if cursor is not None:
        with _ErrorsAbout("k"):
            return fetch_next_page(workspace, cursor, caller, reader=reader, k=given.get("k", 0))
    query = make_query(workspace, given, filters)
    seq = awaited_seq(workspace, given)
    wait_until_searchable(workspace, seq)  # before the time of the search begins
    return (_search_and_count if "facets" in given else _search)(access, given, query, seq)


def _search(
    access: Access, given: Mapping[str, Any], query: SearchQuery, min_seq: int | None
) -> SearchResult:
    workspace, reader, caller = access.workspace, access.reader, access.identity
    with _ErrorsAbout("q"):
        result = search(workspace, query, reader=reader, min_seq=min_seq, caller=caller)
    door = Door.API if access.caller.operator is None else Door.CLI
    record_query(workspace, result, door=door, caller=caller)
    return result


@limited_search
def _search_and_count(
    access: Access, given: Mapping[str, Any], query: SearchQuery, min_seq: int | None
) -> SearchResult:
    result = _search(access, given, query, min_seq)
    with _ErrorsAbout("facets"):
        facets = count_facets(
            access.workspace,
            # Correcting a word takes longer than counting.
            replace(query, text=result.corrected_query or query.text),
            reader=access.reader,
            names=_facet_names(given["facets"]),
            max_values=given.get("max_facet_values", MAX_VALUES),
        )
    return replace(result, facets=facets)


def effective_filters(
    access: Access, given: Mapping[str, Any], filters: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the filters of a request `given` with those of its token, if that has some.

    Raises Forbidden for what would show more than they let through: facets of the token's own filters, which
    wouldn't narrow their counts, the reasons why something else is not among the hits, and explanations,
    which have words of other documents. Raises InvalidFilter for metadata that can't be merged.
    """
    fixed = _token_filters(access)
    if not fixed:
        return filters
    asked = {} if filters.get("metadata") is None else filters["metadata"]
    with _ErrorsAbout(_filter_prefix(given) + "metadata"):
        parse_metadata_filter(asked)
    own = {name for name in fixed if name != "metadata"}
    own |= {METADATA_PREFIX + name for name in fixed.get("metadata", ())}
    used = {name for name in filters if name != "metadata"}
    used |= {METADATA_PREFIX + name for name in asked}
    for names, where in ((used, "filters"), (set(given.get("facets", ())), "facets")):
        if taken := sorted(own & names):
            raise Forbidden(f"This token fixes the filter {taken[0]}; leave it out of the {where}.")
    if "why_not" in given:
        raise Forbidden("This token has filters, so it may not ask why something is not among the hits.")
    if given.get("explain"):
        raise Forbidden("This token has filters, so it may not ask for explanations.")
    merged = {**filters, **fixed}
    if asked and "metadata" in fixed:
        merged["metadata"] = {**asked, **fixed["metadata"]}
    return merged


def _token_filters(access: Access) -> Mapping[str, Any]:
    """Return the filters of the caller's token; none for other callers."""
    return {} if access.token is None else access.token.filters


def _facet_names(given: Sequence[str]) -> list[str]:
    """Return the names of facets, each once. Raises InvalidQuery, InvalidFilter for the name of no field."""
    for name in given:
        if name.startswith(METADATA_PREFIX):
            check_field_name(name.removeprefix(METADATA_PREFIX))
        elif name not in (*FACET_NAMES, METADATA):
            known = ", ".join((*FACET_NAMES, METADATA))
            raise InvalidQuery(f"There is no facet {preview(name)}; there are: {known}, metadata.NAME.")
    return list(dict.fromkeys(given))


def awaited_seq(workspace: Workspace, given: Mapping[str, Any]) -> int | None:
    """Return the number of the change to wait for. Raises SequenceUnknown if the log has no such change.

    Waiting for it would hold a thread until the wait times out. A change may have been lost in a failover or
    a restore, and its number given to another one since, which only the token tells.
    """
    seq, token = given.get("min_seq") or (None, None)
    if seq is None:
        return None
    is_known = seq <= workspace.head_seq
    if not is_known and reads_only():
        return int(seq)  # a standby may not have replayed it yet
    if is_known and token is not None:
        is_known = read_token(workspace.pk, seq) in {token, 0}  # 0: pruned
    if not is_known:
        with _ErrorsAbout("min_seq"):
            raise SequenceUnknown(
                f"Sequence unknown: change {seq} is not in the log, whose last one is {workspace.head_seq};"
                " read again, and repeat the write if it is missing."
            )
    return int(seq)


def make_query(workspace: Workspace, given: Mapping[str, Any], filters: Mapping[str, Any]) -> SearchQuery:
    """Build the query; the workspace's settings are the defaults.

    Raises InvalidQuery and InvalidFilter with the field named.
    """
    settings, k = SearchSettings.of(workspace), given.get("k", 0)
    for name in _CHECKED:  # alone, so that an error names its field
        if name in given:
            with _ErrorsAbout(name):
                SearchQuery(text="", filters=NO_FILTERS, **{name: given[name]})
    defaults: dict[str, Any] = {
        "operators": True,
        "fusion": settings.fusion,
        "snippet_chars": settings.snippet_chars,
    }
    with _ErrorsAbout("snippet_chars"):
        return SearchQuery(
            text=given["q"],
            k=k or settings.default_k,
            filters=_filters(filters, _filter_prefix(given)),
            channels=_channels(given),
            **defaults | {name: given[name] for name in _NAMES if name in given},
        )


def _filter_prefix(given: Mapping[str, Any]) -> str:
    """Return what stands before the name of a filter in the request: only bodies have them in an object."""
    return "filters." if "filters" in given else ""


def _filters(given: Mapping[str, Any], prefix: str) -> SearchFilters:
    if not given:
        return NO_FILTERS
    for name, value in given.items():  # one by one first, so that an error names its field
        with _ErrorsAbout(prefix + name):
            filters_from_json({name: value})
    return filters_from_json(given)


def _channels(given: Mapping[str, Any]) -> QueryChannels | None:
    channels = given.get("channels")
    if not channels:
        return None
    return QueryChannels(
        vector=channels.get("vector", given["q"]),
        lexical=channels.get("lexical", given["q"]),
        rerank=channels.get("rerank", given["q"]),
    )


def parse_enum(type_: type[_E], field: str, value: str) -> _E:
    """Return the member of `type_` for `value`. Raises the error of `type_`, with the field named."""
    with _ErrorsAbout(field):
        return type_(value)


class _ErrorsAbout:
    """A context manager that sets `field` as the field that an error is about; the innermost field wins."""

    def __init__(self, field: str) -> None:
        self._field = field

    def __enter__(self) -> None: ...

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, (InvalidQuery, InvalidFilter)) and not getattr(error, "errors", ()):
            error.errors = (FieldError(field=self._field, message=str(error)),)  # type: ignore[union-attr]  # the exception handler reads them
