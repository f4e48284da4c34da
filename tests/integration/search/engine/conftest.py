"""Workspaces to search, on a machine that may be busy."""

import pytest

from search import embedding, node
from tests.support.api import committed
from tests.support.corpus import make_workspace
from tests.support.database import analyze_corpus
from tests.support.mirrors import sync_in_this_thread


@pytest.fixture
def patience(mirrors, settings):
    settings.KEBAB_LEG_LIMIT_MS = 60_000


@pytest.fixture
def workspace(db, patience, monkeypatch):
    """A workspace in the test's own transaction: no snapshot can begin there, no other thread sees it."""
    sync_in_this_thread(monkeypatch)
    return make_workspace()


@pytest.fixture
def shared_workspace(transactional_db, patience):
    """A workspace that other threads and connections see."""
    return make_workspace()


@pytest.fixture(scope="module")
def corpus(request, django_db_setup, django_db_blocker, tmp_path_factory):
    """A committed workspace, filled once by the module's `fill`, and its mirrors."""
    name = request.module.__name__.rpartition(".")[2]
    mirrors = tmp_path_factory.mktemp(name.removeprefix("test_"))
    with committed(django_db_blocker, mirrors, request.module.fill) as workspace:
        with django_db_blocker.unblock():
            analyze_corpus()
        yield workspace, mirrors


@pytest.fixture
def filled(db, corpus, settings, monkeypatch):
    """That workspace for one test, which may change rows and leaves the mirror alone."""
    workspace, settings.KEBAB_MIRROR_DIR = corpus
    settings.KEBAB_LEG_LIMIT_MS = 60_000
    monkeypatch.setattr(node, "trigger_sync", lambda workspace_id: None)
    workspace.refresh_from_db()
    yield workspace
    node.reader_pool().close()


@pytest.fixture
def set_embedder(settings):
    """Choose this process's embedder by name, for one test."""

    def choose(name):
        settings.KEBAB_EMBEDDER = name
        embedding.forget_queries()

    yield choose
    embedding.forget_queries()
