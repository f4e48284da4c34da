"""The chunks nearest to a query vector, in a workspace's live space, under filters.

A workspace with few vectors is scanned exactly. From `KEBAB_EXACT_SCAN_LIMIT` on its space has an HNSW index
(`search.vectors.index`); the scan then iterates until enough rows pass the filters, and should it stop short
the exact scan answers, so that a filter never makes the list shorter than `limit` while matches exist.
"""

import uuid
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
from django.conf import settings
from django.db.models import BigIntegerField, QuerySet, UUIDField
from django.db.models.functions import Cast
from pgvector import HalfVector
from pgvector.django import CosineDistance, HalfVectorField

from search.models import ChunkVector, SourceVersion
from search.scope import Scope, chunks_in, slots
from search.statements import Slot, Statement, compiled
from search.vectors.spaces import LiveSpace

# Twice the limit, at least this. For the best 100 of 42,120 chunks recall was 0.935 with 100, 0.971 with 200,
# 0.991 with 400, at 3.7, 5.6 and 9.8 ms (p50).
_EF_SEARCH = 100
# pgvector takes no more.
_MOST_EF_SEARCH = 1_000

_WORKSPACE = Slot("workspace", UUIDField())
#: What a shape of query narrows rows by: names of `Scope.values`, and `kind`.
Narrowing = frozenset[str]


def nearest_chunks(
    scope: Scope, space: LiveSpace, query_vector: np.ndarray, *, limit: int
) -> list[tuple[uuid.UUID, float]]:
    """Give up to `limit` (chunk id, cosine similarity), most similar first, ties by chunk id.

    Only of chunks that the scope lets through; `query_vector` is `(dim,)`.
    """
    narrowing, values = _narrowing(scope)
    values |= {"space": space.space_id, "vector": _literal(query_vector), "limit": limit}
    if space.is_indexed:
        ef_search = min(_MOST_EF_SEARCH, max(_EF_SEARCH, 2 * limit))
        options = {"hnsw.ef_search": str(ef_search), "hnsw.iterative_scan": "strict_order"}
        found = _by_index(narrowing, space.dim).rows(values, _time_limit() | options)
        if len(found) >= limit:
            return _with_similarity(sorted(found, key=lambda row: (row[1], row[0])))
    return _with_similarity(_exactly(narrowing).rows(values, _time_limit()))


def similarities(
    scope: Scope, space: LiveSpace, query_vector: np.ndarray, chunk_ids: Sequence[str]
) -> dict[str, float]:
    """Give the cosine similarity of those of `chunk_ids` that have a vector in `space`, by chunk id.

    Only of chunks of the scope's sources; its other filters are the caller's to heed.
    """
    values = {
        "workspace": scope.workspace_id,
        "space": space.space_id,
        "vector": _literal(query_vector),
        "chunk_ids": f"{{{','.join(chunk_ids)}}}",
    }
    narrowing: Narrowing = frozenset()
    if scope.sources is not None:
        narrowing, values["versions"] = frozenset({"source"}), _listed(_versions(scope))
    found = _of_chunks(narrowing).rows(values, _time_limit())
    return {id_.hex: similarity for id_, similarity in _with_similarity(found)}


def _literal(vector: np.ndarray) -> str:
    return str(HalfVector(vector.astype(np.float16)).to_text())


def _narrowing(scope: Scope) -> tuple[Narrowing, dict[str, Any]]:
    values = scope.chunk_values
    narrowing = frozenset(values)
    values["workspace"] = scope.workspace_id
    if _ON_VERSIONS & narrowing:
        values["versions"] = _listed(_versions(scope))
    return narrowing, values


# Conditions that choose versions, which a vector's row knows itself.
_ON_VERSIONS = frozenset({"source", "version"})


def _versions(scope: Scope) -> list[uuid.UUID]:
    values = {name: value for name, value in scope.values.items() if name in _ON_VERSIONS}
    rows = _versions_of(frozenset(values)).rows({"workspace": scope.workspace_id, **values})
    return [id_ for (id_,) in rows]


@cache
def _versions_of(narrowing: Narrowing) -> Statement:
    versions = SourceVersion.objects.filter(workspace_id=_WORKSPACE)
    if "source" in narrowing:
        versions = versions.filter(source__pk__any_of=Slot("source"))
    if "version" in narrowing:
        versions = versions.filter(tag__any_of=Slot("version"))
    return compiled(versions.values_list("pk"))


def _listed(ids: Iterable[uuid.UUID]) -> str:
    return f"{{{','.join(map(str, ids))}}}"


@cache
def _exactly(narrowing: Narrowing) -> Statement:
    distance = CosineDistance("embedding", Slot("vector"))
    nearest = _rows(narrowing).annotate(distance=distance).order_by("distance", "chunk_id")
    return compiled(nearest.values_list("chunk_id", "distance")).limited()


@cache
def _by_index(narrowing: Narrowing, dim: int) -> Statement:
    # The index is on this very expression; without the cast, rows of a column without dimensions.
    column = Cast("embedding", HalfVectorField(dimensions=dim))
    nearest = _rows(narrowing).annotate(distance=CosineDistance(column, Slot("vector"))).order_by("distance")
    return compiled(nearest.values_list("chunk_id", "distance")).limited()


@cache
def _of_chunks(narrowing: Narrowing) -> Statement:
    rows = _rows(narrowing).filter(chunk_id__any_of=Slot("chunk_ids"))
    return compiled(rows.values_list("chunk_id", CosineDistance("embedding", Slot("vector"))))


def _rows(narrowing: Narrowing) -> "QuerySet[ChunkVector]":
    rows = ChunkVector.objects.filter(workspace_id=_WORKSPACE, space_id=Slot("space", BigIntegerField()))
    if narrowing & _ON_VERSIONS:
        rows = rows.filter(version_id__any_of=Slot("versions"))
    if narrowing - _ON_VERSIONS:
        rows = rows.filter(chunk_id__in=chunks_in(_WORKSPACE, slots(narrowing)).values("chunk_id"))
    return rows


def _time_limit() -> dict[str, str]:
    """Search's own, as PostgreSQL's option."""
    return {"statement_timeout": f"{settings.KEBAB_SEARCH_STATEMENT_LIMIT_MS}ms"}


def _with_similarity(rows: Sequence[tuple[uuid.UUID, float]]) -> list[tuple[uuid.UUID, float]]:
    return [(chunk_id, 1.0 - distance) for chunk_id, distance in rows if distance == distance]
