"""Chunks and documents of a bundle: filtering of candidates, and rows for hits and passages."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import apsw

from search.bundles.errors import BundleRefused
from search.bundles.format.row_reader import Row, limit_document, parse_chunk_rows, unpack
from search.bundles.format.sections import SECTIONS_BY_NAME
from search.bundles.format.values import read_json, row_from_json
from search.bundles.rows.documents import author_and_date
from search.engine.readback import VisibleChunk
from search.mirror.query.filters import Clause, filter_clause
from search.mirror.query.view import MirrorView
from search.retrieval.fusion.reorder import PinnedDocument, SortKeys

_VISIBLE = (
    "SELECT c.chunk_id, c.doc FROM json_each(?) v CROSS JOIN chunks c ON c.chunk_id = v.value"
    " CROSS JOIN documents d ON d.doc = c.doc {where}"
)
_DOC_IDS = (
    "SELECT c.chunk_id, d.doc_id FROM json_each(?) v CROSS JOIN chunks c ON c.chunk_id = v.value"
    " CROSS JOIN documents d ON d.doc = c.doc"
)
_DOCUMENT = "SELECT number, body FROM bundle_documents WHERE doc_id = ?"
_CHUNKS = "SELECT body FROM bundle_chunks WHERE document = ? ORDER BY number"
# Number of documents whose uncompressed chunks are cached.
_CACHED_DOCUMENTS = 32


class BundleRows:
    """Reader of documents and chunks of an open bundle by id, in place of the read-back from Postgres."""

    def __init__(
        self, path: Path, connection: apsw.Connection, versions: Mapping[int, tuple[str, str]]
    ) -> None:
        """`versions` are source key and tag by number."""
        self._path = path
        self._connection = connection
        self._versions = versions
        self._document = lru_cache(_CACHED_DOCUMENTS)(self._read_document)

    def read_documents(self, view: MirrorView, chunk_ids: Sequence[str]) -> dict[str, int]:
        """Return the `chunk_ids` that pass the filters, with the rows of their documents."""
        clause: Clause = filter_clause(view.scope)
        where = f"WHERE {clause.condition}" if clause.condition else ""
        values = (json.dumps(list(chunk_ids)), *clause.values)
        return dict(view.connection.execute(_VISIBLE.format(where=where), values))

    def read_hits(self, view: MirrorView, chunk_ids: Sequence[str]) -> dict[str, VisibleChunk]:
        """Return the chunks' rows for hits, by chunk id."""
        doc_ids = dict(view.connection.execute(_DOC_IDS, (json.dumps(list(chunk_ids)),)))
        found = {}
        for chunk_id, doc_id in doc_ids.items():
            document, chunks = self._document(doc_id)
            if chunk_id not in chunks:
                raise self._refusal(f"the index has a chunk {chunk_id} that is in no document")
            found[chunk_id] = self._build_hit_chunk(document, chunks[chunk_id])
        return found

    def read_passages(self, view: MirrorView, chunk_ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Return breadcrumb and text of the chunks that pass the filters."""
        visible = list(self.read_documents(view, chunk_ids))
        doc_ids = dict(view.connection.execute(_DOC_IDS, (json.dumps(visible),)))
        rows = {id_: self._document(doc_id)[1].get(id_) for id_, doc_id in doc_ids.items()}
        return {id_: (row["breadcrumb"], row["text"]) for id_, row in rows.items() if row is not None}

    def read_sort_keys(self, view: MirrorView, chunk_ids: Sequence[str]) -> dict[str, SortKeys]:
        """Return title and date of the documents of the chunks that pass the filters."""
        found = self.read_hits(view, list(self.read_documents(view, chunk_ids)))
        return {
            id_: SortKeys(chunk.title, chunk.dated_at, chunk.source_key, chunk.path, chunk.trust_level)
            for id_, chunk in found.items()
        }

    def read_first_chunks(self, view: MirrorView, doc_ids: Sequence[str]) -> dict[str, PinnedDocument]:
        """Return those of the documents that pass the filters, with their first chunks, by id."""
        found = {}
        for doc_id in doc_ids:
            if self._connection.execute(_DOCUMENT, (doc_id,)).fetchone() is None:
                continue
            _, chunks = self._document(doc_id)
            for chunk_id, document in self.read_documents(view, list(chunks)[:1]).items():
                found[doc_id] = PinnedDocument(document, chunk_id)
        return found

    def read_metadata(self, doc_id: str) -> Mapping[str, Any]:
        """Return the metadata of a document."""
        metadata: Mapping[str, Any] = self._document(doc_id)[0]["metadata"]
        return metadata

    def _read_document(self, doc_id: str) -> tuple[Row, dict[str, Row]]:
        found = self._connection.execute(_DOCUMENT, (doc_id,)).fetchone()
        if found is None:
            raise self._refusal(f"the index has a document {doc_id} that is not there")
        number, body = found
        try:
            document = row_from_json(SECTIONS_BY_NAME["documents"].fields, read_json(body))
            if document["version_number"] not in self._versions:
                raise ValueError(f"there is no version {document['version_number']}")
            rows = (unpack(row) for (row,) in self._connection.execute(_CHUNKS, (number,)))
            chunks = _by_id(parse_chunk_rows(row) for row in limit_document(rows))
        except ValueError as error:
            raise self._refusal(f"documents row {number}: {error}") from error
        return document, chunks

    def _build_hit_chunk(self, document: Row, chunk: Row) -> VisibleChunk:
        key, tag = self._versions[document["version_number"]]
        author, dated_at = author_and_date(document)
        return VisibleChunk(
            chunk_id=chunk["chunk_id"].hex,
            doc_id=document["doc_id"].hex,
            path=document["path"],
            title=document["title"],
            heading_path=tuple(chunk["heading_path"]),
            section_label=chunk["section_label"],
            text=chunk["text"],
            source_spans=chunk["source_spans"],
            chunker_version=document["chunker_version"],
            indexed_at=document["indexed_at"],
            source_key=key,
            version_tag=tag,
            lang=document["lang"],
            tags=tuple(document["tags"]),
            trust_level=document["trust_level"],
            language=chunk["language"],
            dated_at=dated_at,
            author=author,
        )

    def _refusal(self, reason: str) -> BundleRefused:
        return BundleRefused(f"{self._path} is refused: {reason}.")


def _by_id(rows: Iterable[list[dict[str, Any]]]) -> dict[str, Row]:
    return {chunk["chunk_id"].hex: chunk for chunks in rows for chunk in chunks}
