import threading
from contextlib import nullcontext

import pytest

from kebab.observability.metrics.collectors import Collector, CollectorRunner, Sample
from kebab.observability.metrics.exposition import Page
from kebab.observability.metrics.files import Family
from tests.support.extensions import set_contributions
from tests.support.stack import eventually

_OF_ALL = Family(name="kebab_a", help="", kind="gauge")
_OF_ONE = Family(name="kebab_b", help="", kind="gauge", labels=("workspace",))


@pytest.fixture
def ask(monkeypatch):
    """Return a function that registers collectors and returns their samples as a page."""
    known = {}
    asker = CollectorRunner(nullcontext)

    def ask(*, is_up=lambda store: True, limit_s=5.0, is_operator=False, **more):
        known.update(more)
        set_contributions(monkeypatch, collectors=tuple(known.items()))
        page = Page()
        asker.write(page, is_up=is_up, limit_s=limit_s, is_operator=is_operator)
        return page.text().decode()

    return ask


def test_hanging_store_delays_only_its_own_metrics(ask):
    ends, asked = threading.Event(), []

    def hang():
        asked.append(1)
        ends.wait()
        return [Sample(family=_OF_ALL, amount=1)]

    there = Collector(store="redis", collect=lambda: [Sample(family=_OF_ONE, values=("x",), amount=2)])
    try:
        for _ in range(3):
            text = ask(
                hangs=Collector(store="postgres", collect=hang), there=there, limit_s=0.5, is_operator=True
            )
            assert 'kebab_b{workspace="x"} 2' in text and "kebab_a" not in text
        assert asked == [1]
    finally:
        ends.set()
    eventually(lambda: "kebab_a 1" in ask(), "its answer comes later", 10)


def test_failing_collector_does_not_affect_others(ask):
    good = Collector(store="postgres", collect=lambda: [Sample(family=_OF_ALL, amount=1)])
    assert "kebab_a 1" in ask(bad=Collector(store="postgres", collect=lambda: 1 / 0), good=good)


def test_unavailable_store_is_not_queried_and_answers_are_cached_briefly(ask):
    asked = []
    good = Collector(store="postgres", collect=lambda: asked.append(1) or [Sample(family=_OF_ALL, amount=1)])
    assert "kebab_a" not in ask(good=good, is_up=lambda store: store != "postgres")
    assert asked == []
    for _ in range(5):
        assert "kebab_a 1" in ask(good=good)
    assert asked == [1]


def test_workspace_metrics_are_shown_to_operators_only(ask):
    one = Collector(store="postgres", collect=lambda: [Sample(family=_OF_ONE, values=("x",), amount=1)])
    assert "kebab_b" not in ask(one=one)
    assert "kebab_b" in ask(is_operator=True)
