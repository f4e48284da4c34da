"""Fixtures of search tests."""

import pytest

from search.embedders import configured
from search.mirror import local_mirrors
from tests.support.corpus import make_workspace
from tests.support.mirrors import sync_in_this_thread


@pytest.fixture
def workspace(db, mirrors, monkeypatch):
    """Return a workspace in the test's transaction, where no snapshot can begin."""
    sync_in_this_thread(monkeypatch)
    return make_workspace()


@pytest.fixture
def shared_workspace(transactional_db, mirrors):
    """Yield a workspace that other threads and connections see."""
    return make_workspace()


@pytest.fixture
def filled(filled, monkeypatch):
    """Yield the committed workspace to a test that may change rows but not the mirror."""
    monkeypatch.setattr(local_mirrors, "trigger_sync", lambda workspace_id: None)
    yield filled
    local_mirrors.reader_pool().close()


@pytest.fixture
def set_embedder(settings):
    """Return a function that sets this process's embedder for one test."""

    def choose(name):
        settings.KEBAB_EMBEDDER = name
        configured.clear_query_caches()

    yield choose
    configured.clear_query_caches()
