"""Workspaces whose vectors are scanned in quantised form, or through an index."""

import pytest

from search.vectors import nearest
from search.vectors.quantised_index import CodeCache
from search.vectors.spaces import live_space
from tests.integration.search.engine.conftest import filled, shared_workspace  # noqa: F401 - fixtures
from tests.integration.search.vectors.factories import write_apples
from tests.support.corpus import make_workspace
from tests.support.search import embed, sync


@pytest.fixture(autouse=True)
def _no_background_builds(monkeypatch):
    """Let no search build codes beside the tests."""
    monkeypatch.setattr(CodeCache, "request", lambda cache, scope, space: None)


@pytest.fixture
def codes(tmp_path, monkeypatch, settings):
    """Return an empty quantised index."""
    settings.KEBAB_CODES_FROM = 100
    made = CodeCache(lambda workspace_id: tmp_path / str(workspace_id))
    monkeypatch.setattr(nearest, "code_cache", lambda: made)
    return made


@pytest.fixture
def workspace(transactional_db, mirrors, codes):
    """Return a workspace of 400 chunks, one in fifty in the rare source: enough to quantise."""
    workspace = make_workspace()
    write_apples(workspace)
    embed(workspace)
    sync(workspace)
    return workspace


@pytest.fixture
def quantised_workspace(workspace, codes):
    """Return the workspace with its quantised vectors built."""
    codes.build(workspace.pk, live_space(workspace))
    return workspace
