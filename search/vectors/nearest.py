"""The chunks nearest to a query vector, in a workspace's live space, under filters.

In a small space PostgreSQL compares all vectors with the query. In a larger one this process finds those that
may be among the nearest (`search.vectors.quantised_scan`) and PostgreSQL compares them, with the same result.
From `KEBAB_EXACT_SCAN_LIMIT` on a space has an HNSW index (`search.vectors.index`), which misses some; its
scan iterates until enough rows pass the filters. If codes or index give fewer than `limit`, all vectors are
compared, so that a filter never makes the list shorter while matches exist.
"""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from django.conf import settings
from django.db.models import BigIntegerField, F, FloatField, QuerySet, UUIDField
from django.db.models.functions import Cast
from pgvector.django import CosineDistance, HalfVectorField

from kebab.database.compiled_queries import CompiledQuery, Param, compile_queryset
from search.access.scope import SearchScope, chunks_in, query_params
from search.metrics import VECTOR_LEGS
from search.models import ChunkVector, SourceVersion
from search.vectors.quantised_index import code_cache
from search.vectors.quantised_scan import Shortlist
from search.vectors.spaces import LiveSpace
from search.vectors.vector_rows import VectorAndDistance

# The least ef_search; else one and a half times the limit. For the best 100 of 176,009 chunks recall was
# 0.929 with 100, 0.951 with 150, 0.960 with 200, 0.988 with 400, at 2.9, 3.7, 4.7 and 8.1 ms (p50 under other
# load).
_EF_SEARCH = 100
# pgvector's maximum.
_MOST_EF_SEARCH = 1_000

_WORKSPACE = Param("workspace", UUIDField())

#: The filters of a query, as names of `SearchScope.values` and `kind`; each set has its own statement.
Narrowing = frozenset[str]


# A full comparison that takes longer requests codes for the space.
_SLOW_S = 0.005
# Attempts by codes while too few of the nearest pass the filters, the limit of compared vectors, and the
# factor on the estimate for the next attempt.
_LOOKS = 2
_MOST_COMPARED = 4_000
_MARGIN = 1.5
# Factor on the first attempt under filters: another statement costs more.
_FILTERED = 4

# Enough digits to distinguish half-precision numbers.
_HALF_DIGITS = "%.5g"


@dataclass(frozen=True)
class QueryPoint:
    """A query's vector, `(dim,)`, in a space."""

    space: LiveSpace
    vector: np.ndarray

    @cached_property
    def values(self) -> dict[str, Any]:
        """Return the parameters of a statement that measures distances from it."""
        numbers = self.vector.astype(np.float16).tolist()
        text = ",".join([_HALF_DIGITS] * len(numbers)) % tuple(numbers)
        return {"space": self.space.space_id, "vector": f"[{text}]"}


class NearChunk(NamedTuple):
    """A chunk near a query, with its cosine similarity."""

    chunk_id: str
    similarity: float
    #: Its encoded vector and distance, for `search.vectors.vector_rows.decode_vectors`; None if not
    #: requested.
    place: bytes | None


def nearest_chunks(
    scope: SearchScope, point: QueryPoint, *, limit: int, with_places: bool = False
) -> list[NearChunk]:
    """Return up to `limit` chunks in the scope, the most similar to `point` first, ties by chunk id."""
    narrowing, values = _narrow(scope)
    query = _NearestQuery(
        scope, point, narrowing, values | {**point.values, "limit": limit}, limit, with_places
    )
    found = _find_by_index(query) if point.space.is_indexed else _find_by_codes(query)
    return _to_near_chunks(_find_exactly(query) if found is None else found)


@dataclass(frozen=True, slots=True)
class _NearestQuery:
    """The parameters of a search for the nearest chunks."""

    scope: SearchScope
    point: QueryPoint
    narrowing: Narrowing
    values: dict[str, Any]
    limit: int
    with_places: bool


def _find_exactly(query: _NearestQuery) -> list[tuple[Any, ...]]:
    began = monotonic()
    VECTOR_LEGS.add("all")
    rows = _compare_all_statement(query.narrowing, query.with_places).fetch(query.values, _timeout_option())
    if monotonic() - began > _SLOW_S and not query.point.space.is_indexed:
        code_cache().request(query.scope, query.point.space)
    return rows


def _find_by_codes(query: _NearestQuery) -> list[tuple[Any, ...]] | None:
    """Return the nearest by quantised codes; None without codes, or if too few pass the filters."""
    codes = code_cache().codes(query.scope, query.point.space)
    if codes is None:
        return None
    approximation = codes.near(query.point.vector.astype(np.float16))
    statement = _compare_some_statement(query.narrowing, query.with_places)
    wanted = query.limit * (_FILTERED if query.narrowing else 1)
    for _ in range(_LOOKS):
        shortlist = approximation.best(wanted)
        if len(shortlist.ids) > _MOST_COMPARED:
            return None
        rows = statement.fetch(query.values | {"some": f"{{{','.join(shortlist.ids)}}}"}, _timeout_option())
        if len(rows) == query.limit and 1.0 - rows[-1][1] >= shortlist.bound:
            return _verify(rows, shortlist)
        # Extrapolate from the share that passes the filters, with a margin.
        wanted = int(_MARGIN * query.limit * len(shortlist.ids) / max(1, len(rows)))
    return None


def _verify(rows: list[tuple[Any, ...]], shortlist: Shortlist) -> list[tuple[Any, ...]] | None:
    if not shortlist.is_confirmed_by({chunk_id.hex: 1.0 - distance for chunk_id, distance, *_ in rows}):
        return None
    VECTOR_LEGS.add("codes")
    return rows


def _find_by_index(query: _NearestQuery) -> list[tuple[Any, ...]] | None:
    """Return the nearest by the HNSW index; None if too few pass the filters."""
    ef_search = min(_MOST_EF_SEARCH, max(_EF_SEARCH, query.limit + query.limit // 2))
    options = {"hnsw.ef_search": str(ef_search), "hnsw.iterative_scan": "strict_order"}
    statement = _index_scan_statement(query.narrowing, query.point.space.dim, query.with_places)
    rows = statement.fetch(query.values, _timeout_option() | options)
    if len(rows) < query.limit:
        return None
    VECTOR_LEGS.add("index")
    return sorted(rows, key=lambda row: (row[1], row[0]))


def _narrow(scope: SearchScope) -> tuple[Narrowing, dict[str, Any]]:
    values = scope.chunk_values
    narrowing = frozenset(values)
    values["workspace"] = scope.workspace_id
    if _ON_VERSIONS & narrowing:
        values["versions"] = _uuid_array(_fetch_versions(scope))
    return narrowing, values


# Filters on versions, whose id a vector's row contains.
_ON_VERSIONS = frozenset({"source", "version"})


def _fetch_versions(scope: SearchScope) -> list[uuid.UUID]:
    values = {name: value for name, value in scope.values.items() if name in _ON_VERSIONS}
    rows = _versions_statement(frozenset(values)).fetch({"workspace": scope.workspace_id, **values})
    return [id_ for (id_,) in rows]


@cache
def _versions_statement(narrowing: Narrowing) -> CompiledQuery:
    versions = SourceVersion.objects.filter(workspace_id=_WORKSPACE)
    if "source" in narrowing:
        versions = versions.filter(source__pk__any_of=Param("source"))
    if "version" in narrowing:
        versions = versions.filter(tag__any_of=Param("version"))
    return compile_queryset(versions.values_list("pk"))


def _uuid_array(ids: Iterable[uuid.UUID]) -> str:
    return f"{{{','.join(map(str, ids))}}}"


@cache
def _compare_all_statement(narrowing: Narrowing, with_places: bool) -> CompiledQuery:
    return _compare_statement(_vector_queryset(narrowing), with_places, is_prepared=not narrowing)


@cache
def _compare_some_statement(narrowing: Narrowing, with_places: bool) -> CompiledQuery:
    rows = _vector_queryset(narrowing).filter(chunk_id__any_of=Param("some"))
    return _compare_statement(rows, with_places, is_prepared=not narrowing)


def _compare_statement(
    rows: "QuerySet[ChunkVector]", with_places: bool, *, is_prepared: bool
) -> CompiledQuery:
    distance = CosineDistance("embedding", Param("vector"), output_field=FloatField())
    nearest = rows.annotate(distance=distance).order_by("distance", "chunk_id")
    return _near_statement(nearest, distance, with_places, is_prepared=is_prepared)


@cache
def _index_scan_statement(narrowing: Narrowing, dim: int, with_places: bool) -> CompiledQuery:
    # The index is on exactly this expression; the column itself has no dimension.
    column = Cast("embedding", HalfVectorField(dimensions=dim))
    distance = CosineDistance(column, Param("vector"), output_field=FloatField())
    nearest = _vector_queryset(narrowing).annotate(distance=distance).order_by("distance")
    # The index belongs to one space: a generic plan for all spaces couldn't use it.
    return _near_statement(nearest, distance, with_places, is_prepared=False)


def _near_statement(
    nearest: "QuerySet[ChunkVector]", distance: CosineDistance, with_places: bool, *, is_prepared: bool
) -> CompiledQuery:
    place = [VectorAndDistance(F("embedding"), distance)] if with_places else []
    rows = nearest.values_list("chunk_id", "distance", *place)
    return compile_queryset(rows, is_prepared=is_prepared).with_limit()


def _vector_queryset(narrowing: Narrowing) -> "QuerySet[ChunkVector]":
    rows = ChunkVector.objects.filter(workspace_id=_WORKSPACE, space_id=Param("space", BigIntegerField()))
    if narrowing & _ON_VERSIONS:
        rows = rows.filter(version_id__any_of=Param("versions"))
    if narrowing - _ON_VERSIONS:
        rows = rows.filter(chunk_id__in=chunks_in(_WORKSPACE, query_params(narrowing)).values("chunk_id"))
    return rows


def _timeout_option() -> dict[str, str]:
    """Return the time limit of search statements as an option of PostgreSQL."""
    return {"statement_timeout": f"{settings.KEBAB_SEARCH_STATEMENT_LIMIT_MS}ms"}


def _to_near_chunks(rows: Iterable[tuple[Any, ...]]) -> list[NearChunk]:
    """Convert distances to cosine similarities, without zero vectors, which have none."""
    return [
        NearChunk(chunk_id.hex, 1.0 - distance, place[0] if place else None)
        for chunk_id, distance, *place in rows
        if distance == distance
    ]
