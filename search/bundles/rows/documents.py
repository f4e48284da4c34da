"""Documents with their chunks as rows of a bundle."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from search.bundles.format.layout import CHUNKS_PER_ROW, ROW_BYTES
from search.bundles.format.sections import SECTIONS_BY_NAME, section_rows
from search.bundles.format.values import canonical_json, row_to_json
from search.models import Chunk, Document
from search.retrieval.document_date import known_date, stated_author, time_of_ns
from search.retrieval.query.metadata import filter_values

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
