"""The chunks nearest to a query vector, in a workspace's live space, under filters.

A workspace with few vectors is scanned exactly. From `KEBAB_EXACT_SCAN_LIMIT` on its space has an HNSW index
(`search.vectors.index`); the scan then iterates until enough rows pass the filters, and should it stop short
the exact scan answers, so that a filter never makes the list shorter than `limit` while matches exist.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType

import numpy as np
from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet
from django.db.models.functions import Cast
from pgvector import HalfVector
from pgvector.django import CosineDistance, HalfVectorField

from search.models import ChunkVector
from search.vectors.spaces import LiveSpace

# Recall grows with it; with 200, on 42,120 chunks, it was 0.984 for the top 100 and 0.997 for the top 10.
_EF_SEARCH = 100
# pgvector takes no more.
_MOST_EF_SEARCH = 1_000


def nearest_chunks(
    vectors: "QuerySet[ChunkVector]", space: LiveSpace, query_vector: np.ndarray, *, limit: int
) -> list[tuple[uuid.UUID, float]]:
    """Give up to `limit` (chunk id, cosine similarity), most similar first, ties by chunk id.

    `vectors` are the rows that the caller may see under the query's filters; `query_vector` is `(dim,)`.
    """
    candidates = vectors.filter(space=space.space_id)
    literal = HalfVector(query_vector.astype(np.float16))
    if not space.is_indexed:
        return _exact(candidates, literal, limit)
    found = _by_index(candidates, space, literal, limit)
    return found if len(found) >= limit else _exact(candidates, literal, limit)


def _exact(
    vectors: "QuerySet[ChunkVector]", literal: HalfVector, limit: int
) -> list[tuple[uuid.UUID, float]]:
    ranked = vectors.annotate(distance=CosineDistance("embedding", literal)).order_by("distance", "chunk_id")
    with _limited():
        return _with_similarity(ranked.values_list("chunk_id", "distance")[:limit])


def _by_index(
    vectors: "QuerySet[ChunkVector]", space: LiveSpace, literal: HalfVector, limit: int
) -> list[tuple[uuid.UUID, float]]:
    # The index is on this very expression; without the cast, rows of a column without dimensions.
    column = Cast("embedding", HalfVectorField(dimensions=space.dim))
    nearest = vectors.annotate(distance=CosineDistance(column, literal)).order_by("distance")
    ef_search = min(_MOST_EF_SEARCH, max(_EF_SEARCH, 2 * limit))
    with _limited({"hnsw.ef_search": str(ef_search), "hnsw.iterative_scan": "strict_order"}):
        found = list(nearest.values_list("chunk_id", "distance")[:limit])
    return _with_similarity(sorted(found, key=lambda row: (row[1], row[0])))


@contextmanager
def _limited(options: Mapping[str, str] = MappingProxyType({})) -> Iterator[None]:
    """Run a query under search's own time limit, and `options`, for the length of a transaction."""
    settings_ = {"statement_timeout": f"{settings.KEBAB_SEARCH_STATEMENT_LIMIT_MS}ms", **options}
    calls = ", ".join(["set_config(%s, %s, true)"] * len(settings_))
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {calls}", [text for item in settings_.items() for text in item])
        yield


def _with_similarity(rows: Sequence[tuple[uuid.UUID, float]]) -> list[tuple[uuid.UUID, float]]:
    return [(chunk_id, 1.0 - distance) for chunk_id, distance in rows if distance == distance]
