"""The chunks nearest to a query vector, in a workspace's live space, under filters.

This process finds those that may be among the nearest (`search.vectors.quantised_scan`) and compares their
vectors. Until it has read the vectors, PostgreSQL compares them all, with the same result. From
`KEBAB_EXACT_SCAN_LIMIT` on a space has an HNSW index (`search.vectors.index`), which misses some; its scan
iterates until enough rows pass the filters. If codes or index give fewer than `limit`, PostgreSQL compares
all, so that a filter never makes the list shorter while matches exist.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
from django.conf import settings
from django.db.models import BigIntegerField, FloatField, QuerySet, UUIDField
from django.db.models.functions import Cast
from pgvector.django import CosineDistance, HalfVectorField

from kebab.database.compiled_queries import CompiledQuery, Param, compile_queryset
from search.access.predicate import (
    Shape,
    as_array,
    narrowed_chunks,
    param_values,
    shapes_of,
    without_words,
)
from search.access.scope import SearchScope
from search.metrics import VECTOR_LEGS
from search.models import ChunkVector, SourceVersion
from search.retrieval.deadline import seconds_left
from search.retrieval.fusion.legs import ID, CheckVisible, unpack_ids
from search.retrieval.query.conditions import Comparison, Condition
from search.vectors.quantised_index import code_cache
from search.vectors.quantised_rows import read_some_rows
from search.vectors.quantised_scan import Codes, cosines
from search.vectors.spaces import LiveSpace


class StoredVectors:
    """The vectors of a space, for one query; each is read once."""

    def __init__(self, workspace_id: uuid.UUID, space: LiveSpace) -> None:
        self._workspace_id = workspace_id
        self._space = space
        self._known: dict[bytes, np.ndarray] = {}

    def similarities(self, ids: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Return the similarities, (m,) float64, of chunks to `vector`; NaN for one without a vector."""
        return cosines(self.vectors(ids), vector)

    def vectors(self, ids: np.ndarray) -> np.ndarray:
        """Return the vectors of chunks, (m, dim) float32; zeros for one without a vector."""
        none = np.zeros(self._space.dim, np.float16)
        wanted = ids.tolist()
        missing = ids[[id_ not in self._known for id_ in wanted]] if wanted else ids
        if len(missing):
            self._known |= dict.fromkeys(missing.tolist(), none)
            rows = read_some_rows(self._workspace_id, self._space, missing)
            self._known.update(zip(rows.ids.tolist(), rows.vectors, strict=True))
        found = [self._known[id_] for id_ in wanted]
        return np.array(found, np.float32).reshape(len(ids), self._space.dim)


# The least ef_search; else one and a half times the limit. For the best 100 of 176,009 chunks recall was
# 0.929 with 100, 0.951 with 150, 0.960 with 200, 0.988 with 400, at 2.9, 3.7, 4.7 and 8.1 ms (p50 under other
# load).
_EF_SEARCH = 100
# pgvector's maximum.
_MOST_EF_SEARCH = 1_000

_WORKSPACE = Param("workspace", UUIDField())

#: What narrows the rows of vectors: the shape of conditions, and whether the chunks are listed, too. Each
#: has its own statements.
Narrowing = tuple[Shape, bool]
# Statements that are kept, of each kind.
_MAX_SHAPES = 256
#: Returns the ids, (n,) ID, of the chunks that pass filters and operators; None if unknown, or too many.
FindPassing = Callable[[], np.ndarray | None]


# Attempts by codes while too few of the nearest pass the filters, the limit of compared vectors, and the
# factor on the estimate for the next attempt.
_LOOKS = 2
_MOST_COMPARED = 4_000
# Of so many of the nearest that no filter narrows one is visible: the others have just been deleted.
_VISIBLE = 2
_MARGIN = 1.5
# Factor on the candidates for a query with operators on words, which PostgreSQL can't check.
_WIDER = 4
# Enough digits to distinguish half-precision numbers.
_HALF_DIGITS = "%.5g"


@dataclass(frozen=True)
class QueryPoint:
    """A query's vector, `(dim,)`, in a space."""

    space: LiveSpace
    vector: np.ndarray

    @cached_property
    def half(self) -> np.ndarray:
        """The vector as float32 numbers that half precision has, as stored vectors are compared with it."""
        return self.vector.astype(np.float16).astype(np.float32)

    @cached_property
    def values(self) -> dict[str, Any]:
        """Return the parameters of a statement that measures distances from it."""
        numbers = self.vector.astype(np.float16).tolist()
        text = ",".join([_HALF_DIGITS] * len(numbers)) % tuple(numbers)
        return {"space": self.space.space_id, "vector": f"[{text}]"}


class Vectors(Protocol):
    """The vectors of a space, to compare any chunks."""

    def similarities(self, ids: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Return the similarities, (m,) float64, of chunks to `vector`; NaN for one without a vector."""
        ...

    def vectors(self, ids: np.ndarray) -> np.ndarray:
        """Return the vectors of chunks, (m, dim) float32; zeros for one without a vector."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """The chunks nearest to a query, the most similar first, ties by chunk id."""

    #: (n,) ID.
    ids: np.ndarray
    #: (n,) float64, cosines.
    similarities: np.ndarray
    #: The vectors of the space.
    vectors: Vectors


def nearest_chunks(
    scope: SearchScope,
    point: QueryPoint,
    *,
    limit: int,
    check_visible: CheckVisible,
    find_passing: FindPassing = lambda: None,
) -> Nearest:
    """Return up to `limit` chunks in the scope, the most similar to `point` first, ties by chunk id.

    `check_visible` returns which chunks are in the scope. With operators on words PostgreSQL compares the
    chunks of `find_passing`; if that returns None, the list may be too short.
    """
    if not point.space.is_indexed:
        codes = code_cache().codes(scope, point.space)
        look = None if scope.narrowing else _VISIBLE * limit
        found = None if codes is None else _find_by_codes(codes, point, limit, check_visible, look)
        if found is not None:
            VECTOR_LEGS.add("codes")
            return found
    conditions = without_words(scope.narrowing)
    is_whole = len(conditions) == len(scope.narrowing)
    passing = None if is_whole else find_passing()
    wanted = limit if is_whole or passing is not None else _WIDER * limit
    values = _narrow(scope, conditions) | {**point.values, "limit": wanted}
    if passing is not None:
        values["passing"] = as_array(unpack_ids(passing))
    query = _NearestQuery(scope, point, (shapes_of(conditions), passing is not None), values, wanted)
    rows = _find_by_index(query) if point.space.is_indexed and passing is None else None
    found = _to_nearest(_find_exactly(query) if rows is None else rows, query)
    if is_whole:
        return found
    is_visible = check_visible(found.ids)
    return Nearest(found.ids[is_visible][:limit], found.similarities[is_visible][:limit], found.vectors)


@dataclass(frozen=True, slots=True)
class _NearestQuery:
    """The parameters of a search for the nearest chunks in PostgreSQL."""

    scope: SearchScope
    point: QueryPoint
    narrowing: Narrowing
    values: dict[str, Any]
    limit: int


def _find_exactly(query: _NearestQuery) -> list[tuple[Any, ...]]:
    VECTOR_LEGS.add("all")
    rows = _compare_all_statement(query.narrowing).fetch(query.values, _timeout_option())
    if not query.point.space.is_indexed:
        code_cache().request(query.scope, query.point.space)
    return rows


def _find_by_codes(
    codes: Codes, point: QueryPoint, limit: int, check_visible: CheckVisible, look: int | None
) -> Nearest | None:
    """Return the nearest by quantised codes; None if too few of the nearest are visible.

    Others than the nearest `look` are only looked up if too few of these are visible.
    """
    approximation = codes.near(point.half)
    wanted = limit
    for _ in range(_LOOKS):
        shortlist = approximation.best(wanted)
        if len(shortlist.ids) > _MOST_COMPARED:
            return None
        similarities = codes.similarities(shortlist.ids, point.half)
        if not shortlist.is_confirmed_by(similarities):
            return None
        ids, first = np.unique(shortlist.ids, return_index=True)
        similarities = similarities[first]
        order = np.argsort(-similarities, kind="stable")
        order = order[~np.isnan(similarities[order])]
        is_visible = np.zeros(len(ids), bool)
        for looked in (np.sort(order[:look]), np.sort(order)):
            is_visible[looked] = check_visible(ids[looked])
            if np.count_nonzero(is_visible) >= limit or len(looked) == len(order):
                break
        order = order[is_visible[order]]
        n_visible, order = len(order), order[:limit]
        is_every = len(shortlist.ids) == len(approximation.ids)
        if is_every or (len(order) == limit and similarities[order[-1]] >= shortlist.bound):
            return Nearest(ids[order], similarities[order], codes)
        # Extrapolate from the share that is visible, with a margin.
        wanted = int(_MARGIN * limit * len(shortlist.ids) / max(1, n_visible))
    return None


def _find_by_index(query: _NearestQuery) -> list[tuple[Any, ...]] | None:
    """Return the nearest by the HNSW index; None if too few pass the filters."""
    ef_search = min(_MOST_EF_SEARCH, max(_EF_SEARCH, query.limit + query.limit // 2))
    options = {"hnsw.ef_search": str(ef_search), "hnsw.iterative_scan": "strict_order"}
    statement = _index_scan_statement(query.narrowing, query.point.space.dim)
    rows = statement.fetch(query.values, _timeout_option() | options)
    if len(rows) < query.limit:
        return None
    VECTOR_LEGS.add("index")
    return sorted(rows, key=lambda row: (row[1], row[0]))


def _narrow(scope: SearchScope, conditions: Shape) -> dict[str, Any]:
    values = {"workspace": scope.workspace_id, **param_values(conditions, {})}
    if any(map(_is_on_versions, conditions)):
        values["versions"] = as_array(map(str, _fetch_versions(scope)))
    return values


def _is_on_versions(condition: Condition) -> bool:
    """Return whether it is about a version, whose id a vector's row contains."""
    return isinstance(condition, Comparison) and condition.field in ("sources", "version")


def _fetch_versions(scope: SearchScope) -> list[uuid.UUID]:
    values: dict[str, Any] = {"workspace": scope.workspace_id}
    if scope.sources is not None:
        values["sources"] = list(scope.sources.ids)
    if scope.version_tags:
        values["version"] = list(scope.version_tags)
    rows = _versions_statement(frozenset(values)).fetch(values)
    return [id_ for (id_,) in rows]


@cache
def _versions_statement(names: frozenset[str]) -> CompiledQuery:
    versions = SourceVersion.objects.filter(workspace_id=_WORKSPACE)
    if "sources" in names:
        versions = versions.filter(source__pk__any_of=Param("sources"))
    if "version" in names:
        versions = versions.filter(tag__any_of=Param("version"))
    return compile_queryset(versions.values_list("pk"))


@lru_cache(_MAX_SHAPES)
def _compare_all_statement(narrowing: Narrowing) -> CompiledQuery:
    distance = CosineDistance("embedding", Param("vector"), output_field=FloatField())
    nearest = _vector_queryset(narrowing).annotate(distance=distance).order_by("distance", "chunk_id")
    return _near_statement(nearest, is_prepared=narrowing == ((), False))


@lru_cache(_MAX_SHAPES)
def _index_scan_statement(narrowing: Narrowing, dim: int) -> CompiledQuery:
    # The index is on exactly this expression; the column itself has no dimension.
    column = Cast("embedding", HalfVectorField(dimensions=dim))
    distance = CosineDistance(column, Param("vector"), output_field=FloatField())
    nearest = _vector_queryset(narrowing).annotate(distance=distance).order_by("distance")
    # The index belongs to one space: a generic plan for all spaces couldn't use it.
    return _near_statement(nearest, is_prepared=False)


def _near_statement(nearest: "QuerySet[Any, Any]", *, is_prepared: bool) -> CompiledQuery:
    return compile_queryset(nearest.values_list("chunk_id", "distance"), is_prepared=is_prepared).with_limit()


def _vector_queryset(narrowing: Narrowing) -> "QuerySet[ChunkVector]":
    rows = ChunkVector.objects.filter(workspace_id=_WORKSPACE, space_id=Param("space", BigIntegerField()))
    shape, are_listed = narrowing
    if any(map(_is_on_versions, shape)):
        rows = rows.filter(version_id__any_of=Param("versions"))
    if are_listed:
        rows = rows.filter(chunk_id__any_of=Param("passing"))
    if not all(map(_is_on_versions, shape)):
        rows = rows.filter(chunk_id__in=narrowed_chunks(shape).values("chunk_id"))
    return rows


def _timeout_option() -> dict[str, str]:
    """Return the time limit of a search statement as an option of PostgreSQL, in which 0 is none."""
    limit_ms = min(settings.KEBAB_SEARCH_STATEMENT_LIMIT_MS, 1_000 * seconds_left())
    return {"statement_timeout": f"{max(1, int(limit_ms))}ms"}


def _to_nearest(rows: Sequence[tuple[Any, ...]], query: _NearestQuery) -> Nearest:
    """Return the nearest with cosine similarities, without zero vectors, which have none."""
    known = [(chunk_id, distance) for chunk_id, distance in rows if distance == distance]
    ids = np.frombuffer(b"".join(chunk_id.bytes for chunk_id, _ in known), ID)
    similarities = 1.0 - np.fromiter((distance for _, distance in known), np.float64, len(known))
    return Nearest(ids, similarities, StoredVectors(query.scope.workspace_id, query.point.space))
