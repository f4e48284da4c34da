"""Deletion of expired spaces: the index first, then the vectors in batches, then the space."""

from collections.abc import Iterator

from django.db import models, transaction
from django.db.models.functions import Now

from search.models import ChunkVector, EmbeddingSpace, SpaceState
from search.vectors.index import drop_index_concurrently

# Vectors per transaction, some tens of milliseconds.
_BATCH = 5_000


def delete_expired(space: EmbeddingSpace) -> Iterator[int]:
    """Delete an expired space, yielding the number of vectors of each batch; stops if it is in use again.

    Runs outside a transaction and may be interrupted anywhere: the rest is found again by its state.
    """
    # Batches would leave dead tuples in the index, whose vacuum takes minutes.
    drop_index_concurrently(space)
    while (deleted := _delete_batch(space)) is not None:
        if not deleted and _delete_row(space):
            return
        yield deleted


def _delete_batch(space: EmbeddingSpace) -> int | None:
    with transaction.atomic():
        if not _expired_queryset(space).select_for_update(no_key=True).exists():
            return None
        vectors = ChunkVector.objects.in_workspace(space.workspace_id).filter(space=space.pk)
        some = vectors.order_by("chunk_id").values_list("chunk_id", flat=True)[:_BATCH]
        return vectors.filter(chunk_id__in=list(some)).delete()[0]


def _delete_row(space: EmbeddingSpace) -> bool:
    vectors = ChunkVector.objects.in_workspace(space.workspace_id).filter(space=space.pk)
    with transaction.atomic():
        # Writers of vectors hold a lock on the space's row that conflicts with this one.
        if _expired_queryset(space).select_for_update().exists() and not vectors.exists():
            return bool(_expired_queryset(space).delete()[0])
    return False


def _expired_queryset(space: EmbeddingSpace) -> "models.QuerySet[EmbeddingSpace]":
    spaces = EmbeddingSpace.objects.in_workspace(space.workspace_id)
    return spaces.filter(pk=space.pk, state=SpaceState.RETIRED, retire_at__lte=Now())
