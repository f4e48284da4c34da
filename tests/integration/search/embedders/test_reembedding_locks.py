"""Requests that change the model and the job that stores vectors take their locks in one order."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from django.db import connection

from ingest.jobs.kinds import embed as embedding_work
from ingest.jobs.queue.request import request_embedding
from ingest.services.model_change import begin_reembedding, request_space_deletion, roll_back_spaces
from kebab.tenancy.current_workspace import acting_everywhere
from search.models import EmbeddingSpace
from tests.integration.search.embedders.conftest import FIRST, SECOND
from tests.support.concurrency import until_blocked
from tests.support.corpus import write
from tests.support.jobs import embed, work


@pytest.fixture
def changed(workspace):
    """One chunk with vectors of both embedders, those of the second live, and another with none."""
    write(workspace, "a.md", "apple")
    embed(workspace)
    begin_reembedding(workspace, embedder=SECOND)
    embed(workspace)
    workspace.refresh_from_db()
    write(workspace, "b.md", "cherry")
    return workspace


def begins(workspace):
    begin_reembedding(workspace, embedder=FIRST)


def ends(workspace):
    request_space_deletion(workspace, EmbeddingSpace.objects.get(state="retired").pk)


@pytest.mark.parametrize("request_", [begins, roll_back_spaces, ends])
def test_request_and_job_do_not_deadlock(changed, monkeypatch, request_):
    job = request_embedding(changed.pk)
    store, asked = embedding_work.store_vectors, []

    def asked_meanwhile(*args):
        if not asked:
            asked.append(executor.submit(in_its_own_connection, partial(request_, changed)))
            until_blocked()
        return store(*args)

    monkeypatch.setattr(embedding_work, "store_vectors", asked_meanwhile)
    with ThreadPoolExecutor(1) as executor:
        assert work(job).state == "succeeded"
        asked[0].result(30)


@acting_everywhere()
def in_its_own_connection(call):
    try:
        call()
    finally:
        connection.close()
