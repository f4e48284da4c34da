"""A folder, a source that reads it, and a queue that begins empty."""

import pytest

from ingest.jobs import hints
from ingest.jobs.parsing import digester_pool
from search import embedding
from search.corpus import ensure_source
from tests.corpus.making import make_workspace


@pytest.fixture(scope="session", autouse=True)
def _parsers():
    """The parsing processes are shared by all tests, and end with them."""
    yield
    if digester_pool.cache_info().currsize:
        digester_pool().close()
        digester_pool.cache_clear()


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
    embedding.configured_embedder.cache_clear()
    embedding.query_embedder.cache_clear()


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
