"""Reading candidates back from Postgres by id, under workspace, rights and filters: the last word.

Whatever a mirror or a vector index believes, only what stands here is fused, ranked and shown.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from django.db.models import QuerySet, TextField, UUIDField, Value
from django.db.models.functions import Cast, Replace

from search.models import Chunk
from search.scope import Scope, chunks_in, slots
from search.statements import Slot, Statement, compiled

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


def read_back(scope: Scope, chunk_ids: Sequence[str]) -> dict[str, str]:
    """Give those of `chunk_ids` that stand under the scope, each with its document's id. One query."""
    return dict(_rows(_standing_ids, scope, chunk_ids))


def read_hits(scope: Scope, chunk_ids: Sequence[str]) -> dict[str, StandingChunk]:
    """Give the chunks that hits are made of, by id, read under the scope once more."""
    return {row[0]: _standing_chunk(row) for row in _rows(_standing_hits, scope, chunk_ids)}


def read_passages(scope: Scope, chunk_ids: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Give breadcrumb and text of those of `chunk_ids` that stand under the scope. One query."""
    return {row[0]: (row[1], row[2]) for row in _rows(_standing_passages, scope, chunk_ids)}


def _rows(
    statement: Callable[[frozenset[str]], Statement], scope: Scope, chunk_ids: Sequence[str]
) -> list[tuple[Any, ...]]:
    narrowing = scope.chunk_values
    values = {"workspace": scope.workspace_id, "chunk_ids": f"{{{','.join(chunk_ids)}}}", **narrowing}
    return statement(frozenset(narrowing)).rows(values)


@cache
def _standing_ids(narrowing: frozenset[str]) -> Statement:
    return compiled(_standing(narrowing).values_list(_hex("chunk_id"), _hex("document__doc_id")))


@cache
def _standing_passages(narrowing: frozenset[str]) -> Statement:
    return compiled(_standing(narrowing).values_list(_hex("chunk_id"), "breadcrumb", "text"))


@cache
def _standing_hits(narrowing: frozenset[str]) -> Statement:
    standing = _standing(narrowing).filter(
        document__source__workspace=_WORKSPACE, document__version__workspace=_WORKSPACE
    )
    return compiled(
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
        )
    )


def _standing(narrowing: frozenset[str]) -> "QuerySet[Chunk]":
    return chunks_in(_WORKSPACE, slots(narrowing)).filter(chunk_id__any_of=Slot("chunk_ids"))


def _hex(column: str) -> Replace:
    """Give a UUID as PostgreSQL writes it, without the hyphens: making UUID objects takes Python longer."""
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
