"""Conditions on chunks and documents, as PostgreSQL evaluates them under the rights of a scope.

Words of passages, titles and authors need the index's analysis: they are compared here, for chunks whose ids
are known, and PostgreSQL gets the ids of those that have them.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from operator import and_, or_
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from django.db.models import Q, QuerySet, TextField, UUIDField, Value
from django.db.models.functions import Cast, Replace

from kebab.database.compiled_queries import CompiledQuery, Param, compile_queryset
from search.access.scope import SearchScope
from search.analysis import STEMMED
from search.models import Chunk, Document
from search.retrieval.query.conditions import (
    BOUNDS,
    METADATA_PREFIX,
    TEXT_TESTS,
    AllOf,
    Comparison,
    Condition,
    Not,
    comparisons,
    shape_of,
)
from search.retrieval.query.metadata import FOLDED, NUMBERS
from search.retrieval.query.passage_words import WordedPassage

#: Conditions without values: each shape has its own statements.
Shape = tuple[Condition, ...]
#: The ids of the chunks that have the words of a comparison.
Worded = Mapping[Comparison, Sequence[str]]

# The Django lookups of comparisons with a document, and with a chunk.
_LOOKUPS: Final = {
    "path": "path__lower__regex",
    "lang": "lang__lower__any_of",
    "trust": "trust_level__any_of",
    "media": "media__any_of",
    "doc_id": "doc_id__any_of",
    "tag": "tags__overlap_folded",
    "author": "author__lower__any_of",
    "indexed_at": "indexed_at__{test}",
    "dated_at": "dated_at__{test}",
    "source": "source__key__any_of",
    "sources": "source__pk__any_of",
    "version": "version__tag__any_of",
    METADATA_PREFIX: "filter_values__meets_path",
}
# The lookups of texts of a document that are compared in part, too.
_TEXT_LOOKUPS: Final = {
    "path": "path__lower__regex",
    "author": "author__lower__regex",
    "source": "source__key__lower__regex",
    "doc_id": "doc_id__hex__regex",
    "date": "dated_at__iso__lower__regex",
}
_SQL_REGEXES: Final = {
    "equals": "^(?:{})$",
    "starts": "^(?:{})",
    "ends": "(?:{})$",
    "contains": "{}",
    "present": ".",
}
_CHUNK_LOOKUPS: Final = {"kind": "kind__any_of", "code_lang": "language__any_of"}
# The columns of the fields of `WordedPassage`.
_WORDED: Final = {
    "breadcrumb": "breadcrumb",
    "text": "text",
    "path": "document__path",
    "title": "document__title",
    "author": "document__author",
}
_IDS: Final = ("chunk_id", "document__doc_id")
_WORKSPACE: Final = Param("workspace", UUIDField())
# Compiled statements that are kept.
_MAX_STATEMENTS: Final = 1_024


def read_chunks(scope: SearchScope, chunk_ids: Sequence[str], *columns: str) -> list[tuple[Any, ...]]:
    """Return these columns of those of the chunks that are visible under the scope; ids as hex digits.

    One query; with operators on words another one before it.
    """
    worded = find_worded(scope, chunk_ids)
    return _read(scope.workspace_id, chunk_ids, columns, conditions=scope.narrowing, worded=worded)


def find_meeting(
    scope: SearchScope, condition: Condition, chunk_ids: Sequence[str], worded: Worded
) -> set[str]:
    """Return those of the chunks that meet a condition, regardless of rights. One query."""
    rows = _read(scope.workspace_id, chunk_ids, ("chunk_id",), conditions=(condition,), worded=worded)
    return {chunk_id for (chunk_id,) in rows}


def find_worded(scope: SearchScope, chunk_ids: Sequence[str]) -> Worded:
    """Return those of the chunks that have the words of each comparison, regardless of rights. One query."""
    if scope.operators is None and not scope.filters.metadata:
        return {}
    wanted = [each for each in _every_comparison(scope.narrowing) if each.is_on_words]
    if not wanted:
        return {}
    # Conditions of filters compare titles, which need no analysis.
    analysis = STEMMED if scope.operators is None else scope.operators.analysis
    rows = _read(scope.workspace_id, chunk_ids, ("chunk_id", *_WORDED.values()))
    passages = {
        id_: WordedPassage(analysis=analysis, **dict(zip(_WORDED, texts, strict=True)))
        for id_, *texts in rows
    }
    return {each: [id_ for id_, passage in passages.items() if passage.meets(each)] for each in wanted}


def chunks_in_scope(scope: SearchScope) -> "QuerySet[Chunk]":
    """Return the chunks that the reader may see, without the conditions on words."""
    conditions = without_words(scope.narrowing)
    return _chunks_meeting(scope.workspace_id, conditions, _sql_values(conditions, {}))


def documents_in_scope(scope: SearchScope) -> "QuerySet[Document]":
    """Return the documents that the reader may see, without the conditions on words and passages."""
    conditions = [
        each
        for each in without_words(scope.narrowing)
        if not any(part.is_on_chunk for part in comparisons(each))
    ]
    documents: QuerySet[Document] = Document.objects.in_workspace(scope.workspace_id)
    return documents.filter(_to_q(conditions, _sql_values(conditions, {}), scope.workspace_id, prefix=""))


def without_words(conditions: Iterable[Condition]) -> Shape:
    """Return the conditions that PostgreSQL can evaluate without the ids of chunks."""
    return tuple(each for each in conditions if not any(part.is_on_words for part in comparisons(each)))


def narrowed_chunks(shape: Shape) -> "QuerySet[Chunk]":
    """Return the chunks that meet conditions of a shape, with params for workspace and values."""
    params = (Param(f"value{place}") for place, _ in enumerate(_every_comparison(shape)))
    return _chunks_meeting(_WORKSPACE, shape, params)


def param_values(conditions: Shape, worded: Worded) -> dict[str, Any]:
    """Return the values of the params of `narrowed_chunks`."""
    return {f"value{place}": value for place, value in enumerate(_sql_values(conditions, worded))}


def shapes_of(conditions: Shape) -> Shape:
    """Return conditions without their values."""
    return tuple(map(shape_of, conditions)) if conditions else ()


def as_array(chunk_ids: Iterable[str]) -> str:
    """Return ids of chunks as PostgreSQL reads an array."""
    return f"{{{','.join(chunk_ids)}}}"


def _read(
    workspace_id: UUID,
    chunk_ids: Sequence[str],
    columns: tuple[str, ...],
    *,
    conditions: Shape = (),
    worded: Worded = MappingProxyType({}),
) -> list[tuple[Any, ...]]:
    values: dict[str, Any] = {"workspace": workspace_id, "chunk_ids": as_array(chunk_ids)}
    if conditions:
        values |= param_values(conditions, worded)
    return _statement(shapes_of(conditions), columns).fetch(values)


@lru_cache(_MAX_STATEMENTS)
def _statement(shape: Shape, columns: tuple[str, ...]) -> CompiledQuery:
    joined = {column.removesuffix("__micros").rpartition("__")[0] for column in columns if "__" in column}
    if joined:
        joined.add("document")
    of_workspace = {f"{table}__workspace": _WORKSPACE for table in sorted(joined)}
    chunks = narrowed_chunks(shape).filter(chunk_id__any_of=Param("chunk_ids"), **of_workspace)
    selected = (_hex_column(column) if column in _IDS else column for column in columns)
    # By ids alone there is only one plan; with conditions the best plan depends on the values.
    return compile_queryset(chunks.values_list(*selected), is_prepared=not shape)


def _hex_column(column: str) -> Replace:
    """Return the column of a UUID as 32 hex digits; creating UUID objects in Python would take longer."""
    return Replace(Cast(column, TextField()), Value("-"), Value(""), output_field=TextField())


def _every_comparison(conditions: Iterable[Condition]) -> Iterator[Comparison]:
    for each in conditions:
        yield from comparisons(each)


def _chunks_meeting(workspace_id: Any, conditions: Shape, values: Iterable[Any]) -> "QuerySet[Chunk]":
    """Return the chunks that meet conditions; `values` are those of their comparisons, or params."""
    chunks = Chunk.objects.filter(workspace_id=workspace_id)
    if not conditions:
        return chunks
    return chunks.filter(_to_q(conditions, values, workspace_id, prefix="document__"))


def _to_q(conditions: Sequence[Condition], values: Iterable[Any], workspace_id: Any, *, prefix: str) -> Q:
    """Return the conditions on a chunk for a prefix, or else on a document.

    Rows of joined tables are filtered by workspace, too.
    """
    each_value = iter(values)
    parts = [_part_to_q(each, each_value, prefix) for each in conditions]
    compared = list(_every_comparison(conditions))
    joined = {f"{prefix}{each.field}__" for each in compared if each.field in ("source", "version")}
    if any(not (each.is_on_chunk or each.is_on_words) for each in compared):
        joined.add(prefix)
    parts += [Q(**{f"{path}workspace": workspace_id}) for path in sorted(joined) if path]
    return reduce(and_, parts, Q())


def _part_to_q(condition: Condition, values: Iterator[Any], prefix: str) -> Q:
    if isinstance(condition, Not):
        return ~_part_to_q(condition.part, values, prefix)
    if not isinstance(condition, Comparison):
        parts = [_part_to_q(part, values, prefix) for part in condition.parts]
        return reduce(and_ if isinstance(condition, AllOf) else or_, parts)
    return Q(**{_lookup(condition, prefix): next(values)})


def _lookup(comparison: Comparison, prefix: str) -> str:
    if comparison.is_on_words:
        return "chunk_id__any_of"
    if comparison.is_on_chunk:
        return _CHUNK_LOOKUPS[comparison.field]
    if comparison.field in _TEXT_LOOKUPS and comparison.test in TEXT_TESTS:
        return prefix + _TEXT_LOOKUPS[comparison.field]
    field = METADATA_PREFIX if comparison.field.startswith(METADATA_PREFIX) else comparison.field
    return prefix + _LOOKUPS[field].format(test=comparison.test)


def _sql_values(conditions: Iterable[Condition], worded: Worded) -> list[Any]:
    """Return the value of each comparison as its lookup takes it."""
    return [_sql_value(each, worded) for each in _every_comparison(conditions)]


def _sql_value(comparison: Comparison, worded: Worded) -> Any:
    values = comparison.values
    if comparison.is_on_words:
        return as_array(worded[comparison])
    if comparison.field.startswith(METADATA_PREFIX):
        return _json_path(comparison)
    if comparison.test in BOUNDS:
        return values[0]
    if comparison.test in TEXT_TESTS:
        return _sql_regex(comparison)
    match comparison.field:
        case "path":
            # PostgreSQL caches 32 compiled expressions; with more, each row compiles all of them again.
            return "|".join(f"(?:{glob.sql_regex})" for glob in values)
        case "doc_id":
            return [UUID(hex=value) for value in values]
        case "sources":
            return list(values[0].ids)
    return list(values)


def _json_path(comparison: Comparison) -> str:
    """Return a comparison with metadata as an SQL/JSON path predicate on `filter_values`."""
    name, values = comparison.field.removeprefix(METADATA_PREFIX), comparison.values
    names = (name, name + FOLDED)
    if comparison.test == "one_of":
        condition = " || ".join(f"@ == {_quote(value)}" for value in values)
    elif comparison.test in TEXT_TESTS:
        condition = f"@ like_regex {_quote(_sql_regex(comparison))}"
    else:
        names = (name, name + NUMBERS)
        condition = " && ".join(f"@ {BOUNDS[key]} {_quote(number)}" for key, number in values)
    narrowed = f" ? ({condition})" if condition else ""
    return " || ".join(f"exists($.{_quote(each)}[*]{narrowed})" for each in names)


def _sql_regex(comparison: Comparison) -> str:
    """Return a comparison of texts as a regular expression; without values no text fits it."""
    values = "|".join(map(re.escape, comparison.values))
    return _SQL_REGEXES[comparison.test].format(values) if comparison.values else "a^"


def _quote(value: str | float) -> str:
    return json.dumps(value, ensure_ascii=False)
