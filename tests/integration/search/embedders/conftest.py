"""Fixtures of model changes: two embedders, and workspaces that start with the first."""

import pytest

from search.embedders import configured as embedding
from search.embedders.hash_embedder import HashEmbedder
from tests.integration.search.vectors.indexes import drop_indexes
from tests.support.corpus import make_workspace, write
from tests.support.jobs import embed
from tests.support.search import finish_syncs, sync

FIRST, SECOND = "hash", "hash:512"


@pytest.fixture
def embedders(settings):
    """Configure this process's embedders; tests start with two whose vectors are not comparable."""

    def choose(configured, *others):
        settings.KEBAB_EMBEDDER, settings.KEBAB_EMBEDDERS = configured, list(others)
        embedding.clear_query_caches()

    choose(FIRST, SECOND)
    yield choose
    embedding.clear_query_caches()


@pytest.fixture
def workspace(transactional_db, mirrors, embedders):
    """Yield a workspace that other threads and processes see."""
    yield make_workspace()
    finish_syncs()
    drop_indexes()


@pytest.fixture
def embedded_dims(monkeypatch):
    """Return the list of the dimensions of embedded texts, in order."""
    seen, real = [], HashEmbedder.embed_passages

    def note_dims(self, texts):
        seen.extend([self.space.dim] * len(texts))
        return real(self, texts)

    monkeypatch.setattr(HashEmbedder, "embed_passages", note_dims)
    return seen


@pytest.fixture
def filled_workspace(workspace):
    """Return a workspace of 150 chunks with vectors of the first embedder."""
    write(workspace, "a.md", *(f"apple number{n}" for n in range(149)), "pear tree")
    sync(workspace)
    assert embed(workspace).state == "succeeded"
    return workspace
