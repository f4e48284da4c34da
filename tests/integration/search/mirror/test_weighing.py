"""What is left out when the best rows are looked for never belongs to them."""

import numpy as np
import pytest

from search.mirror.postings import rows_of_all, rows_of_best, sums_at
from search.mirror.postings import score as weighing
from search.mirror.postings.score import Scored

N_ROWS = 20_000


def contribution(chance, count, worth):
    rows = np.sort(chance.choice(N_ROWS, count, replace=False))
    return Scored.of(rows, worth * chance.random(count))


def query(seed):
    """A few words, from rare and telling to common and worth little."""
    chance = np.random.default_rng(seed)
    counts = ((200, 9.0), (1_500, 6.0), (6_000, 1.0), (15_000, 0.3))
    return [contribution(chance, count, worth) for count, worth in counts], chance.random(N_ROWS) < 0.8


def everything(found):
    sums = np.zeros(N_ROWS)
    for each in found:
        sums[each.rows] += each.scores
    return sums


@pytest.mark.parametrize("limit", [1, 10, 100, 1_000])
@pytest.mark.parametrize("seed", range(5))
def test_the_best_rows_are_among_those_that_are_kept(seed, limit):
    found, passes = query(seed)
    sums = np.where(passes, everything(found), 0.0)
    best = np.argsort(-sums, kind="stable")[:limit]

    kept = rows_of_best(found, passes, limit)

    assert set(best.tolist()) <= set(kept.tolist())
    assert passes[kept].all()


def test_common_words_are_not_added_up_for_all_rows(monkeypatch):
    found, passes = query(0)
    kept = len(rows_of_best(found, passes, 10))
    monkeypatch.setattr(weighing, "_LONG", N_ROWS + 1)

    assert kept < len(rows_of_best(found, passes, 10)) / 10


@pytest.mark.parametrize("count", [0, 3, 300, N_ROWS])
def test_sums_are_those_of_all_rows_however_few_are_asked_for(count):
    found, _ = query(1)
    rows = np.sort(np.random.default_rng(2).choice(N_ROWS, count, replace=False))

    assert sums_at(rows, found, N_ROWS).tolist() == everything(found)[rows].tolist()


def test_rows_of_all_have_every_word():
    found, _ = query(3)

    every = set.intersection(*(set(each.rows.tolist()) for each in found))
    assert rows_of_all(found).tolist() == sorted(every)
