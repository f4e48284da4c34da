"""Fixtures of ingestion tests: workspaces, sources, folders, sites, and empty queues."""

import pytest

from ingest.connectors.web import requests
from ingest.jobs.queue import hints
from search.corpus import ensure_source
from search.embedders import configured
from tests.integration.ingest.connectors.git.repositories import WrittenRepository
from tests.integration.ingest.connectors.web.site import html, serving
from tests.integration.ingest.connectors.web.site_workers import shared_worker
from tests.support.corpus import make_workspace

GIT_FILES = {"README.md": "read\n", "docs/a.md": "alpha\n", "docs/b.md": "beta\n"}


@pytest.fixture(autouse=True)
def _empty_queues(servers):
    queues = ("ingest", "embed", "mirror", "maintenance")
    client = hints._redis()
    client.delete(*queues)
    yield
    client.delete(*queues)
    configured.clear_query_caches()


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
def reachable_sites(settings, monkeypatch):
    """Allow crawling of sites on this machine, without a pause between requests, by one process."""
    monkeypatch.setattr(requests, "SandboxWorker", lambda program: shared_worker())
    settings.KEBAB_PRIVATE_HOSTS = frozenset({"127.0.0.1"})
    settings.KEBAB_CRAWL_REQUESTS_PER_S = 10_000
    settings.KEBAB_CRAWL_LIMIT_S = 5


@pytest.fixture
def repository(tmp_path, settings):
    """Create a repository of three files with one commit; local copies lie in the test's data directory."""
    settings.KEBAB_DATA_DIR = tmp_path / "data"
    made = WrittenRepository(tmp_path / "origin")
    made.commit(GIT_FILES)
    return made


@pytest.fixture
def git_source(workspace, repository):
    """Return a source of the repository."""
    return ensure_source(workspace, "repo", kind="git", config={"url": repository.url})


@pytest.fixture
def site():
    """Run a web site without pages."""
    with serving() as running:
        yield running


@pytest.fixture
def linked_site(site):
    """Return a site of four pages that link to each other."""
    site.pages["/"] = html("Home", "/docs/", "guide.html")
    site.pages["/docs/"] = html("Docs", "intro.html", "..")
    site.pages["/docs/intro.html"] = html("Intro", "#top", "../guide.html?x=1")
    site.pages["/guide.html"] = html("Guide")
    return site


@pytest.fixture
def make_source(workspace, site):
    """Return a function that makes a source of the site; `config` without an address begins at its root."""

    def make(key="site", **config):
        if not {"url", "sitemap"} & config.keys():
            config["url"] = site.url()
        return ensure_source(workspace, key, kind="web", config=config)

    return make
