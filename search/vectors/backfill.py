"""Backfill of missing vectors. Missing ones are found by a query, not by a queue that could be lost."""

import uuid
from collections.abc import Mapping, Sequence

import numpy as np
from django.db import models

from search.corpus.bulk_insert import insert_rows
from search.models import Chunk, ChunkVector, EmbeddingSpace


def chunks_without_vector(space: EmbeddingSpace, *, after: uuid.UUID, limit: int) -> list[Chunk]:
    """Return up to `limit` chunks after the id `after`, in id order, that have no vector in `space`."""
    return list(_missing_chunks(space).filter(chunk_id__gt=after).order_by("chunk_id")[:limit])


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
