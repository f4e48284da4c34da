"""What it takes to count a search, beside the search."""

import time

from kebab.metrics import instruments
from kebab.metrics.store import Store
from search.retrieval.types import Mode
from tests.support.corpus import make_workspace, write_each
from tests.support.searching import ask, embed, sync

_SEARCHES = 40


def test_counting_takes_less_than_a_hundredth_of_a_search(transactional_db, mirrors, tmp_path, monkeypatch):
    """Of the processor's time of one run, so that it does not matter what else the machine does."""
    workspace = _filled()
    counting = Counting(Store())
    counting.store.publish(tmp_path / "metrics", "web")
    monkeypatch.setattr(instruments, "own_store", lambda: counting)
    ask(workspace, "harbour crane", Mode.HYBRID)
    counting.calls = 0
    began = time.thread_time()
    for number in range(_SEARCHES):
        ask(workspace, f"harbour crane {number}", Mode.HYBRID)
    search_s = (time.thread_time() - began) / _SEARCHES
    calls = counting.calls / _SEARCHES
    counting_s = calls * _cost_of_one(counting.store)

    shares = f"{calls:.0f} times, {counting_s * 1e6:.0f} of {search_s * 1e6:.0f} microseconds"
    assert counting_s < 0.01 * search_s, shares


def _filled():
    workspace = make_workspace()
    write_each(
        workspace, [f"The harbour crane number {number} lifts boats of many kinds." for number in range(60)]
    )
    sync(workspace)
    embed(workspace)
    return workspace


class Counting:
    """A store that counts how often it is asked to count."""

    def __init__(self, store):
        self.store = store
        self.calls = 0

    def __getattr__(self, name):
        self.calls += 1
        return getattr(self.store, name)


def _cost_of_one(store):
    family = instruments.Histogram("kebab_cost_seconds", "", "leg").family
    began = time.thread_time()
    for _ in range(20_000):
        store.observe(family, ("lexical",), 3, 0.01)
    return (time.thread_time() - began) / 20_000
