"""Fixtures of library tests."""

import pytest

from tests.support.corpus import make_workspace
from tests.support.mirrors import sync_in_this_thread


@pytest.fixture
def workspace(db, mirrors, monkeypatch):
    sync_in_this_thread(monkeypatch)
    return make_workspace()
