"""Nearest chunks by an HNSW index, compared with the exact scan."""

import math
from dataclasses import replace

import numpy as np
import pytest
from django.test import override_settings

from kebab.identity.reader import Reader
from search.access.scope import resolve_scope
from search.embedders.configured import configured_embedder
from search.models import ChunkVector
from search.retrieval.fusion.legs import pack_ids, unpack_ids
from search.retrieval.query.filters import SearchFilters
from search.retrieval.types import Mode
from search.vectors.index import ensure_index
from search.vectors.nearest import QueryPoint, nearest_chunks
from search.vectors.spaces import live_space
from tests.integration.search.engine.statements import noted_statements
from tests.integration.search.vectors.comparison import assert_equal, find_nearest, similarities_by_id
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
        by_index = find_nearest(scope, QueryPoint(scope.space, vector))
        exactly = find_nearest(scope, QueryPoint(by_scan, vector))
        agreed += np.count_nonzero(by_index.similarities >= exactly.similarities[-1] - 1e-6)
        assert np.lexsort((by_index.ids, -by_index.similarities)).tolist() == list(range(10))
        best += by_index.similarities[0] == pytest.approx(exactly.similarities[0])
    # Its graph is another one each time it is built.
    assert agreed >= 0.9 * 200
    assert best >= 18


def test_index_is_planned_for_its_own_space(indexed_workspace, scope):
    space = live_space(indexed_workspace)
    vector = np.eye(1, 64, 3, dtype=np.float32)[0]
    find_nearest(scope, QueryPoint(space, vector), 5)
    # Each time anew: a plan for all spaces couldn't use the index of one.
    with noted_statements() as sent:
        find_nearest(scope, QueryPoint(space, vector), 5)
    assert any(f"::halfvec({space.dim})" in sql for sql in sent)


def test_filter_never_shortens_the_list_while_matches_exist(indexed_workspace):
    for text in ("kappa number100", "mu", "nothing at all like it"):
        hits = ask(indexed_workspace, text, Mode.VECTOR, source=("rare",), k=10).hits
        assert [hit.doc_path for hit in hits] == ["rare.md"] * 8
    assert len(ask(indexed_workspace, "kappa", Mode.VECTOR, k=300).hits) == 300


def stored_vectors(scope):
    rows = ChunkVector.objects.filter(space_id=scope.space.space_id).values_list("chunk_id", "embedding")
    return {id_.hex: np.array(embedding, np.float16) for id_, embedding in rows}


@pytest.mark.parametrize("is_indexed", [False, True])
def test_similarity_and_vector_of_any_chunk_are_read_once(scope, point, is_indexed):
    point = replace(point, space=replace(scope.space, is_indexed=is_indexed))
    found, stored = find_nearest(scope, point, 20), stored_vectors(scope)
    ids = pack_ids([*sorted(stored), "0" * 32])
    with noted_statements() as sent:
        similarities = found.vectors.similarities(ids, point.half)
        vectors = found.vectors.vectors(ids)
        assert (found.vectors.vectors(found.ids) == vectors[np.searchsorted(ids[:-1], found.ids)]).all()
        assert found.vectors.vectors(ids[:0]).shape == (0, point.space.dim)
    assert len(sent) == 1
    assert (vectors[:-1] == np.array([stored[id_] for id_ in sorted(stored)])).all()
    assert not vectors[-1].any()
    by_id = dict(zip(unpack_ids(ids), similarities.tolist(), strict=True))
    assert math.isnan(by_id.pop("0" * 32))
    nearest = similarities_by_id(found)
    assert_equal({id_: by_id[id_] for id_ in nearest}, nearest)


def test_only_a_check_of_codes_asks_for_visible_chunks(scope, point):
    """Cover that PostgreSQL compares visible vectors without asking for them."""
    for is_indexed in (False, True):
        asked = replace(point, space=replace(scope.space, is_indexed=is_indexed))
        found = nearest_chunks(scope, asked, limit=5, check_visible=lambda ids: 1 / 0)
        assert len(found.ids) == 5
