"""Reads of chunks from Postgres by id, under workspace, rights, filters and typed operators.

Mirrors and vector indexes may be outdated: only chunks that Postgres has are shown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import numpy as np
import orjson

from kebab.runtime import failpoints
from search.access.predicate import chunks_in_scope, documents_in_scope, read_chunks
from search.access.scope import SearchScope
from search.markup.plain_text import plain_text
from search.mirror.query.unchecked_hits import unchecked_documents, unchecked_hits
from search.models import Change, Document
from search.retrieval.fusion.legs import pack_ids, unpack_ids
from search.retrieval.fusion.reorder import PinnedDocument, SortKeys
from search.retrieval.text.plain_text import PlainText, read_plain_text

# The columns of the fields of a `VisibleChunk`.
_HIT: Final = {
    "chunk_id": "chunk_id",
    "doc_id": "document__doc_id",
    "path": "document__path",
    "title": "document__title",
    "heading_path": "heading_path",
    "section_label": "section_label",
    "text": "text",
    "source_spans": "source_spans",
    "chunker_version": "document__chunker_version",
    "indexed_at": "document__indexed_at__micros",
    "source_key": "document__source__key",
    "version_tag": "document__version__tag",
    "lang": "document__lang",
    "tags": "document__tags",
    "trust_level": "document__trust_level",
    "language": "language",
    "dated_at": "document__dated_at__micros",
    "author": "document__author",
    "stored_plain": "plain",
}
_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_SORT_KEYS: Final = (
    "document__title",
    "document__dated_at",
    "document__source__key",
    "document__path",
    "document__trust_level",
    "document__is_dated",
)


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
    return dict(read_chunks(scope, chunk_ids, "chunk_id", "document_id"))


def find_written(scope: SearchScope, documents: Iterable[int], seq: int) -> set[int]:
    """Return the keys of those of `documents` that were written since change `seq`. One query."""
    changes = Change.objects.in_workspace(scope.workspace_id).filter(seq__gt=seq)
    written = Document.objects.in_workspace(scope.workspace_id).filter(
        pk__in=set(documents), doc_id__in=changes.values("doc_id")
    )
    return set(written.values_list("pk", flat=True))


def read_hits(scope: SearchScope, chunk_ids: Sequence[str]) -> dict[str, VisibleChunk]:
    """Return the chunks for hits, by id, read again under the scope."""
    if failpoints.is_on("readback"):
        rows = read_chunks(scope, chunk_ids, *_HIT.values())
    else:
        rows = unchecked_hits(scope.workspace_id, chunk_ids)
    return {row[0]: _build_chunk(row) for row in rows}


def read_passages(scope: SearchScope, chunk_ids: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return breadcrumb and text of those of `chunk_ids` that are visible, whatever was typed. One query."""
    if scope.operators is not None:
        scope = replace(scope, operators=None)
    rows = read_chunks(scope, chunk_ids, "chunk_id", "breadcrumb", "text")
    return {chunk_id: (breadcrumb, text) for chunk_id, breadcrumb, text in rows}


def read_sort_keys(scope: SearchScope, chunk_ids: Sequence[str]) -> dict[str, SortKeys]:
    """Return the sort keys of the documents of those of `chunk_ids` that are visible. One query."""
    rows = read_chunks(scope, chunk_ids, "chunk_id", *_SORT_KEYS)
    return {row[0]: SortKeys(*row[1:]) for row in rows}


def read_metadata(scope: SearchScope, doc_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the metadata of those of `doc_ids` that are visible under the scope. One query."""
    found = documents_in_scope(scope).filter(doc_id__in=list(map(UUID, set(doc_ids))))
    return {doc_id.hex: metadata for doc_id, metadata in found.values_list("doc_id", "metadata")}


def read_first_chunks(scope: SearchScope, doc_ids: Sequence[str]) -> dict[str, PinnedDocument]:
    """Return those of `doc_ids` that are visible under the scope with their first chunks. One query."""
    chunks = chunks_in_scope(scope).filter(
        document__workspace=scope.workspace_id, document__doc_id__in=list(map(UUID, doc_ids))
    )
    rows = list(
        chunks.order_by("document_id", "ordinal")
        .distinct("document_id")
        .values_list("document__doc_id", "document_id", "chunk_id")
    )
    found = [chunk_id.hex for _, _, chunk_id in rows]
    met = found if scope.operators is None else read_documents(scope, found)
    return {
        doc_id.hex: PinnedDocument(document, chunk_id.hex)
        for doc_id, document, chunk_id in rows
        if chunk_id.hex in met
    }


def _build_chunk(row: tuple[Any, ...]) -> VisibleChunk:
    fields = dict(zip(_HIT, row, strict=True))
    fields["heading_path"], fields["tags"] = tuple(fields["heading_path"]), tuple(fields["tags"])
    fields["source_spans"] = orjson.loads(fields["source_spans"])
    for time in ("indexed_at", "dated_at"):
        fields[time] = _EPOCH + timedelta(microseconds=fields[time])
    return VisibleChunk(**fields)
