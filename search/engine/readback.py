"""Reads of chunks from Postgres by id, under workspace, rights, filters and typed operators.

Mirrors and vector indexes may be outdated: only chunks that Postgres has are shown.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

import numpy as np
import orjson
from django.db.models import QuerySet, TextField, UUIDField, Value
from django.db.models.functions import Cast, Replace

from kebab.database.compiled_queries import CompiledQuery, Param, compile_queryset
from kebab.runtime import failpoints
from search.access.scope import SearchScope, chunks_in, query_params
from search.markup.plain_text import plain_text
from search.mirror.query.unchecked_hits import unchecked_documents, unchecked_hits
from search.models import Chunk, Document
from search.retrieval.fusion.legs import pack_ids, unpack_ids
from search.retrieval.fusion.reorder import PinnedDocument, SortKeys
from search.retrieval.query.passage_conditions import ConditionedPassage
from search.retrieval.text.plain_text import PlainText, read_plain_text

_WORKSPACE = Param("workspace", UUIDField())


@dataclass(slots=True, kw_only=True)
class VisibleChunk:
    """A visible chunk with the fields of a hit."""

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
    dated_at: datetime
    author: str
    #: See `Chunk.plain`.
    stored_plain: str

    @property
    def plain(self) -> PlainText:
        """Return its text without markup."""
        stored = self.stored_plain or plain_text(self.text, self.path, is_code=bool(self.language))
        return read_plain_text(stored)


def read_visible(scope: SearchScope, ids: np.ndarray) -> np.ndarray:
    """Return (m,) bool: which of the chunks, (m,) ID, are visible under the scope. One query."""
    visible = read_documents(scope, unpack_ids(ids))
    return np.isin(ids, pack_ids(visible))


def read_documents(scope: SearchScope, chunk_ids: Sequence[str]) -> dict[str, int]:
    """Return the document keys of those of `chunk_ids` that are visible under the scope. One query."""
    if not failpoints.is_on("readback"):
        return unchecked_documents(scope.workspace_id, chunk_ids)
    return dict(_rows(_ids_query, scope, _meeting_conditions(scope, chunk_ids)))


def read_hits(scope: SearchScope, chunk_ids: Sequence[str]) -> dict[str, VisibleChunk]:
    """Return the chunks for hits, by id, read again under the scope."""
    if failpoints.is_on("readback"):
        rows = _rows(_hits_query, scope, _meeting_conditions(scope, chunk_ids))
    else:
        rows = unchecked_hits(scope.workspace_id, chunk_ids)
    return {row[0]: _build_chunk(row) for row in rows}


def read_passages(scope: SearchScope, chunk_ids: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return breadcrumb and text of those of `chunk_ids` that are visible under the scope. One query."""
    return {row[0]: (row[1], row[2]) for row in _rows(_passages_query, scope, chunk_ids)}


def read_sort_keys(scope: SearchScope, chunk_ids: Sequence[str]) -> dict[str, SortKeys]:
    """Return the sort keys of the documents of those of `chunk_ids` that are visible. One query."""
    rows = _rows(_sort_keys_query, scope, _meeting_conditions(scope, chunk_ids))
    return {row[0]: SortKeys(*row[1:]) for row in rows}


def read_metadata(scope: SearchScope, doc_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the metadata of those of `doc_ids` that are visible under the scope. One query."""
    found = Document.objects.in_workspace(scope.workspace_id).filter(
        scope.document_conditions(), doc_id__in=list(map(UUID, set(doc_ids)))
    )
    return {doc_id.hex: metadata for doc_id, metadata in found.values_list("doc_id", "metadata")}


def read_first_chunks(scope: SearchScope, doc_ids: Sequence[str]) -> dict[str, PinnedDocument]:
    """Return those of `doc_ids` that are visible under the scope with their first chunks. One query."""
    chunks = chunks_in(scope.workspace_id, scope.chunk_values).filter(
        document__workspace=scope.workspace_id, document__doc_id__in=list(map(UUID, doc_ids))
    )
    rows = list(
        chunks.order_by("document_id", "ordinal")
        .distinct("document_id")
        .values_list("document__doc_id", "document_id", "chunk_id")
    )
    met = set(_meeting_conditions(scope, [chunk_id.hex for _, _, chunk_id in rows]))
    return {
        doc_id.hex: PinnedDocument(document, chunk_id.hex)
        for doc_id, document, chunk_id in rows
        if chunk_id.hex in met
    }


def _meeting_conditions(scope: SearchScope, chunk_ids: Sequence[str]) -> Sequence[str]:
    """Return those of `chunk_ids` whose passages meet the conditions of operators, without rights."""
    if scope.operators is None:
        return chunk_ids
    passages = read_conditioned_passages(scope, chunk_ids)
    return [id_ for id_, passage in passages.items() if not any(passage.unmet(scope.operators))]


def read_conditioned_passages(scope: SearchScope, chunk_ids: Sequence[str]) -> dict[str, ConditionedPassage]:
    """Return what conditions of operators are about, by chunk id; regardless of rights and filters."""
    if scope.operators is None:
        return {}
    analysis = scope.operators.analysis
    values = {"workspace": scope.workspace_id, "chunk_ids": f"{{{','.join(chunk_ids)}}}"}
    return {
        id_: ConditionedPassage(
            analysis=analysis,
            dated_at=dated_at.timestamp(),
            **dict(zip(_CONDITIONED, fields, strict=True)),
        )
        for id_, dated_at, *fields in _conditioned_query().fetch(values)
    }


def _rows(
    query: Callable[[frozenset[str]], CompiledQuery],
    scope: SearchScope,
    chunk_ids: Sequence[str],
) -> list[tuple[Any, ...]]:
    narrowing = scope.chunk_values
    values = {"workspace": scope.workspace_id, "chunk_ids": f"{{{','.join(chunk_ids)}}}", **narrowing}
    return query(frozenset(narrowing)).fetch(values)


@cache
def _ids_query(narrowing: frozenset[str]) -> CompiledQuery:
    return _compile(narrowing, _visible_chunks(narrowing).values_list(_hex_column("chunk_id"), "document_id"))


@cache
def _sort_keys_query(narrowing: frozenset[str]) -> CompiledQuery:
    chunks = _visible_chunks(narrowing).filter(
        document__workspace=_WORKSPACE, document__source__workspace=_WORKSPACE
    )
    columns = (
        _hex_column("chunk_id"),
        "document__title",
        "document__dated_at",
        "document__source__key",
        "document__path",
        "document__trust_level",
    )
    return _compile(narrowing, chunks.values_list(*columns))


# The columns of the fields of ConditionedPassage.
_CONDITIONED = {
    "breadcrumb": "breadcrumb",
    "text": "text",
    "code_lang": "language",
    "path": "document__path",
    "title": "document__title",
    "media": "document__media",
    "lang": "document__lang",
    "tags": "document__tags",
    "author": "document__author",
    "source": "document__source__key",
}


@cache
def _conditioned_query() -> CompiledQuery:
    chunks = _visible_chunks(frozenset()).filter(
        document__workspace=_WORKSPACE, document__source__workspace=_WORKSPACE
    )
    columns = ("document__dated_at", *_CONDITIONED.values())
    return _compile(frozenset(), chunks.values_list(_hex_column("chunk_id"), *columns))


@cache
def _passages_query(narrowing: frozenset[str]) -> CompiledQuery:
    return _compile(
        narrowing, _visible_chunks(narrowing).values_list(_hex_column("chunk_id"), "breadcrumb", "text")
    )


@cache
def _hits_query(narrowing: frozenset[str]) -> CompiledQuery:
    chunks = _visible_chunks(narrowing).filter(
        document__workspace=_WORKSPACE,
        document__source__workspace=_WORKSPACE,
        document__version__workspace=_WORKSPACE,
    )
    return _compile(
        narrowing,
        chunks.values_list(
            _hex_column("chunk_id"),
            _hex_column("document__doc_id"),
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
            "document__dated_at",
            "document__author",
            "plain",
        ),
    )


def _compile(narrowing: frozenset[str], chunks: "QuerySet[Chunk, Any]") -> CompiledQuery:
    # By ids alone there is only one plan; with filters the best plan depends on the values.
    return compile_queryset(chunks, is_prepared=not narrowing)


def _visible_chunks(narrowing: frozenset[str]) -> "QuerySet[Chunk]":
    return chunks_in(_WORKSPACE, query_params(narrowing)).filter(chunk_id__any_of=Param("chunk_ids"))


def _hex_column(column: str) -> Replace:
    """Return the column of a UUID as 32 hex digits; creating UUID objects in Python would take longer."""
    return Replace(Cast(column, TextField()), Value("-"), Value(""), output_field=TextField())


def _build_chunk(row: tuple[Any, ...]) -> VisibleChunk:
    return VisibleChunk(
        chunk_id=row[0],
        doc_id=row[1],
        path=row[2],
        title=row[3],
        heading_path=tuple(row[4]),
        section_label=row[5],
        text=row[6],
        source_spans=orjson.loads(row[7]),
        chunker_version=row[8],
        indexed_at=row[9],
        source_key=row[10],
        version_tag=row[11],
        lang=row[12],
        tags=tuple(row[13]),
        trust_level=row[14],
        language=row[15],
        dated_at=row[16],
        author=row[17],
        stored_plain=row[18],
    )
