"""From the rows of a bundle to those of a new workspace, in the caller's transaction."""

import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from django.conf import settings
from django.utils import timezone

from kebab.people.models import Group, Workspace
from kebab.runtime.failpoints import reached
from search.bundles.errors import BundleRefused
from search.bundles.format.row_reader import BundleReader, DocumentRow
from search.bundles.format.verify import blobs_of
from search.bundles.progress import Progress
from search.bundles.rows.sources import source_fields
from search.corpus.blobs import keep_blob_file, keep_blobs
from search.corpus.bulk_insert import insert_rows
from search.corpus.content_ids import place_key
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
_DOCUMENTS = 200
_ROWS = 1_000
# Contents that are kept side by side, and what they have together at most.
_BLOBS = 64
_BLOBS_BYTES = 16 * 2**20


@dataclass(slots=True, kw_only=True)
class Loader:
    """Makes the rows of a workspace, and keeps the bytes of its documents."""

    reader: BundleReader
    workspace: Workspace
    on_progress: Progress
    #: Keys of the sources that read folders which nobody has allowed here; they become uploads.
    detached: list[str] = field(default_factory=list)
    #: Vectors by the id of their space.
    vectors: dict[int, int] = field(default_factory=dict)
    _ids: dict[str, dict[int, Any]] = field(default_factory=dict)
    _source_of: dict[int, uuid.UUID] = field(default_factory=dict)

    def run(self) -> None:
        """Raises what the reader and the database raise."""
        self._load_blobs()
        reached("import_blobs")
        self._load_sources()
        self._load_judgements()
        reached("import_sources")
        self._load_documents()
        reached("import_documents")
        self._load_vectors()
        reached("import_vectors")

    def _load_blobs(self) -> None:
        total, done = self.reader.manifest.rows_of("blobs"), 0
        small: dict[str, bytes] = {}
        for hash_, pieces in blobs_of(self.reader):
            with tempfile.SpooledTemporaryFile(_BLOBS_BYTES) as file:
                for piece in pieces:
                    file.write(piece.body)
                    done += 1
                size = file.tell()
                file.seek(0)
                if size > _BLOBS_BYTES // _BLOBS:
                    keep_blob_file(self.workspace.pk, file)  # type: ignore[arg-type]  # seekable, and read
                else:
                    small[hash_] = file.read()
            if len(small) >= _BLOBS:
                keep_blobs(self.workspace.pk, small)
                small.clear()
            self.on_progress("files", done, total)
        keep_blobs(self.workspace.pk, small)

    def _load_sources(self) -> None:
        own = {"workspace_id": self.workspace.pk}
        self._insert("groups", lambda row: Group(**own, **row, created_at=timezone.now()))
        self._insert("sources", self._source)
        self._insert(
            "readers",
            lambda row: SourceReader(
                **own,
                source_id=self._id("sources", row["source_number"]),
                group_id=self._id("groups", row["group_number"]),
            ),
        )
        self._insert("versions", self._version)
        for number, row in self.reader.small_rows("spaces"):
            space = EmbeddingSpace.objects.create(**own, **row)
            # The time of the insertion is put into its place.
            EmbeddingSpace.objects.in_workspace(self.workspace).filter(pk=space.pk).update(
                created_at=row["created_at"]
            )
            self._ids.setdefault("spaces", {})[number] = space.pk

    def _load_judgements(self) -> None:
        own = {"workspace_id": self.workspace.pk}
        self._insert("topics", lambda row: Topic(**own, **row))
        self._insert("judgements", self._judgement)
        self._insert("runs", lambda row: Run(**own, **row))
        self._insert("run_topics", lambda row: RunTopic(**own, **self._without(row, "run", "runs")))

    def _source(self, row: Mapping[str, Any]) -> Source:
        fields, is_detached = source_fields(row, settings.KEBAB_FOLDER_ROOTS)
        if is_detached:
            self.detached.append(row["key"])
        return Source(workspace_id=self.workspace.pk, **fields)

    def _version(self, row: Mapping[str, Any]) -> SourceVersion:
        return SourceVersion(workspace_id=self.workspace.pk, **self._without(row, "source", "sources"))

    def _judgement(self, row: Mapping[str, Any]) -> Judgement:
        fields = self._without(row, "topic", "topics")
        number = fields.pop("source_number")
        source_id = None if number is None else self._id("sources", number)
        key = place_key(source_id, row["version"], row["path"], row["fragment"])
        return Judgement(workspace_id=self.workspace.pk, source_id=source_id, place_key=key, **fields)

    def _insert(self, section: str, made: Callable[[dict[str, Any]], Any]) -> None:
        """Insert a section's rows as they come, and note which ids they got."""
        known = self._ids.setdefault(section, {})
        for batch in _batches(self.reader.small_rows(section), _ROWS):
            rows = {number: made(row) for number, row in batch}
            insert_rows(list(rows.values()))
            if section != "run_topics":  # the rows that nothing names
                known.update({number: row.pk for number, row in rows.items()})
            if section == "versions":
                self._source_of.update({number: row.source_id for number, row in rows.items()})

    def _without(self, row: Mapping[str, Any], name: str, section: str) -> dict[str, Any]:
        """Return the row with the id of what it names in the place of the number."""
        fields = {key: value for key, value in row.items() if key != f"{name}_number"}
        return {**fields, f"{name}_id": self._id(section, row[f"{name}_number"])}

    def _id(self, section: str, number: int) -> Any:
        return self._ids[section][number]

    def _load_documents(self) -> None:
        total = self.reader.manifest.documents
        for batch in _batches(self.reader.documents(), _DOCUMENTS):
            documents = Document.objects.bulk_create([self._document(each) for each in batch])
            chunks = [
                Chunk(workspace_id=self.workspace.pk, document_id=document.pk, **row)
                for document, each in zip(documents, batch, strict=True)
                for row in each.chunks
            ]
            insert_rows(chunks)
            self.on_progress("documents", batch[-1].number, total)

    def _document(self, row: DocumentRow) -> Document:
        number = row.values["version_number"]
        return Document(
            source_id=self._source_of[number],
            workspace_id=self.workspace.pk,
            **self._without(row.values, "version", "versions"),
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
            if strange := set(row.chunk_ids) - of_chunks.keys():
                raise BundleRefused(
                    f"{self.reader.path} is refused: vectors: {min(strange).hex} is of no chunk."
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
            self.vectors[space_id] = self.vectors.get(space_id, 0) + len(row.chunk_ids)
            self.on_progress("vectors", done, total)


def _batches(rows: Iterator[_T], size: int) -> Iterator[list[_T]]:
    while batch := list(islice(rows, size)):
        yield batch
