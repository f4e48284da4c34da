"""Reading candidates back from Postgres by id, under workspace, rights and filters: the last word.

Whatever a mirror or a vector index believes, only what stands here is fused, ranked and shown.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from types import MappingProxyType
from typing import Any

from django.db.models import Case, OuterRef, QuerySet, Subquery, TextField, UUIDField, Value, When
from django.db.models.functions import Cast, Replace

from kebab.database.compiled_queries import Slot, Statement, compiled
from kebab.runtime import failpoints
from search.access.scope import Scope, chunks_in, slots
from search.mirror.query.unchecked_hits import believed_documents, believed_hits
from search.models import Chunk
from search.vectors.nearest import QueryPoint
from search.vectors.vector_rows import MOST_PLACED, placed, similarities_of

_WORKSPACE = Slot("workspace", UUIDField())


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingChunk:
    """A chunk as it stands now, with what a hit says of it."""

    chunk_id: str
    doc_id: str
    path: str
    title: str
    heading_path: tuple[str, ...]
    section_label: str
    text: str
    source_spans: Sequence[dict[str, Any]]
    chunker_version: str
    indexed_at: datetime
    source_key: str
    version_tag: str
    lang: str
    tags: tuple[str, ...]
    trust_level: str
    language: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The candidates that stand."""

    #: What names each one's document, by chunk id.
    documents: Mapping[str, int]
    #: The cosine similarity to the query's vector of each that was asked about and has one.
    similarities: Mapping[str, float]
    #: Where the first of those lie, for `search.vectors.vector_rows.vectors_of`.
    places: Mapping[str, bytes]


def read_back(
    scope: Scope, chunk_ids: Sequence[str], near: QueryPoint | None = None, strangers: Sequence[str] = ()
) -> Standing:
    """Return those of `chunk_ids` that stand under the scope, and how near `strangers` of them are to `near`.

    The best of the strangers come first: so many as are placed are. One query.
    """
    if not failpoints.is_on("readback"):
        believed = believed_documents(scope.workspace_id, chunk_ids)
        return Standing(documents=believed, similarities={}, places={})
    if near is None or not strangers:
        return Standing(documents=dict(_rows(_standing_ids, scope, chunk_ids)), similarities={}, places={})
    lists = {"placed": strangers[:MOST_PLACED], "measured": strangers[MOST_PLACED:]}
    more = {name: f"{{{','.join(ids)}}}" for name, ids in lists.items()}
    rows = _rows(_standing_near, scope, chunk_ids, near.values | more)
    found = {chunk_id: place for chunk_id, _, place in rows if place is not None}
    measured = frozenset(lists["measured"])
    return Standing(
        documents={chunk_id: document for chunk_id, document, _ in rows},
        similarities=similarities_of(found),
        places={chunk_id: place for chunk_id, place in found.items() if chunk_id not in measured},
    )


def read_hits(scope: Scope, chunk_ids: Sequence[str]) -> dict[str, StandingChunk]:
    """Return the chunks that hits are made of, by id, read under the scope once more."""
    if failpoints.is_on("readback"):
        rows = _rows(_standing_hits, scope, chunk_ids)
    else:
        rows = believed_hits(scope.workspace_id, chunk_ids)
    return {row[0]: _standing_chunk(row) for row in rows}


def read_passages(scope: Scope, chunk_ids: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return breadcrumb and text of those of `chunk_ids` that stand under the scope. One query."""
    return {row[0]: (row[1], row[2]) for row in _rows(_standing_passages, scope, chunk_ids)}


def _rows(
    statement: Callable[[frozenset[str]], Statement],
    scope: Scope,
    chunk_ids: Sequence[str],
    more: Mapping[str, Any] = MappingProxyType({}),
) -> list[tuple[Any, ...]]:
    narrowing = scope.chunk_values
    values = {"workspace": scope.workspace_id, "chunk_ids": f"{{{','.join(chunk_ids)}}}", **narrowing, **more}
    return statement(frozenset(narrowing)).rows(values)


@cache
def _standing_ids(narrowing: frozenset[str]) -> Statement:
    return _compiled(narrowing, _standing(narrowing).values_list(_hex("chunk_id"), "document_id"))


@cache
def _standing_near(narrowing: frozenset[str]) -> Statement:
    place, distance = (
        Subquery(placed(OuterRef("chunk_id"), with_vector=with_vector)) for with_vector in (True, False)
    )
    near = Case(
        When(chunk_id__any_of=Slot("placed"), then=place),
        When(chunk_id__any_of=Slot("measured"), then=distance),
    )
    return _compiled(narrowing, _standing(narrowing).values_list(_hex("chunk_id"), "document_id", near))


@cache
def _standing_passages(narrowing: frozenset[str]) -> Statement:
    return _compiled(narrowing, _standing(narrowing).values_list(_hex("chunk_id"), "breadcrumb", "text"))


@cache
def _standing_hits(narrowing: frozenset[str]) -> Statement:
    standing = _standing(narrowing).filter(
        document__workspace=_WORKSPACE,
        document__source__workspace=_WORKSPACE,
        document__version__workspace=_WORKSPACE,
    )
    return _compiled(
        narrowing,
        standing.values_list(
            _hex("chunk_id"),
            _hex("document__doc_id"),
            "document__path",
            "document__title",
            "heading_path",
            "section_label",
            "text",
            "source_spans",
            "document__chunker_version",
            "document__indexed_at",
            "document__source__key",
            "document__version__tag",
            "document__lang",
            "document__tags",
            "document__trust_level",
            "language",
        ),
    )


def _compiled(narrowing: frozenset[str], standing: "QuerySet[Chunk, Any]") -> Statement:
    # By ids alone there is one way; filters may be better served first.
    return compiled(standing, is_planned_once=not narrowing)


def _standing(narrowing: frozenset[str]) -> "QuerySet[Chunk]":
    return chunks_in(_WORKSPACE, slots(narrowing)).filter(chunk_id__any_of=Slot("chunk_ids"))


def _hex(column: str) -> Replace:
    """Return a UUID as PostgreSQL writes it, without the hyphens: making UUID objects takes Python longer."""
    return Replace(Cast(column, TextField()), Value("-"), Value(""), output_field=TextField())


def _standing_chunk(row: tuple[Any, ...]) -> StandingChunk:
    return StandingChunk(
        chunk_id=row[0],
        doc_id=row[1],
        path=row[2],
        title=row[3],
        heading_path=tuple(row[4]),
        section_label=row[5],
        text=row[6],
        source_spans=json.loads(row[7]),
        chunker_version=row[8],
        indexed_at=row[9],
        source_key=row[10],
        version_tag=row[11],
        lang=row[12],
        tags=tuple(row[13]),
        trust_level=row[14],
        language=row[15],
    )
