"""A workspace for verbs, which find the servers running."""

from contextlib import nullcontext

import pytest

from kebab.cli import verb
from search.management.commands import mirror
from tests.support.corpus import make_workspace
from tests.support.mirrors import sync_in_this_thread


@pytest.fixture(autouse=True)
def _servers_run_already(monkeypatch):
    for module in (verb, mirror):
        monkeypatch.setattr(module, "borrowed_stack", lambda *_, **__: nullcontext())


@pytest.fixture
def workspace(db, mirrors, settings, monkeypatch):
    """A workspace that lives in the test's own transaction, where no snapshot can be begun or is needed."""
    settings.KEBAB_LEG_LIMIT_MS = 60_000
    sync_in_this_thread(monkeypatch)
    return make_workspace()
