"""Reading candidates back from Postgres by id, under workspace, rights and filters: the last word.

Whatever a mirror or a vector index believes, only what stands here is fused, ranked and shown.
"""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from search.models import Chunk
from search.scope import Scope


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
    rows = _standing(scope, chunk_ids).values_list("chunk_id", "document__doc_id")
    return {chunk_id.hex: doc_id.hex for chunk_id, doc_id in rows}


def read_hits(scope: Scope, chunk_ids: Sequence[str]) -> dict[str, StandingChunk]:
    """Give the chunks that hits are made of, by id, read under the scope once more."""
    standing = _standing(scope, chunk_ids).filter(
        document__source__workspace=scope.workspace_id, document__version__workspace=scope.workspace_id
    )
    rows = standing.values_list(
        "chunk_id",
        "document__doc_id",
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
    return {row[0].hex: _standing_chunk(row) for row in rows}


def _standing(scope: Scope, chunk_ids: Iterable[str]) -> Any:
    chunks = Chunk.objects.in_workspace(scope.workspace_id).filter(
        chunk_id__in=[uuid.UUID(hex=chunk_id) for chunk_id in chunk_ids],
        document__workspace=scope.workspace_id,
    )
    if scope.filters.kind:
        chunks = chunks.filter(kind__in=[kind.value for kind in scope.filters.kind])
    return chunks.filter(scope.document_conditions("document__"))


def _standing_chunk(row: tuple[Any, ...]) -> StandingChunk:
    return StandingChunk(
        chunk_id=row[0].hex,
        doc_id=row[1].hex,
        path=row[2],
        title=row[3],
        heading_path=tuple(row[4]),
        section_label=row[5],
        text=row[6],
        source_spans=row[7],
        chunker_version=row[8],
        indexed_at=row[9],
        source_key=row[10],
        version_tag=row[11],
        lang=row[12],
        tags=tuple(row[13]),
        trust_level=row[14],
        language=row[15],
    )
