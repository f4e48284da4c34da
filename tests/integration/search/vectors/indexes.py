"""Removal of vector indexes, which outlive a test's rows."""

from search.models import EmbeddingSpace
from search.vectors.index import drop_index


def drop_indexes() -> None:
    """Drop the indexes of all spaces while their rows exist."""
    for space in EmbeddingSpace.objects.filter(is_indexed=True):
        drop_index(space)
