"""Quantised similarities are accurate enough to find all nearest vectors."""

from itertools import pairwise

import numpy as np
import pytest

from search.vectors.quantised_scan import BLOCK, Codes, encode_vectors, merge_tables, stack_tables
from tests.integration.search.vectors.factories import clustered_vectors, ids_of, random_vectors


def exact(vectors, query):
    numbers = vectors.astype(np.float64)
    return numbers @ query / (np.linalg.norm(numbers, axis=1) * np.linalg.norm(query))


@pytest.mark.parametrize("make", [random_vectors, clustered_vectors])
@pytest.mark.parametrize("dim", [8, 384, 1024])
def test_no_similarity_is_off_by_more_than_it_says(make, dim):
    vectors = make(2_000, dim)
    codes = Codes((encode_vectors(ids_of(2_000), vectors),))
    for query in random_vectors(5, dim, seed=7).astype(np.float32):
        near = codes.near(query)
        assert np.abs(near.values - exact(vectors, query)).max() <= near.error


@pytest.mark.parametrize("make", [random_vectors, clustered_vectors])
def test_best_are_among_the_chosen_and_the_others_below_the_bound(make):
    vectors, ids = make(BLOCK * 2 + 5), ids_of(BLOCK * 2 + 5)
    codes = Codes((encode_vectors(ids, vectors),))
    for query in (*vectors[:2].astype(np.float32), *random_vectors(2, seed=9).astype(np.float32)):
        chosen = codes.near(query).best(100)
        similarities = exact(vectors, query)
        best = {ids[place].tobytes().hex() for place in np.argsort(-similarities)[:100]}
        rest = [s for id_, s in zip(ids, similarities, strict=True) if id_.tobytes().hex() not in chosen.ids]
        assert best <= set(chosen.ids)
        assert max(rest) < chosen.bound
        assert len(chosen.ids) < BLOCK


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
    vectors = random_vectors(BLOCK + 300)
    cuts = [0, 1, 40, BLOCK + 100, BLOCK + 300]
    pieces = [encode_vectors(ids_of(end - start, start), vectors[start:end]) for start, end in pairwise(cuts)]
    whole = encode_vectors(ids_of(len(vectors)), vectors)
    query = random_vectors(1, seed=4)[0]
    expected = Codes((whole,)).near(query)
    for codes in (Codes(tuple(pieces)), Codes((merge_tables(pieces),))):
        found = codes.near(query)
        assert len(codes) == len(vectors)
        assert (found.ids == expected.ids).all()
        assert (found.values == expected.values).all()


def test_whole_blocks_and_a_rest_are_one_table():
    vectors = random_vectors(3 * BLOCK + 5, dim=8)
    starts = range(0, len(vectors), 2 * BLOCK)
    ids = ids_of(len(vectors))
    pieces = [encode_vectors(ids[s : s + 2 * BLOCK], vectors[s : s + 2 * BLOCK]) for s in starts]
    stacked, whole = stack_tables(pieces), encode_vectors(ids, vectors)
    for name in ("ids", "scales", "sums", "blocks"):
        assert np.array_equal(getattr(stacked, name), getattr(whole, name))
    assert stacked.residual == whole.residual


def test_rounding_that_is_not_random_is_noticed():
    """Components too small for a step all vanish, and all of them point the way of the query."""
    vectors = np.full((5_000, 384), 0.0035, np.float16)
    vectors[np.arange(5_000), np.arange(5_000) % 384] = 1
    query = np.ones(384, np.float32)
    ids = ids_of(5_000)
    chosen = Codes((encode_vectors(ids, vectors),)).near(query).best(10)
    similarities = exact(vectors, query)
    found = {id_.tobytes().hex(): s for id_, s in zip(ids[:10], similarities[:10], strict=True)}
    assert not chosen.is_confirmed_by(found)
