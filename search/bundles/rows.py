"""Rows of a bundle, by section: JSON objects of the small ones, documents, sources, vectors and blobs."""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import numpy as np
from django.db.models import BinaryField, F, Func, Model, QuerySet

from kebab.identity.models import Group, Workspace
from kebab.stack.storage.private_places import PrivateFolders
from search.bundles.format.layout import CHUNKS_PER_ROW, ROW_BYTES, VECTORS_PER_ROW
from search.bundles.format.sections import SECTIONS_BY_NAME, section_rows
from search.bundles.format.values import canonical_json, row_to_json
from search.corpus.blobs import open_blob
from search.models import (
    Chunk,
    ChunkVector,
    Document,
    EmbeddingSpace,
    Judgement,
    Run,
    RunTopic,
    Source,
    SourceKind,
    SourceReader,
    SourceState,
    SourceVersion,
    Topic,
)
from search.models.evaluation import RunState
from search.models.source import is_masked
from search.retrieval.document_date import known_date, stated_author, time_of_ns
from search.retrieval.query.metadata import filter_values
from search.vectors.lifecycle import filled_spaces

# Independent of ids, so that an imported workspace exports its judgements in the same order.
_JUDGEMENT_ORDER = ("topic__topic_set", "topic__topic_id", "source__key", "version", "path", "fragment")
# Attributes in place of fields that may hold secrets.
_MASKED = {"config": "masked_config"}
_UNFINISHED = (RunState.QUEUED, RunState.RUNNING)
# Column and target section of each reference, by the name of its field.
REFERENCES = {
    "source_number": ("source_id", "sources"),
    "group_number": ("group_id", "groups"),
    "version_number": ("version_id", "versions"),
    "topic_number": ("topic_id", "topics"),
    "run_number": ("run_id", "runs"),
}


@dataclass(slots=True)
class RowNumbers:
    """Row numbers in the bundle, by section and database key."""

    by_section: dict[str, dict[Any, int]] = field(default_factory=dict)

    def record(self, section: str, key: Any, number: int) -> None:
        """Record the number of a row."""
        self.by_section.setdefault(section, {})[key] = number

    def of(self, section: str, key: Any) -> int | None:
        """Return the number of a row; None for the key None."""
        return None if key is None else self.by_section[section][key]


def section_row(section: str, instance: Model, numbers: RowNumbers) -> dict[str, Any]:
    """Return the JSON of a row in a section."""
    values: dict[str, Any] = {}
    for name in SECTIONS_BY_NAME[section].fields:
        if name in REFERENCES:
            column, target = REFERENCES[name]
            values[name] = numbers.of(target, getattr(instance, column))
        else:
            values[name] = getattr(instance, _MASKED.get(name, name))
    return row_to_json(section_rows(section), values)


def write_small_sections(workspace: Workspace, add: Callable[[str, bytes], int]) -> RowNumbers:
    """Add the rows of all small sections with `add`, and return their numbers."""
    numbers = RowNumbers()
    for section, rows in _rows(workspace):
        for instance in rows:
            numbers.record(
                section, instance.pk, add(section, canonical_json(section_row(section, instance, numbers)))
            )
    return numbers


def _rows(workspace: Workspace) -> Iterable[tuple[str, Iterable[Any]]]:
    """Yield the rows in the order of `SMALL_SECTIONS`, so that referenced rows come first."""
    runs = Run.objects.in_workspace(workspace).exclude(state__in=_UNFINISHED)
    yield "workspace", [workspace]
    yield "groups", Group.objects.filter(workspace=workspace).order_by("name")
    yield "sources", Source.objects.in_workspace(workspace).order_by("key")
    yield "readers", _order_rows(SourceReader.objects.in_workspace(workspace), "source__key", "group__name")
    yield "versions", _order_rows(SourceVersion.objects.in_workspace(workspace), "source__key", "tag")
    yield "spaces", filled_spaces(workspace)
    yield "topics", Topic.objects.in_workspace(workspace).order_by("topic_set", "topic_id")
    judgements = _order_rows(Judgement.objects.in_workspace(workspace), *_JUDGEMENT_ORDER)
    yield "judgements", judgements.iterator(chunk_size=2_000)
    yield "runs", runs.order_by("created_at", "pk")
    # One query per run, because together they may be many.
    run_topics = RunTopic.objects.in_workspace(workspace)
    for run in runs.order_by("created_at", "pk").values_list("pk", flat=True):
        yield "run_topics", run_topics.filter(run=run).order_by("ordinal").iterator(chunk_size=500)


def _order_rows(rows: "QuerySet[Any]", *names: str) -> "QuerySet[Any]":
    return rows.order_by(*names, "pk")


def blob_pieces(workspace_id: uuid.UUID, hash_: str) -> Iterator[bytes]:
    """Yield the blob with this hash in pieces, at least one. Raises FileNotFoundError."""
    with open_blob(workspace_id, hash_) as blob:
        yield blob.read(ROW_BYTES)
        while piece := blob.read(ROW_BYTES):
            yield piece


# Documents fetched per round trip.
_BATCH = 100


def read_documents(workspace_id: uuid.UUID) -> Iterator[tuple[Document, list[Chunk]]]:
    """Yield every document in the order of its row id, with its chunks in order."""
    after = 0
    while True:
        documents = list(
            Document.objects.in_workspace(workspace_id)
            .filter(id__gt=after, source__workspace=workspace_id, version__workspace=workspace_id)
            .order_by("id")[:_BATCH]
        )
        if not documents:
            return
        after = documents[-1].pk
        chunks: dict[int, list[Chunk]] = {}
        rows = Chunk.objects.in_workspace(workspace_id).filter(document__in=[one.pk for one in documents])
        for chunk in rows.order_by("document_id", "ordinal").iterator(chunk_size=2_000):
            chunks.setdefault(chunk.document_id, []).append(chunk)
        for document in documents:
            yield document, chunks.pop(document.pk, [])


def chunk_bodies(chunks: Sequence[Chunk]) -> Iterator[bytes]:
    """Yield the uncompressed bodies of the rows of a document's chunks."""
    names = SECTIONS_BY_NAME["chunks"].fields
    bodies: list[bytes] = []
    for chunk in chunks:
        row = {name: getattr(chunk, name) for name in names}
        bodies.append(canonical_json(row_to_json(section_rows("chunks"), row)))
        if len(bodies) >= CHUNKS_PER_ROW or sum(map(len, bodies)) >= ROW_BYTES:
            yield b"[%s]" % b",".join(bodies)
            bodies = []
    if bodies:
        yield b"[%s]" % b",".join(bodies)


def derived_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return author, date and filter values of a document from the values of its row."""
    metadata = values["metadata"]
    known = known_date(metadata, modified_at=time_of_ns(values["source_mtime_ns"]))
    return {
        "author": stated_author(metadata),
        "dated_at": known or values["indexed_at"],
        "is_dated": known is not None,
        "filter_values": filter_values(metadata),
    }


def source_fields(row: Mapping[str, Any], roots: Sequence[Path]) -> tuple[dict[str, Any], bool]:
    """Return the fields of a source, and whether it was detached from its folder or server.

    A source retains its folder if it is in `roots`, which the operator allows, and its server if the bundle
    has the whole address. Otherwise it becomes an upload source with the same documents.
    """
    fields = {name: value for name, value in row.items() if name != "id"}
    is_indexed = row["last_indexed_at"] is not None
    if row["state"] == SourceState.INDEXING:  # the job isn't part of the bundle
        fields["state"] = SourceState.INDEXED if is_indexed else SourceState.PENDING
    folder = _folder(row)
    if folder is None and not is_masked(row["config"]):
        return fields, False
    found = None if folder is None else _allowed_folder(folder, roots)
    if found is None:
        return {**fields, "kind": SourceKind.UPLOAD, "config": {}, "sync_every_minutes": None}, True
    return {**fields, "config": _config_for(found, row)}, False


def _folder(row: Mapping[str, Any]) -> str | None:
    """Return the local folder that a source reads; None if it reads none."""
    config = row["config"]
    if row["kind"] == SourceKind.FOLDER:
        return str(config.get("path", ""))
    url = str(config.get("url", "")).strip()
    if row["kind"] == SourceKind.GIT and url.lower().startswith("file:"):
        return unquote(urlsplit(url).path)
    return None


def _allowed_folder(folder: str, roots: Sequence[Path]) -> Path | None:
    """Return the folder with links resolved; None when no source may read it."""
    try:
        found = Path(folder).resolve()
    except (OSError, RuntimeError, ValueError):
        return None
    is_allowed = Path(folder).is_absolute() and any(found.is_relative_to(root) for root in roots)
    return found if is_allowed and not PrivateFolders.find().contains(found) else None


def _config_for(folder: Path, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the source's config with the resolved folder, because sources don't follow links."""
    location = {"path": str(folder)}
    if row["kind"] == SourceKind.GIT:
        location = {"url": f"file://{quote(str(folder))}"}
    return {**row["config"], **location}


# Header of `halfvec_send`: the count of numbers, and two unused bytes.
_HEAD_BYTES = 4
#: Number formats of bundles and of Postgres.
HALVES = np.dtype("<f2")
_POSTGRES_HALVES = np.dtype(">f2")


class _HalfvecSend(Func):
    function = "halfvec_send"
    output_field = BinaryField()


def vector_rows(space: EmbeddingSpace) -> Iterator[tuple[bytes, bytes]]:
    """Yield (ids, float16 values) of some hundred vectors at a time, in the order of their chunk ids."""
    vectors = ChunkVector.objects.in_workspace(space.workspace_id).filter(space=space.pk)
    after = uuid.UUID(int=0)
    batch_size = max(1, min(VECTORS_PER_ROW, ROW_BYTES // (space.dim * HALVES.itemsize)))
    while True:
        rows = vectors.filter(chunk_id__gt=after).order_by("chunk_id")
        batch = list(rows.values_list("chunk_id", _HalfvecSend(F("embedding")))[:batch_size])
        if not batch:
            return
        after = batch[-1][0]
        raw = b"".join(bytes(vector[_HEAD_BYTES:]) for _, vector in batch)
        halves = np.frombuffer(raw, _POSTGRES_HALVES).astype(HALVES)
        yield b"".join(chunk_id.bytes for chunk_id, _ in batch), halves.tobytes()


def parse_matrix(body: bytes, *, count: int, dim: int) -> np.ndarray:
    """Parse the vectors of a row, (count, dim) float16. Raises ValueError for what no export writes."""
    if not count or len(body) != count * dim * HALVES.itemsize:
        raise ValueError(f"{len(body)} bytes are not {count} vectors of {dim} numbers")
    halves = np.frombuffer(body, HALVES).reshape(count, dim)
    if not np.isfinite(halves).all():
        raise ValueError("a vector has a number that is not finite")
    return halves


def parse_ids(body: bytes) -> list[uuid.UUID]:
    """Parse the ids of a row. Raises ValueError."""
    if len(body) % 16:
        raise ValueError(f"{len(body)} bytes are not ids of 16 bytes each")
    return [uuid.UUID(bytes=body[start : start + 16]) for start in range(0, len(body), 16)]
