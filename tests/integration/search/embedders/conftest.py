"""Fixtures of model changes: two embedders, and workspaces that start with the first."""

import pytest

from search.embedders import configured as embedding
from search.embedders.hash_embedder import HashEmbedder
from search.embedders.spec import DEFAULT, ENGLISH, MULTILINGUAL
from tests.integration.search.embedders.local_models import install, use, write_in
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


@pytest.fixture
def local_models(embedders, monkeypatch):
    """Use stand-ins of both local models; the operator's choice is `default`."""
    embedders(DEFAULT, "hash")
    install(monkeypatch, ENGLISH, MULTILINGUAL)
    use(monkeypatch)
    yield
    embedding._load_embedder.cache_clear()


@pytest.fixture
def team(transactional_db, mirrors, local_models):
    """Yield a workspace on `default`."""
    yield make_workspace()
    finish_syncs()


@pytest.fixture
def english_team(team):
    """Return a workspace on `default` with 20 documents in English and their vectors."""
    write_in(team, "en", 20)
    assert embed(team).state == "succeeded"
    return team
