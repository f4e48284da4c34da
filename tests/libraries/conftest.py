"""A workspace whose libraries can be searched from the test's own transaction."""

from contextlib import nullcontext

import pytest

from search import node
from search.mirror import snapshot
from tests.corpus.making import make_workspace


@pytest.fixture
def workspace(db, mirrors, settings, monkeypatch):
    settings.KEBAB_LEG_LIMIT_MS = 60_000
    monkeypatch.setattr(snapshot, "postgres_snapshot", nullcontext)
    monkeypatch.setattr(node, "trigger_sync", lambda workspace_id: None)
    return make_workspace()
