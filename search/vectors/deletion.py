"""Deleting a space whose time is over: its index first, then its vectors bit by bit, then the space."""

from collections.abc import Iterator

from django.db import models, transaction
from django.db.models.functions import Now

from search.models import ChunkVector, EmbeddingSpace, SpaceState
from search.vectors.index import drop_index_beside

# Vectors a transaction: some tens of milliseconds.
_BATCH = 5_000


def delete_ended(space: EmbeddingSpace) -> Iterator[int]:
    """Delete a retired space; gives the number of vectors of each batch. One taken up again is left.

    Runs outside a transaction and may be broken off anywhere: what is left is found again by its state.
    """
    # Without it: a batch would leave its tuples in the index, whose vacuum takes minutes.
    drop_index_beside(space)
    while (deleted := _delete_batch(space)) is not None:
        if not deleted and _delete_row(space):
            return
        yield deleted


def _delete_batch(space: EmbeddingSpace) -> int | None:
    with transaction.atomic():
        if not _ended(space).select_for_update(no_key=True).exists():
            return None
        vectors = ChunkVector.objects.in_workspace(space.workspace_id).filter(space=space.pk)
        some = vectors.order_by("chunk_id").values_list("chunk_id", flat=True)[:_BATCH]
        return vectors.filter(chunk_id__in=list(some)).delete()[0]


def _delete_row(space: EmbeddingSpace) -> bool:
    vectors = ChunkVector.objects.in_workspace(space.workspace_id).filter(space=space.pk)
    with transaction.atomic():
        # Whoever writes a vector holds the space's row against this lock.
        if _ended(space).select_for_update().exists() and not vectors.exists():
            return bool(_ended(space).delete()[0])
    return False


def _ended(space: EmbeddingSpace) -> "models.QuerySet[EmbeddingSpace]":
    spaces = EmbeddingSpace.objects.in_workspace(space.workspace_id)
    return spaces.filter(pk=space.pk, state=SpaceState.RETIRED, retire_at__lte=Now())
