"""The chunks nearest to a query vector, in a workspace's live space, under filters.

PostgreSQL compares few vectors with the query. Of more, this process finds those that may be among the
nearest (`search.vectors.quantised`) and PostgreSQL compares these: the answer is the same. From
`KEBAB_EXACT_SCAN_LIMIT` on a space has an HNSW index (`search.vectors.index`), which misses some; its scan
iterates until enough rows pass the filters. Where a way stops short of `limit`, all vectors are compared, so
that a filter never makes the list shorter while matches exist.
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

from kebab.database.compiled_queries import Slot, Statement, compiled
from search.access.scope import Scope, chunks_in, slots
from search.metrics import VECTOR_LEGS
from search.models import ChunkVector, SourceVersion
from search.vectors.quantised import Chosen
from search.vectors.quantised_index import codes_of_spaces
from search.vectors.spaces import LiveSpace
from search.vectors.vector_rows import Place

# One and a half times the limit, at least this. For the best 100 of 176,009 chunks recall was 0.929 with 100,
# 0.951 with 150, 0.960 with 200, 0.988 with 400, at 2.9, 3.7, 4.7 and 8.1 ms (p50, other work beside).
_EF_SEARCH = 100
# pgvector takes no more.
_MOST_EF_SEARCH = 1_000

_WORKSPACE = Slot("workspace", UUIDField())

#: What a shape of query narrows rows by: names of `Scope.values`, and `kind`.
Narrowing = frozenset[str]


# What PostgreSQL has compared all vectors for is worth their codes.
_SLOW_S = 0.005
# How often is looked, when too few of the nearest pass the filters, and at how many at most.
_LOOKS = 2
_MOST_COMPARED = 4_000
_MARGIN = 1.5
# Under filters so many times as many are looked at to begin with: another statement costs more.
_FILTERED = 4

# As many digits as tell two of its numbers apart.
_HALF_DIGITS = "%.5g"


@dataclass(frozen=True)
class QueryPoint:
    """A query's place in a space: its vector is `(dim,)`."""

    space: LiveSpace
    vector: np.ndarray

    @cached_property
    def values(self) -> dict[str, Any]:
        """Return what fills the slots of a statement that measures distances from it."""
        numbers = self.vector.astype(np.float16).tolist()
        text = ",".join([_HALF_DIGITS] * len(numbers)) % tuple(numbers)
        return {"space": self.space.space_id, "vector": f"[{text}]"}


class Near(NamedTuple):
    """A chunk near a query, by its cosine similarity."""

    chunk_id: str
    similarity: float
    #: Where it lies, for `search.vectors.vector_rows.vectors_of`; None if not asked for.
    place: bytes | None


def nearest_chunks(scope: Scope, point: QueryPoint, *, limit: int, with_places: bool = False) -> list[Near]:
    """Give up to `limit` chunks, the most similar to `point` first, ties by chunk id.

    Only of chunks that the scope lets through.
    """
    narrowing, values = _narrowing(scope)
    asked = _Asked(scope, point, narrowing, values | {**point.values, "limit": limit}, limit, with_places)
    found = _by_index(asked) if point.space.is_indexed else _by_codes(asked)
    return _near(_exactly(asked) if found is None else found)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked, as all ways of finding it need it."""

    scope: Scope
    point: QueryPoint
    narrowing: Narrowing
    values: dict[str, Any]
    limit: int
    with_places: bool


def _exactly(asked: _Asked) -> list[tuple[Any, ...]]:
    began = monotonic()
    VECTOR_LEGS.add("all")
    rows = _all_compared(asked.narrowing, asked.with_places).rows(asked.values, _time_limit())
    if monotonic() - began > _SLOW_S and not asked.point.space.is_indexed:
        codes_of_spaces().want(asked.scope, asked.point.space)
    return rows


def _by_codes(asked: _Asked) -> list[tuple[Any, ...]] | None:
    """Return the nearest, found by their codes; None: there are none, or too few pass the filters."""
    codes = codes_of_spaces().codes(asked.scope, asked.point.space)
    if codes is None:
        return None
    approximation = codes.near(asked.point.vector.astype(np.float16))
    statement = _some_compared(asked.narrowing, asked.with_places)
    wanted = asked.limit * (_FILTERED if asked.narrowing else 1)
    for _ in range(_LOOKS):
        chosen = approximation.best(wanted)
        if len(chosen.ids) > _MOST_COMPARED:
            return None
        rows = statement.rows(asked.values | {"some": f"{{{','.join(chosen.ids)}}}"}, _time_limit())
        if len(rows) == asked.limit and 1.0 - rows[-1][1] >= chosen.bound:
            return _borne_out(rows, chosen)
        # As many more as of those pass the filters, and some.
        wanted = int(_MARGIN * asked.limit * len(chosen.ids) / max(1, len(rows)))
    return None


def _borne_out(rows: list[tuple[Any, ...]], chosen: Chosen) -> list[tuple[Any, ...]] | None:
    if not chosen.is_borne_out_by({chunk_id.hex: 1.0 - distance for chunk_id, distance, *_ in rows}):
        return None
    VECTOR_LEGS.add("codes")
    return rows


def _by_index(asked: _Asked) -> list[tuple[Any, ...]] | None:
    """Return the nearest, as HNSW finds them; None: too few pass the filters."""
    ef_search = min(_MOST_EF_SEARCH, max(_EF_SEARCH, asked.limit + asked.limit // 2))
    options = {"hnsw.ef_search": str(ef_search), "hnsw.iterative_scan": "strict_order"}
    statement = _index_scanned(asked.narrowing, asked.point.space.dim, asked.with_places)
    rows = statement.rows(asked.values, _time_limit() | options)
    if len(rows) < asked.limit:
        return None
    VECTOR_LEGS.add("index")
    return sorted(rows, key=lambda row: (row[1], row[0]))


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
def _all_compared(narrowing: Narrowing, with_places: bool) -> Statement:
    return _compared(_rows(narrowing), with_places, is_planned_once=not narrowing)


@cache
def _some_compared(narrowing: Narrowing, with_places: bool) -> Statement:
    rows = _rows(narrowing).filter(chunk_id__any_of=Slot("some"))
    return _compared(rows, with_places, is_planned_once=not narrowing)


def _compared(rows: "QuerySet[ChunkVector]", with_places: bool, *, is_planned_once: bool) -> Statement:
    distance = CosineDistance("embedding", Slot("vector"), output_field=FloatField())
    nearest = rows.annotate(distance=distance).order_by("distance", "chunk_id")
    return _near_statement(nearest, distance, with_places, is_planned_once=is_planned_once)


@cache
def _index_scanned(narrowing: Narrowing, dim: int, with_places: bool) -> Statement:
    # The index is on this very expression; without the cast, rows of a column without dimensions.
    column = Cast("embedding", HalfVectorField(dimensions=dim))
    distance = CosineDistance(column, Slot("vector"), output_field=FloatField())
    nearest = _rows(narrowing).annotate(distance=distance).order_by("distance")
    # The index is one space's own: a plan for all spaces would have to do without it.
    return _near_statement(nearest, distance, with_places, is_planned_once=False)


def _near_statement(
    nearest: "QuerySet[ChunkVector]", distance: CosineDistance, with_places: bool, *, is_planned_once: bool
) -> Statement:
    place = [Place(F("embedding"), distance)] if with_places else []
    rows = nearest.values_list("chunk_id", "distance", *place)
    return compiled(rows, is_planned_once=is_planned_once).limited()


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


def _near(rows: Iterable[tuple[Any, ...]]) -> list[Near]:
    """Return cosine similarities in the place of distances; a vector without a direction has none."""
    return [
        Near(chunk_id.hex, 1.0 - distance, place[0] if place else None)
        for chunk_id, distance, *place in rows
        if distance == distance
    ]
