"""Change from words alone to vectors and back, without a live space to build beside."""

import pytest

from ingest.jobs.queue.request import request_embedding
from kebab.people.workspaces import store_settings
from search.models import EmbeddingSpace
from search.retrieval.types import Mode
from search.vectors.backfill import count_without_vector
from tests.integration.search.embedders.conftest import SECOND
from tests.integration.search.embedders.spaces import build, dims, open_job, retire
from tests.support.corpus import write
from tests.support.jobs import embed, work
from tests.support.search import ask, sync


@pytest.mark.parametrize("by_verb", [True, False])
def test_words_are_searched_throughout_a_change_to_an_embedder_and_back(workspace, by_verb):
    workspace = store_settings(workspace, {"embedder": "none"})
    write(workspace, "a.md", "pear tree")
    sync(workspace)
    assert embed(workspace).state == "succeeded"
    assert (ask(workspace, "pear tree", Mode.HYBRID).degraded, dims(workspace)) == (("vector",), {})

    if by_verb:
        build(workspace, embedder=SECOND)
    else:
        workspace = store_settings(workspace, {"embedder": SECOND})
        request_embedding(workspace.pk)
    assert work(open_job()).state == "succeeded"
    workspace.refresh_from_db()
    found = ask(workspace, "pear tree", Mode.HYBRID)
    assert (found.degraded, found.hits[0].retrieval.vector_rank, dims(workspace)) == ((), 1, {"live": 512})

    workspace = store_settings(workspace, {"embedder": "none"})
    write(workspace, "b.md", "pear cake")
    sync(workspace)
    assert embed(workspace).state == "succeeded"
    found = ask(workspace, "pear cake", Mode.HYBRID)
    assert (found.degraded, found.hits[0].doc_path) == (("vector",), "b.md")
    # The vectors are kept: back again only what came meanwhile is embedded.
    workspace = store_settings(workspace, {"embedder": SECOND})
    job = embed(workspace)
    assert (job.state, job.calls, ask(workspace, "pear cake", Mode.HYBRID).degraded) == ("succeeded", 1, ())


def test_held_or_deleted_first_build_does_not_block_later_embedding(workspace):
    workspace = store_settings(workspace, {"embedder": "none"})
    write(workspace, "a.md", "pear tree")
    sync(workspace)
    embed(workspace)
    building = build(workspace, embedder=SECOND, hold=True)
    assert work(open_job()).state == "succeeded"
    assert dims(workspace) == {"building": 512}
    retire(workspace, building.pk)
    workspace.refresh_from_db()
    assert ask(workspace, "pear tree", Mode.HYBRID).degraded == ()
    assert work(open_job()).state == "succeeded"
    assert dims(workspace) == {"live": 512}
    assert count_without_vector(EmbeddingSpace.objects.get()) == 0
