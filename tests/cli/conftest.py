"""Fixtures of command tests."""

import pytest

from tests.support.corpus import make_workspace
from tests.support.mirrors import sync_in_this_thread


@pytest.fixture
def workspace(db, mirrors, settings, monkeypatch):
    """Return a workspace in the test's transaction, where no snapshot can begin or is needed."""
    sync_in_this_thread(monkeypatch)
    return make_workspace()
