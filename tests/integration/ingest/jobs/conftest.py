"""A folder, a source that reads it, and a queue that begins empty."""

import pytest
from cryptography.fernet import Fernet

from ingest.jobs import hints
from search import embedding
from search.corpus import ensure_source
from tests.integration.ingest.jobs.repositories import WrittenRepository
from tests.integration.ingest.jobs.site import html, serving
from tests.support.corpus import make_workspace

GIT_FILES = {"README.md": "read\n", "docs/a.md": "alpha\n", "docs/b.md": "beta\n"}


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


@pytest.fixture
def written_repository(tmp_path, settings):
    """A repository of three files with one commit; copies of it lie in a data directory of the test's own."""
    settings.KEBAB_DATA_DIR = tmp_path / "data"
    made = WrittenRepository(tmp_path / "origin")
    made.commit(GIT_FILES)
    return made


@pytest.fixture
def git_source(workspace, written_repository):
    """A source that reads it."""
    return ensure_source(workspace, "repo", kind="git", config={"url": written_repository.url})


@pytest.fixture
def served_repository(tmp_path, settings):
    """A repository of two files below a folder that hosts may serve; secrets of its hosts can be kept."""
    settings.KEBAB_DATA_DIR = tmp_path / "data"
    settings.KEBAB_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    made = WrittenRepository(tmp_path / "served" / "origin")
    made.commit({"a.md": "alpha\n", "b.md": "beta\n"})
    return made


@pytest.fixture
def linked_site():
    """A site of four pages that lead to each other."""
    with serving() as running:
        running.pages["/"] = html("Home", "/docs/", "guide.html")
        running.pages["/docs/"] = html("Docs", "intro.html", "..")
        running.pages["/docs/intro.html"] = html("Intro", "#top", "../guide.html?x=1")
        running.pages["/guide.html"] = html("Guide")
        yield running


@pytest.fixture
def site_source(workspace, linked_site):
    """Give a source that reads that site; `config` without an address begins at its root."""

    def make_(key="site", **config):
        if not {"url", "sitemap"} & config.keys():
            config["url"] = linked_site.url()
        return ensure_source(workspace, key, kind="web", config=config)

    return make_
