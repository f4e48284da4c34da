"""A folder, a source that reads it, and a queue that begins empty."""

import pytest

from ingest.jobs import hints
from search import embedding
from search.corpus import ensure_source
from tests.corpus.making import make_workspace


@pytest.fixture(autouse=True)
def _empty_queues(servers):
    queues = ("ingest", "embed", "mirror", "maintenance")
    client = hints._redis()
    client.delete(*queues)
    yield
    client.delete(*queues)


@pytest.fixture(autouse=True)
def _own_embedder():
    yield
    embedding.forget_queries()


@pytest.fixture
def workspace(transactional_db):
    return make_workspace()


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "folder"
    root.mkdir()
    return root


@pytest.fixture
def source(workspace, folder):
    return ensure_source(workspace, "notes", kind="folder", config={"path": str(folder)})


@pytest.fixture
def reachable_sites(settings):
    """Sites on this machine may be read, and as fast as they answer."""
    settings.KEBAB_PRIVATE_HOSTS = frozenset({"127.0.0.1"})
    settings.KEBAB_CRAWL_REQUESTS_PER_S = 10_000
    settings.KEBAB_CRAWL_LIMIT_S = 5
