"""Searches during a switch of spaces use one space each, and none fails."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from ingest.models import Job
from kebab.tenancy.current_workspace import acting_everywhere
from search.engine import corpus
from search.retrieval.types import Mode
from tests.integration.search.embedders.conftest import SECOND
from tests.integration.search.embedders.spaces import build, roll_back
from tests.support.corpus import write
from tests.support.jobs import embed, work
from tests.support.search import ask, sync

pytestmark = pytest.mark.slow

WORDS = ["apple", "pear", "cherry", "plum", "quince", "medlar", "fig", "date"]


@pytest.fixture
def searched_dims(monkeypatch):
    """Return for each vector query its own dimension and the space's."""
    pairs, real = [], corpus.nearest_chunks

    def nearest(scope, point, **options):
        pairs.append((point.space.dim, len(point.vector)))
        return real(scope, point, **options)

    monkeypatch.setattr(corpus, "nearest_chunks", nearest)
    return pairs


def test_no_search_under_load_mixes_spaces_or_fails(workspace, searched_dims):
    for number in range(8):
        write(workspace, f"{number}.md", *(f"{word} {number} {n}" for n, word in enumerate(WORDS * 5)))
    sync(workspace)
    embed(workspace)
    stop, asked = threading.Event(), []

    @acting_everywhere()
    def load(number):
        try:
            while not stop.is_set():
                mode = (Mode.HYBRID, Mode.VECTOR)[number % 2]
                result = ask(workspace, f"{WORDS[number]} {number}", mode)
                asked.append((result.degraded, result.warnings, len(result.hits), result.index_version))
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        loads = [threads.submit(load, number) for number in range(4)]
        try:
            for change in (
                lambda: build(workspace, embedder=SECOND),
                *[lambda: roll_back(workspace)] * 4,
            ):
                change()
                before = len(asked)
                for job in Job.objects.filter(state="queued"):
                    assert work(job).state == "succeeded"
                while len(asked) < before + 20 and not any(each.done() for each in loads):
                    stop.wait(0.01)
        finally:
            stop.set()
        for each in loads:
            each.result()

    assert {(degraded, warnings, hits) for degraded, warnings, hits, _ in asked} == {((), (), 10)}
    assert {dim for dim, _ in searched_dims} == {512, 64}
    assert all(dim == length for dim, length in searched_dims)
    named = {"hash-1-64@" in version for *_, version in asked}
    assert named == {True, False}
