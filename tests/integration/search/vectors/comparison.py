"""Comparison of quantised search with PostgreSQL's exact one."""

from typing import Any

import pytest

from kebab.people.models import Workspace
from kebab.people.reader import Reader
from search.access.scope import resolve_scope
from search.embedders.configured import configured_embedder
from search.models import ChunkVector
from search.retrieval.query.filters import SearchFilters
from search.vectors import nearest
from search.vectors.nearest import QueryPoint, nearest_chunks
from tests.integration.search.engine.statements import noted_statements

QUERIES = ["apple number3", "word4", "number17 word3", "apple"]


def find(workspace: Workspace, query: str, limit: int = 10, **filters: Any) -> tuple[list[Any], list[str]]:
    """Return the nearest chunks, and the statements sent to find them."""
    scope = resolve_scope(workspace, SearchFilters(**filters), Reader())
    point = QueryPoint(scope.space, configured_embedder().embed_query(query))
    with noted_statements() as sent:
        return nearest_chunks(scope, point, limit=limit), sent


def compare_all(workspace: Workspace, query: str, limit: int = 10, **filters: Any) -> list[Any]:
    """Return the nearest chunks by PostgreSQL alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest, "_find_by_codes", lambda asked: None)
        return find(workspace, query, limit, **filters)[0]


def assert_both_agree(workspace: Workspace, *, by_codes: bool = True, **filters: Any) -> None:
    """Assert that both ways find the same, and that quantised vectors sufficed."""
    for query in QUERIES:
        with pytest.MonkeyPatch.context() as patch:
            if by_codes:
                patch.setattr(nearest, "_find_exactly", _refuse)
            found = find(workspace, query, **filters)[0]
        assert found == compare_all(workspace, query, **filters), query
        assert found or not by_codes


def _refuse(asked: Any) -> None:
    raise AssertionError("all were compared")


def row_of(vector: ChunkVector) -> dict[str, Any]:
    """Return the values of a vector's row, for another insert."""
    names = ("workspace_id", "space_id", "chunk_id", "version_id", "embed_hash", "embedding")
    return {name: getattr(vector, name) for name in names}
