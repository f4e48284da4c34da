"""Loader of a bundle's rows to the tables of a new workspace, in the caller's transaction."""

import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from django.conf import settings
from django.utils import timezone

from kebab.identity.models import Group, Workspace
from kebab.runtime.failpoints import reach
from search.bundles.errors import BundleRefused
from search.bundles.format.row_reader import BundleReader, DocumentRow
from search.bundles.format.verify import group_blobs
from search.bundles.progress import Progress
from search.bundles.rows import derived_fields, source_fields
from search.corpus.blobs import store_blob_file, store_blobs
from search.corpus.chunk_rows import insert_rows
from search.corpus.content_ids import place_key
from search.markup.plain_text import stored_plain_text
from search.models import (
    Chunk,
    ChunkVector,
    Document,
    EmbeddingSpace,
    Judgement,
    Run,
    RunTopic,
    Source,
    SourceReader,
    SourceVersion,
    Topic,
)

_T = TypeVar("_T")
_DOCUMENT_BATCH = 200
_ROW_BATCH = 1_000
# Number of small blobs that are stored together, and their largest total size.
_BLOB_BATCH = 64
_BLOB_BATCH_BYTES = 16 * 2**20


@dataclass(slots=True, kw_only=True)
class Loader:
    """Loader of the rows and blobs of one workspace."""

    reader: BundleReader
    workspace: Workspace
    on_progress: Progress
    #: Keys of the sources that become uploads: their folders aren't allowed here, or their addresses masked.
    detached: list[str] = field(default_factory=list)
    _ids: dict[str, dict[int, Any]] = field(default_factory=dict)
    _source_of: dict[int, uuid.UUID] = field(default_factory=dict)

    def run(self) -> None:
        """Load all sections. Raises the errors of the reader and the database."""
        self._load_blobs()
        reach("import_blobs")
        self._load_sources()
        self._load_judgements()
        reach("import_sources")
        self._load_documents()
        reach("import_documents")
        self._load_vectors()
        reach("import_vectors")

    def _load_blobs(self) -> None:
        total, done = self.reader.manifest.sections["blobs"].rows, 0
        small: dict[str, bytes] = {}
        for hash_, pieces in group_blobs(self.reader):
            with tempfile.SpooledTemporaryFile(_BLOB_BATCH_BYTES) as file:
                for piece in pieces:
                    file.write(piece.body)
                    done += 1
                size = file.tell()
                file.seek(0)
                if size > _BLOB_BATCH_BYTES // _BLOB_BATCH:
                    store_blob_file(self.workspace.pk, file)  # type: ignore[arg-type]  # seekable, and read
                else:
                    small[hash_] = file.read()
            if len(small) >= _BLOB_BATCH:
                store_blobs(self.workspace.pk, small)
                small.clear()
            self.on_progress("files", done, total)
        store_blobs(self.workspace.pk, small)

    def _load_sources(self) -> None:
        own = {"workspace_id": self.workspace.pk}
        self._insert("groups", lambda row: Group(**own, **row, created_at=timezone.now()))
        self._insert("sources", self._build_source)
        self._insert(
            "readers",
            lambda row: SourceReader(
                **own,
                source_id=self._id("sources", row["source_number"]),
                group_id=self._id("groups", row["group_number"]),
            ),
        )
        self._insert(
            "versions",
            lambda row: SourceVersion(
                workspace_id=self.workspace.pk, **self._resolve_reference(row, "source", "sources")
            ),
        )
        for number, row in self.reader.small_rows("spaces"):
            space = EmbeddingSpace.objects.create(**own, **row)
            # `create` sets `created_at` to the current time.
            EmbeddingSpace.objects.in_workspace(self.workspace).filter(pk=space.pk).update(
                created_at=row["created_at"]
            )
            self._ids.setdefault("spaces", {})[number] = space.pk

    def _load_judgements(self) -> None:
        own = {"workspace_id": self.workspace.pk}
        self._insert("topics", lambda row: Topic(**own, **row))
        self._insert("judgements", self._build_judgement)
        self._insert("runs", lambda row: Run(**own, **row))
        self._insert("run_topics", lambda row: RunTopic(**own, **self._resolve_reference(row, "run", "runs")))

    def _build_source(self, row: Mapping[str, Any]) -> Source:
        fields, is_detached = source_fields(row, settings.KEBAB_FOLDER_ROOTS)
        if is_detached:
            self.detached.append(row["key"])
        return Source(workspace_id=self.workspace.pk, **fields)

    def _build_judgement(self, row: Mapping[str, Any]) -> Judgement:
        fields = self._resolve_reference(row, "topic", "topics")
        number = fields.pop("source_number")
        source_id = None if number is None else self._id("sources", number)
        key = place_key(source_id, row["version"], row["path"], row["fragment"])
        return Judgement(workspace_id=self.workspace.pk, source_id=source_id, place_key=key, **fields)

    def _insert(self, section: str, build: Callable[[dict[str, Any]], Any]) -> None:
        """Insert a section's rows in batches, and record their new ids by number."""
        known = self._ids.setdefault(section, {})
        for batch in _batches(self.reader.small_rows(section), _ROW_BATCH):
            rows = {number: build(row) for number, row in batch}
            insert_rows(list(rows.values()))
            if section != "run_topics":  # nothing refers to these rows
                known.update({number: row.pk for number, row in rows.items()})
            if section == "versions":
                self._source_of.update({number: row.source_id for number, row in rows.items()})

    def _resolve_reference(self, row: Mapping[str, Any], name: str, section: str) -> dict[str, Any]:
        """Return the row with a reference's number replaced by the id of the referenced row."""
        fields = {key: value for key, value in row.items() if key != f"{name}_number"}
        return {**fields, f"{name}_id": self._id(section, row[f"{name}_number"])}

    def _id(self, section: str, number: int) -> Any:
        return self._ids[section][number]

    def _load_documents(self) -> None:
        total = self.reader.manifest.documents
        for batch in _batches(self.reader.documents(), _DOCUMENT_BATCH):
            documents = Document.objects.bulk_create([self._build_document(each) for each in batch])
            chunks = [
                Chunk(
                    workspace_id=self.workspace.pk,
                    document_id=document.pk,
                    plain=stored_plain_text(row["text"], document.path, is_code=bool(row["language"])),
                    **row,
                )
                for document, each in zip(documents, batch, strict=True)
                for row in each.chunks
            ]
            insert_rows(chunks)
            self.on_progress("documents", batch[-1].number, total)

    def _build_document(self, row: DocumentRow) -> Document:
        number = row.values["version_number"]
        return Document(
            source_id=self._source_of[number],
            workspace_id=self.workspace.pk,
            **derived_fields(row.values),
            **self._resolve_reference(row.values, "version", "versions"),
        )

    def _load_vectors(self) -> None:
        dims = {number: row["dim"] for number, row in self.reader.small_rows("spaces")}
        total, done = self.reader.manifest.vectors, 0
        for row in self.reader.vectors(dims):
            of_chunks = {
                chunk_id: (hash_, version_id)
                for chunk_id, hash_, version_id in Chunk.objects.in_workspace(self.workspace)
                .filter(chunk_id__any_of=row.chunk_ids, document__workspace=self.workspace)
                .values_list("chunk_id", "embed_hash", "document__version_id")
            }
            if unknown := set(row.chunk_ids) - of_chunks.keys():
                raise BundleRefused(
                    f"{self.reader.path} is refused: vectors: {min(unknown).hex} is of no chunk."
                )
            space_id = self._id("spaces", row.space_number)
            insert_rows(
                [
                    ChunkVector(
                        workspace_id=self.workspace.pk,
                        space_id=space_id,
                        chunk_id=chunk_id,
                        version_id=of_chunks[chunk_id][1],
                        embed_hash=of_chunks[chunk_id][0],
                        embedding=vector,
                    )
                    for chunk_id, vector in zip(row.chunk_ids, row.matrix, strict=True)
                ]
            )
            done += len(row.chunk_ids)
            self.on_progress("vectors", done, total)


def _batches(rows: Iterator[_T], size: int) -> Iterator[list[_T]]:
    while batch := list(islice(rows, size)):
        yield batch
