"""Fixtures of query log tests: a workspace in the test's transaction, and this process's log."""

import atexit

import pytest

from search.query_log.recorder import query_log
from tests.support.corpus import make_workspace, write
from tests.support.mirrors import sync_in_this_thread
from tests.support.runtime import renew_runtime
from tests.support.search import sync


@pytest.fixture
def workspace(db, mirrors, monkeypatch):
    sync_in_this_thread(monkeypatch)
    return make_workspace()


@pytest.fixture
def searched_workspace(workspace):
    """Return the workspace with a document about apples."""
    write(workspace, "guides/a.md", "apple pear")
    workspace.refresh_from_db()
    sync(workspace)
    return workspace


@pytest.fixture
def log(settings):
    """Return this process's query log, which is written when a test calls for it."""
    settings.KEBAB_QUERY_LOG_EVERY_S = 3_600
    renew_runtime()
    yield query_log()
    atexit.unregister(query_log().close)
    renew_runtime()
