"""Comparison of quantised search with PostgreSQL's exact one."""

import platform
from functools import partial
from typing import Any

import numpy as np
import pytest

from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from search.access.scope import SearchScope, resolve_scope
from search.embedders.configured import configured_embedder
from search.engine.readback import read_visible
from search.models import ChunkVector
from search.retrieval.fusion.legs import unpack_ids
from search.retrieval.query.filters import SearchFilters
from search.vectors import nearest
from search.vectors.nearest import Nearest, QueryPoint, nearest_chunks
from search.vectors.quantised_scan import CodeTable
from tests.integration.search.engine.statements import noted_statements

QUERIES = ["apple number3", "word4", "number17 word3", "apple"]


def find_nearest(scope: SearchScope, point: QueryPoint, limit: int = 10) -> Nearest:
    """Return the nearest chunks that Postgres shows under the scope."""
    return nearest_chunks(scope, point, limit=limit, check_visible=partial(read_visible, scope))


def similarities_by_id(found: Nearest) -> dict[str, float]:
    """Return the similarities of chunks by their ids, nearest first."""
    return dict(zip(unpack_ids(found.ids), found.similarities.tolist(), strict=True))


def find(
    workspace: Workspace, query: str, limit: int = 10, **filters: Any
) -> tuple[dict[str, float], list[str]]:
    """Return the similarities of the nearest chunks by id, and the statements sent to find them."""
    scope = resolve_scope(workspace, SearchFilters(**filters), Reader())
    point = QueryPoint(scope.space, configured_embedder().embed_query(query))
    with noted_statements() as sent:
        return similarities_by_id(find_nearest(scope, point, limit)), sent


def compare_all(workspace: Workspace, query: str, limit: int = 10, **filters: Any) -> dict[str, float]:
    """Return the similarities of the nearest chunks by PostgreSQL alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest, "_find_by_codes", lambda *given: None)
        return find(workspace, query, limit, **filters)[0]


def assert_equal(found: dict[str, float], expected: dict[str, float], query: str = "") -> None:
    """Assert that both are the same in the same order; pgvector adds in another order on other processors."""
    if platform.machine() == "x86_64":
        assert list(found.items()) == list(expected.items()), query
    else:
        assert list(found.values()) == pytest.approx(list(expected.values()), abs=1e-5), query


def assert_equal_tables(table: CodeTable, other: CodeTable) -> None:
    """Assert that both have the same vectors and codes."""
    for name in ("ids", "vectors", "squares", "scales", "codes"):
        assert np.array_equal(getattr(table, name), getattr(other, name)), name
    assert table.residual == other.residual


def assert_both_agree(workspace: Workspace, *, by_codes: bool = True, **filters: Any) -> None:
    """Assert that both ways find the same, and that quantised vectors sufficed."""
    for query in QUERIES:
        with pytest.MonkeyPatch.context() as patch:
            if by_codes:
                patch.setattr(nearest, "_find_exactly", _refuse)
            found = find(workspace, query, **filters)[0]
        assert_equal(found, compare_all(workspace, query, **filters), query)
        assert found or not by_codes


def _refuse(asked: Any) -> None:
    raise AssertionError("all were compared")


def row_of(vector: ChunkVector) -> dict[str, Any]:
    """Return the values of a vector's row, for another insert."""
    names = ("workspace_id", "space_id", "chunk_id", "version_id", "embed_hash", "embedding")
    return {name: getattr(vector, name) for name in names}
