"""A workspace whose vectors are scanned as bytes."""

import pytest

from search.vectors import nearest
from search.vectors.scanning import CodesOfSpaces
from tests.support.corpus import make_workspace, write
from tests.support.searching import embed, sync


@pytest.fixture
def codes(tmp_path, monkeypatch):
    """This process's codes, which know of no space yet; what PostgreSQL compares is never slow."""
    made = CodesOfSpaces(lambda workspace_id: tmp_path / str(workspace_id))
    monkeypatch.setattr(nearest, "codes_of_spaces", lambda: made)
    monkeypatch.setattr(nearest, "_SLOW_S", 60.0)
    return made


@pytest.fixture
def workspace(transactional_db, mirrors, settings, codes):
    """400 chunks, one in fifty in the rare source; from a hundred on there are codes."""
    settings.KEBAB_CODES_FROM = 100
    settings.KEBAB_LEG_LIMIT_MS = 60_000
    workspace = make_workspace()
    texts = [f"apple number{n} and word{n % 7}" for n in range(400)]
    write(workspace, "common.md", *texts[8:])
    write(workspace, "rare.md", *texts[:8], source="rare")
    embed(workspace)
    sync(workspace)
    return workspace
