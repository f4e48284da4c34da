"""Cosine similarities computed here equal those of PostgreSQL."""

import platform

import numpy as np
import pytest
from django.db import connection

from search.vectors.quantised_scan import cosines, sum_squares

# pgvector adds in another order on other processors.
TOLERANCE = 0.0 if platform.machine() == "x86_64" else 1e-5


def cosine_by_postgres(row, query):
    vectors = [str(vector.tolist()) for vector in (row, query)]
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 - (%s::halfvec <=> %s::halfvec)", vectors)
        return cursor.fetchone()[0]


@pytest.mark.django_db
@pytest.mark.parametrize("dim", [1, 7, 8, 13, 64, 384])
def test_cosines_equal_the_ones_postgres_computes(dim):
    rows = np.random.default_rng(dim).standard_normal((6, dim)).astype(np.float16)
    rows[0], rows[1] = 0, rows[2]
    query = rows[2].astype(np.float32)
    found = cosines(rows.astype(np.float32), query)
    expected = [cosine_by_postgres(row, query) for row in rows]
    assert found == pytest.approx(expected, rel=0, abs=TOLERANCE, nan_ok=True)
    assert np.isnan(found).tolist() == [True] + [False] * 5


def test_precomputed_squares_give_the_same_cosines():
    rows = np.random.default_rng(3).standard_normal((5, 20)).astype(np.float16).astype(np.float32)
    assert cosines(rows, rows[0]).tolist() == cosines(rows, rows[0], sum_squares(rows)).tolist()
    assert cosines(rows[:0], rows[0]).tolist() == []
