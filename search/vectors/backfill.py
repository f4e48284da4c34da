"""Backfill of missing vectors. Missing ones are found by a query, not by a queue that could be lost."""

import uuid
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from django.db import models

from search.corpus.chunk_rows import insert_rows
from search.models import Bookmark, Chunk, ChunkVector, EmbeddingSpace

# Documents that are ordered at a time; those that come meanwhile are looked for afterwards.
_MAX_PLANNED = 2_000


def batches_without_vector(space: EmbeddingSpace, *, size: int) -> Iterator[list[Chunk]]:
    """Yield the chunks that have no vector in `space`, up to `size` at a time.

    Those of bookmarked documents come first, then those of the newest.
    """
    while documents := _documents_without_vector(space):
        for ids, missing in _groups(documents, size):
            chunks = _missing_chunks(space).filter(document_id__in=ids).order_by("chunk_id")
            while missing > 0 and (batch := list(chunks[:size])):
                yield batch
                missing -= len(batch)
                chunks = chunks.filter(chunk_id__gt=batch[-1].chunk_id)
        if len(documents) < _MAX_PLANNED:
            return


def _documents_without_vector(space: EmbeddingSpace) -> list[tuple[int, int]]:
    """Return the first documents to embed, each with its number of chunks without a vector."""
    bookmarks = Bookmark.objects.in_workspace(space.workspace_id)
    # The workspace of the documents is named, so that one partition of them is read.
    missing = _missing_chunks(space).filter(document__workspace=space.workspace_id)
    documents = missing.values_list("document_id")
    return list(
        documents.annotate(missing=models.Count("chunk_id"))
        .order_by(
            models.Exists(bookmarks.filter(document_id=models.OuterRef("document_id"))).desc(),
            "-document__dated_at",
            "-document_id",
        )
        .values_list("document_id", "missing")[:_MAX_PLANNED]
    )


def _groups(documents: Sequence[tuple[int, int]], size: int) -> Iterator[tuple[list[int], int]]:
    """Yield consecutive documents of up to `size` chunks together, larger ones alone, with their sum."""
    group: list[int] = []
    total = 0
    for document_id, missing in documents:
        if group and total + missing > size:
            yield group, total
            group, total = [], 0
        group.append(document_id)
        total += missing
    yield group, total


def count_without_vector(space: EmbeddingSpace) -> int:
    """Count the workspace's chunks without a vector in `space`."""
    return _missing_chunks(space).count()


def _missing_chunks(space: EmbeddingSpace) -> models.QuerySet[Chunk]:
    vectors = ChunkVector.objects.in_workspace(space.workspace_id).filter(
        space=space.pk, chunk_id=models.OuterRef("chunk_id")
    )
    return (
        Chunk.objects.in_workspace(space.workspace_id)
        .filter(~models.Exists(vectors))
        .only("chunk_id", "breadcrumb", "text", "embed_hash", "document_id")
    )


def find_vectors_by_hash(space: EmbeddingSpace, hashes: Sequence[uuid.UUID]) -> dict[uuid.UUID, object]:
    """Return the existing vectors in the space for these embed hashes, by hash."""
    rows = ChunkVector.objects.in_workspace(space.workspace_id).filter(space=space.pk, embed_hash__in=hashes)
    return dict(rows.order_by("embed_hash").distinct("embed_hash").values_list("embed_hash", "embedding"))


def store_vectors(
    space: EmbeddingSpace, chunks: Sequence[Chunk], vectors: Mapping[uuid.UUID, np.ndarray | object]
) -> int:
    """Store a vector for each chunk that still exists with the same text and has none, in a transaction.

    `vectors` is keyed by embed hash, each `(dim,)` float32. Increments the space's epoch. Returns the number
    stored: a chunk whose document is being written is left for the next round.
    """
    wanted = {chunk.chunk_id: chunk.embed_hash for chunk in chunks}
    locked = _lock_chunks(space, list(wanted))
    rows = [
        ChunkVector(
            workspace_id=space.workspace_id,
            space_id=space.pk,
            chunk_id=chunk_id,
            version_id=version_id,
            embed_hash=hash_,
            embedding=vectors[hash_],
        )
        for chunk_id, hash_, version_id in locked
        if wanted[chunk_id] == hash_
    ]
    insert_rows(rows, ignore_conflicts=True)
    spaces = EmbeddingSpace.objects.in_workspace(space.workspace_id).filter(pk=space.pk)
    spaces.update(epoch=models.F("epoch") + 1)
    return len(rows)


def _lock_chunks(
    space: EmbeddingSpace, chunk_ids: Sequence[uuid.UUID]
) -> list[tuple[uuid.UUID, uuid.UUID, uuid.UUID]]:
    """Lock those of the chunks that nobody writes; return (chunk id, embed hash, version id) of each."""
    rows = (
        Chunk.objects.in_workspace(space.workspace_id)
        .filter(chunk_id__in=chunk_ids)
        .filter(document__workspace=space.workspace_id)
        .select_for_update(of=("self",), no_key=True, skip_locked=True)
        .order_by("chunk_id")
    )
    return list(rows.values_list("chunk_id", "embed_hash", "document__version_id"))
