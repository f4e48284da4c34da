"""Nearest chunks by an HNSW index, compared with the exact scan."""

from dataclasses import replace

import numpy as np
import pytest
from django.test import override_settings

from kebab.people.reader import Reader
from search.access.scope import resolve_scope
from search.embedders.configured import configured_embedder
from search.engine.readback import read_back
from search.models import ChunkVector
from search.retrieval.query.filters import SearchFilters
from search.retrieval.types import Mode
from search.vectors.index import ensure_index
from search.vectors.nearest import QueryPoint, nearest_chunks
from search.vectors.spaces import live_space
from search.vectors.vector_rows import decode_vectors
from tests.integration.search.engine.statements import noted_statements
from tests.integration.search.vectors.factories import combinations
from tests.support.corpus import write
from tests.support.search import ask, embed


def fill(workspace):
    """Write 400 chunks under an HNSW index, one in fifty in the rare source."""
    texts = combinations(400)
    write(workspace, "common.md", *texts[8:])
    write(workspace, "rare.md", *texts[:8], source="rare")
    with override_settings(KEBAB_EXACT_SCAN_LIMIT=100):
        assert ensure_index(embed(workspace))


@pytest.fixture
def indexed_workspace(filled, settings):
    settings.KEBAB_EXACT_SCAN_LIMIT = 100
    return filled


@pytest.fixture
def scope(indexed_workspace):
    return resolve_scope(indexed_workspace, SearchFilters(), Reader())


@pytest.fixture
def point(scope):
    return QueryPoint(scope.space, configured_embedder().embed_query("apple"))


def test_index_finds_what_the_exact_scan_finds(indexed_workspace, scope):
    agreed = best = 0
    by_scan = replace(scope.space, is_indexed=False)
    for text in combinations(20):
        vector = configured_embedder().embed_query(text)
        by_index = nearest_chunks(scope, QueryPoint(scope.space, vector), limit=10)
        exactly = nearest_chunks(scope, QueryPoint(by_scan, vector), limit=10)
        agreed += sum(near.similarity >= exactly[-1].similarity - 1e-6 for near in by_index)
        assert by_index == sorted(by_index, key=lambda near: (-near.similarity, near.chunk_id))
        best += by_index[0].similarity == pytest.approx(exactly[0].similarity)
    # Its graph is another one each time it is built.
    assert agreed >= 0.9 * 200
    assert best >= 18


def test_index_is_planned_for_its_own_space(indexed_workspace, scope):
    space = live_space(indexed_workspace)
    vector = np.eye(1, 64, 3, dtype=np.float32)[0]
    nearest_chunks(scope, QueryPoint(space, vector), limit=5)
    # Each time anew: a plan for all spaces couldn't use the index of one.
    with noted_statements() as sent:
        nearest_chunks(scope, QueryPoint(space, vector), limit=5)
    assert any(f"::halfvec({space.dim})" in sql for sql in sent)


def test_filter_never_shortens_the_list_while_matches_exist(indexed_workspace):
    for text in ("kappa number100", "mu", "nothing at all like it"):
        hits = ask(indexed_workspace, text, Mode.VECTOR, source=("rare",), k=10).hits
        assert [hit.doc_path for hit in hits] == ["rare.md"] * 8
    assert len(ask(indexed_workspace, "kappa", Mode.VECTOR, k=300).hits) == 300


def test_stored_vectors_give_the_similarity_of_any_chunk(scope, point):
    found = {near.chunk_id: near.similarity for near in nearest_chunks(scope, point, limit=20)}
    asked = [*found, "0" * 32]
    standing = read_back(scope, asked, point, asked)
    assert standing.similarities == pytest.approx(found)
    kept = ChunkVector.objects.filter(space_id=scope.space.space_id, chunk_id__in=found)
    rows = kept.values_list("chunk_id", "embedding")
    stored = {id_.hex: pytest.approx(embedding) for id_, embedding in rows}
    assert {id_: place.tolist() for id_, place in decode_vectors(standing.encoded_vectors).items()} == stored


@pytest.mark.parametrize("is_indexed", [False, True])
def test_vector_leg_brings_along_where_its_candidates_lie(scope, point, is_indexed):
    point = replace(point, space=replace(scope.space, is_indexed=is_indexed))
    nearest = nearest_chunks(scope, point, limit=20, with_places=True)
    assert read_back(scope, [], point).encoded_vectors == {}
    ids = [near.chunk_id for near in nearest]
    stored = read_back(scope, ids, point, ids)
    assert {near.chunk_id: near.place for near in nearest} == stored.encoded_vectors
    assert all(near.place is None for near in nearest_chunks(scope, point, limit=20))


def test_vectors_of_the_first_two_hundred_are_read_and_the_similarity_of_all(scope, point):
    found = {near.chunk_id: near.similarity for near in nearest_chunks(scope, point, limit=250)}
    standing = read_back(scope, list(found), point, list(found))
    assert standing.encoded_vectors.keys() == set(list(found)[:200])
    assert standing.similarities == pytest.approx(found)
    assert standing.documents.keys() == found.keys()
