"""Quantised similarities are accurate enough to find all nearest vectors."""

from itertools import pairwise

import numpy as np
import pytest

from search.vectors.quantised_scan import BATCH, Codes, encode_vectors, merge_tables
from tests.integration.search.vectors.comparison import assert_equal_tables
from tests.integration.search.vectors.factories import clustered_vectors, ids_of, random_vectors


def exact(vectors, query):
    numbers = vectors.astype(np.float64)
    return numbers @ query / (np.linalg.norm(numbers, axis=1) * np.linalg.norm(query))


@pytest.mark.parametrize("make", [random_vectors, clustered_vectors])
@pytest.mark.parametrize("dim", [8, 384, 1024])
def test_quantised_similarity_stays_within_its_error_bound(make, dim):
    vectors = make(2_000, dim)
    codes = Codes((encode_vectors(ids_of(2_000), vectors),))
    for query in random_vectors(5, dim, seed=7).astype(np.float32):
        near = codes.near(query)
        assert np.abs(near.values - exact(vectors, query)).max() <= near.error


@pytest.mark.parametrize("make", [random_vectors, clustered_vectors])
def test_shortlist_contains_the_best_vectors(make):
    vectors, ids = make(BATCH * 2 + 5), ids_of(BATCH * 2 + 5)
    codes = Codes((encode_vectors(ids, vectors),))
    for query in (*vectors[:2].astype(np.float32), *random_vectors(2, seed=9).astype(np.float32)):
        chosen = codes.near(query).best(100)
        similarities = exact(vectors, query)
        assert np.isin(ids[np.argsort(-similarities)[:100]], chosen.ids).all()
        assert similarities[~np.isin(ids, chosen.ids)].max() < chosen.bound
        assert len(chosen.ids) < BATCH


def test_all_of_few_vectors_are_chosen_and_a_zero_vector_is_near_to_none():
    vectors = random_vectors(7)
    vectors[3] = 0
    codes = Codes((encode_vectors(ids_of(7), vectors),))
    chosen = codes.near(random_vectors(1)[0]).best(10)
    assert len(chosen.ids) == 7
    assert chosen.bound == -np.inf
    assert codes.near(random_vectors(1, seed=5)[0]).values[3] == 0
    assert not codes.near(np.zeros(384, np.float32)).values.any()


def test_pieces_give_the_similarities_of_the_whole():
    vectors = random_vectors(BATCH + 300)
    cuts = [0, 1, 40, BATCH + 100, BATCH + 300]
    pieces = [encode_vectors(ids_of(end - start, start), vectors[start:end]) for start, end in pairwise(cuts)]
    whole = encode_vectors(ids_of(len(vectors)), vectors)
    query = random_vectors(1, seed=4)[0]
    expected = Codes((whole,)).near(query)
    for codes in (Codes(tuple(pieces)), Codes((merge_tables(pieces),))):
        found = codes.near(query)
        assert len(codes) == len(vectors)
        assert (found.ids == expected.ids).all()
        assert (found.values == expected.values).all()


def test_table_is_sorted_by_id_and_finds_chunks_by_it():
    vectors, ids = random_vectors(BATCH + 7, dim=8), ids_of(BATCH + 7)
    order = np.random.default_rng(6).permutation(len(ids))
    table = encode_vectors(ids[order], vectors[order])
    assert_equal_tables(table, encode_vectors(ids, vectors))
    assert table.find(ids[[5, BATCH + 6, 0]]).tolist() == [5, BATCH + 6, 0]
    assert table.find(ids_of(2, first=len(ids))).tolist() == [-1, -1]


def test_similarities_equal_exact_ones_of_the_stored_vectors():
    vectors, ids = random_vectors(50), ids_of(51)
    vectors[7] = 0
    codes = Codes((encode_vectors(ids[:30], vectors[:30]), encode_vectors(ids[30:50], vectors[30:])))
    query = random_vectors(1, seed=3)[0].astype(np.float32)
    order = np.random.default_rng(6).permutation(51)
    with np.errstate(invalid="ignore"):
        expected = np.append(exact(vectors, query), np.nan)[order]
    found = codes.similarities(ids[order], query)
    assert found == pytest.approx(expected, abs=1e-6, nan_ok=True)
    assert np.isnan(found[np.isin(order, (7, 50))]).all()
    assert np.array_equal(codes.vectors(ids[order])[order < 50], vectors[order[order < 50]])
    assert not codes.vectors(ids[50:]).any()
    assert codes.vectors(ids[:0]).shape == (0, 384)


def test_latest_vector_of_a_chunk_replaces_earlier_ones():
    older, newer = random_vectors(4, dim=8), random_vectors(4, dim=8, seed=5)
    tables = encode_vectors(ids_of(4), older), encode_vectors(ids_of(2, first=2), newer[2:])
    expected = np.concatenate([older[:2], newer[2:]])
    merged = merge_tables(tables)
    assert_equal_tables(merged, encode_vectors(ids_of(4), expected))
    query = np.ones(8, np.float32)
    for codes in (Codes(tables), Codes((merged,))):
        assert np.array_equal(codes.vectors(ids_of(4)), expected.astype(np.float32))
        assert codes.similarities(ids_of(4), query) == pytest.approx(exact(expected, query), abs=1e-6)


def test_few_vectors_written_again_confirm_a_shortlist():
    vectors, ids, query = random_vectors(100), ids_of(100), random_vectors(1, seed=3)[0].astype(np.float32)
    chosen = Codes((encode_vectors(ids, vectors),)).near(query).best(100)
    similarities = exact(vectors, query)
    for count, is_confirmed in ((0, True), (25, True), (26, False)):
        assert chosen.is_confirmed_by(similarities + (np.arange(100) < count)) == is_confirmed


def test_biased_rounding_leaves_the_shortlist_unconfirmed():
    """Use vectors whose small components all round to zero and all point in the direction of the query."""
    vectors = np.full((5_000, 384), 0.0035, np.float16)
    vectors[np.arange(5_000), np.arange(5_000) % 384] = 1
    query = np.ones(384, np.float32)
    codes = Codes((encode_vectors(ids_of(5_000), vectors),))
    chosen = codes.near(query).best(10)
    assert not chosen.is_confirmed_by(codes.similarities(chosen.ids, query))
