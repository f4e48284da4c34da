"""Probes of repositories and sites before their sources are added."""

import pytest

from ingest.connectors.git.local_copy import workspaces_with_repositories
from ingest.errors import AddressNotAllowed, ConnectionFailed, FolderNotAllowed
from ingest.services import connection_probe
from kebab.errors import RateLimited
from kebab.identity.caller import Caller, caller_access
from kebab.identity.models import Role
from search.models import Source
from tests.integration.ingest.connectors.git.git_host import git_host
from tests.integration.ingest.connectors.web.site import Page, html, redirect, serving
from tests.support.actors import make_member

pytestmark = pytest.mark.usefixtures("reachable_sites")


@pytest.fixture
def probe(workspace, monkeypatch):
    """Return a function that probes a source and returns what was found."""
    monkeypatch.setattr(connection_probe, "_LIMIT", "1000/minute")
    access = caller_access(Caller(user=make_member(workspace, Role.OWNER)), workspace.slug)
    return lambda kind, **config: connection_probe.probe_connection(access, kind, config)


def refusal(probe, kind, **config):
    with pytest.raises(ConnectionFailed) as refused:
        probe(kind, **config)
    return str(refused.value)


def test_repository_is_probed_with_its_credentials_and_not_copied(probe, repository, settings):
    repository.git("branch", "next")
    with git_host(repository.root.parent, login="ada:s3cret") as host:
        url = f"{host.url}/origin/.git"
        login = {"username": "ada", "password": "s3cret"}
        assert "2 branches" in probe("git", url=url, credentials=login)
        assert "asks for credentials" in refusal(probe, "git", url=url)
        assert "'nowhere'" in refusal(probe, "git", url=url, credentials=login, branch="nowhere")
    assert "reached" in refusal(probe, "git", url=url)
    assert workspaces_with_repositories() == []
    assert not Source.objects.exists()


def test_private_addresses_and_folders_are_refused_as_for_a_sync(probe, repository, settings):
    settings.KEBAB_PRIVATE_HOSTS = frozenset()
    for kind, url in (("git", "https://10.0.0.1/a.git"), ("web", "http://127.0.0.1/")):
        with pytest.raises(AddressNotAllowed):
            probe(kind, url=url)
    with pytest.raises(FolderNotAllowed):
        probe("git", url=repository.url)


def test_site_is_probed_within_its_robots_file(probe):
    with serving() as site:
        site.pages["/"] = html("Home")
        assert site.url("/") in probe("web", url=site.url("/"))
        site.pages["/moved"] = redirect("/")
        assert probe("web", url=site.url("/moved"))
        site.pages["/away"] = redirect("https://elsewhere.example.org/")
        assert "elsewhere.example.org" in refusal(probe, "web", url=site.url("/away"))
        assert "404" in refusal(probe, "web", url=site.url("/missing"))
        site.pages["/robots.txt"] = Page(body=b"User-agent: *\nDisallow: /\n", mime="text/plain")
        assert "robots.txt" in refusal(probe, "web", url=site.url("/"))


def test_connection_test_of_a_silent_host_times_out(probe, monkeypatch):
    monkeypatch.setattr(connection_probe, "_LIMIT_S", 0.3)
    with serving() as site:
        site.pages["/a.git/info/refs?service=git-upload-pack"] = Page(
            behaviour=lambda exchange: exchange.server.released.wait()
        )
        assert "0 seconds" in refusal(probe, "git", url=site.url("/a.git"))


def test_probes_are_limited_by_caller(probe, monkeypatch):
    monkeypatch.setattr(connection_probe, "_LIMIT", "1/minute")
    with serving() as site:
        site.pages["/"] = html("Home")
        probe("web", url=site.url("/"))
        with pytest.raises(RateLimited):
            probe("web", url=site.url("/"))
