"""Requests that change the model lock in the same order as jobs that store vectors."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from django.db import connection

from ingest.jobs.kinds import embed as embedding_work
from ingest.jobs.queue.request import request_embedding
from kebab.tenancy.current_workspace import acting_everywhere
from search.models import EmbeddingSpace
from tests.integration.search.embedders.conftest import FIRST, SECOND
from tests.integration.search.embedders.spaces import build, retire, roll_back
from tests.support.concurrency import until_blocked
from tests.support.corpus import write
from tests.support.jobs import embed, work


@pytest.fixture
def workspace_after_switch(workspace):
    """Return a workspace with one chunk embedded by both embedders, the second live, and one by none."""
    write(workspace, "a.md", "apple")
    embed(workspace)
    build(workspace, embedder=SECOND)
    embed(workspace)
    workspace.refresh_from_db()
    write(workspace, "b.md", "cherry")
    return workspace


def begins(workspace):
    build(workspace, embedder=FIRST)


def ends(workspace):
    retire(workspace, EmbeddingSpace.objects.get(state="retired").pk)


@pytest.mark.parametrize("request_", [begins, roll_back, ends])
def test_request_and_job_do_not_deadlock(workspace_after_switch, monkeypatch, request_):
    job = request_embedding(workspace_after_switch.pk)
    store, asked = embedding_work.store_vectors, []

    def request_and_store(*args):
        if not asked:
            asked.append(executor.submit(in_its_own_connection, partial(request_, workspace_after_switch)))
            until_blocked()
        return store(*args)

    monkeypatch.setattr(embedding_work, "store_vectors", request_and_store)
    with ThreadPoolExecutor(1) as executor:
        assert work(job).state == "succeeded"
        asked[0].result(30)


@acting_everywhere()
def in_its_own_connection(call):
    try:
        call()
    finally:
        connection.close()
