"""A process that knows two embedders, and workspaces that begin with the first."""

import pytest

from search import embedding, node
from tests.corpus.making import make_workspace

FIRST, SECOND = "hash", "hash:512"


@pytest.fixture
def embedders(settings):
    """Name the embedders of this process; every test begins with two, whose vectors can't be compared."""

    def choose(configured, *others):
        settings.KEBAB_EMBEDDER, settings.KEBAB_EMBEDDERS = configured, list(others)
        embedding.forget_queries()

    choose(FIRST, SECOND)
    yield choose
    embedding.forget_queries()


@pytest.fixture
def workspace(transactional_db, mirrors, settings, embedders):
    """A workspace that other threads and processes see."""
    settings.KEBAB_LEG_LIMIT_MS = 60_000
    yield make_workspace()
    node._sync_executor().submit(lambda: None).result(30)
