"""Workspaces to search, on a machine that may be busy."""

import pytest

from search import embedding, node
from tests.support.corpus import make_workspace
from tests.support.mirrors import sync_in_this_thread


@pytest.fixture
def workspace(db, mirrors, monkeypatch):
    """A workspace in the test's own transaction: no snapshot can begin there, no other thread sees it."""
    sync_in_this_thread(monkeypatch)
    return make_workspace()


@pytest.fixture
def shared_workspace(transactional_db, mirrors):
    """A workspace that other threads and connections see."""
    return make_workspace()


@pytest.fixture
def filled(filled, monkeypatch):
    """The committed workspace for one test, which may change rows and leaves the mirror alone."""
    monkeypatch.setattr(node, "trigger_sync", lambda workspace_id: None)
    yield filled
    node.reader_pool().close()


@pytest.fixture
def set_embedder(settings):
    """Choose this process's embedder by name, for one test."""

    def choose(name):
        settings.KEBAB_EMBEDDER = name
        embedding.forget_queries()

    yield choose
    embedding.forget_queries()
