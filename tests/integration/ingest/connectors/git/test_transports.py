"""Versions of a repository over each transport: each has its texts, and shared ones are parsed once."""

import subprocess
from contextlib import contextmanager

import pytest

from tests.integration.ingest.connectors.authority import Authority
from tests.integration.ingest.connectors.git.documents import source_of, texts
from tests.integration.ingest.connectors.git.git_host import git_host
from tests.integration.ingest.connectors.git.repositories import WrittenRepository
from tests.integration.ingest.connectors.git.ssh_host import key_pair, ssh_host
from tests.support.jobs import counts, failure, sync

#: Twenty files that no version changes, beside the one that all do.
SHARED = {f"docs/shared{number}.md": f"shared passage {number}\n" for number in range(20)}
_SHARED_TEXTS = {path: text.strip() for path, text in SHARED.items()}
TAGS = ("v1", "v2", "v3")


@pytest.fixture
def origin(tmp_path, settings):
    """Return a bare repository with three tags and a clone that pushes to it."""
    settings.KEBAB_DATA_DIR = tmp_path / "data"
    bare = tmp_path / "served" / "origin.git"
    subprocess.run(["git", "init", "--quiet", "--bare", "-b", "main", str(bare)], check=True)  # noqa: S607
    clone = WrittenRepository(tmp_path / "clone")
    clone.git("remote", "add", "origin", str(bare))
    clone.bare = bare
    for tag in TAGS:
        clone.commit({**SHARED, "docs/changing.md": f"edition {tag}\n"})
        clone.git("tag", tag)
    clone.git("push", "--quiet", "--tags", "origin", "main")
    return clone


@contextmanager
def _over_file(origin, workspace, **_):
    yield source_of(workspace, f"file://{origin.bare}")


@contextmanager
def _over_https(origin, workspace, settings, tmp_path, name="127.0.0.1"):
    authority = Authority(tmp_path)
    settings.KEBAB_PRIVATE_HOSTS = frozenset({"127.0.0.1"})
    settings.SSL_CERT_FILE = str(authority.file)
    with git_host(origin.bare.parent, login="ada:secret", context=authority.context(name)) as host:
        url, login = f"{host.url}/origin.git", {"username": "ada", "password": "secret"}
        yield source_of(workspace, url, key=name, **login)


@contextmanager
def _over_ssh(origin, workspace, settings, tmp_path):
    settings.KEBAB_PRIVATE_HOSTS = frozenset({"127.0.0.1"})
    private, public = key_pair()
    with ssh_host(public) as host:
        url = f"ssh://git@127.0.0.1:{host.port}{origin.bare}"
        yield source_of(workspace, url, private_key=private)


@pytest.mark.slow
@pytest.mark.parametrize("transport", [_over_file, _over_https, _over_ssh])
def test_versions_parse_only_changed_files(workspace, origin, settings, tmp_path, transport):
    with transport(origin=origin, workspace=workspace, settings=settings, tmp_path=tmp_path) as source:
        assert [sync(source, version=tag)["parser_calls"] for tag in TAGS] == [21, 1, 1]
        for tag in TAGS:
            assert texts(workspace, tag) == {**_SHARED_TEXTS, "docs/changing.md": f"edition {tag}"}

        assert sync(source)["parser_calls"] == 0
        origin.git("reset", "--quiet", "--hard", "v2")
        origin.commit({"docs/changing.md": "edition v4\n", "docs/shared8.md": None})
        origin.git("push", "--quiet", "--force", "origin", "main")
        expected = {"seen": 20, "updated": 1, "unchanged": 19, "deleted": 1, "parser_calls": 1}
        assert counts(sync(source)) == expected
        assert texts(workspace, "v2")["docs/changing.md"] == "edition v2"


def test_unknown_authority_and_certificate_of_another_host_are_refused(workspace, origin, settings, tmp_path):
    with _over_https(origin, workspace, settings, tmp_path, name="git.example.org") as source:
        assert "certificate" in failure(source)
    with _over_https(origin, workspace, settings, tmp_path) as source:
        for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
            setattr(settings, name, "")
        assert "certificate" in failure(source)


def test_host_that_shows_another_key_than_before_is_not_read(workspace, origin, settings, tmp_path):
    with _over_ssh(origin, workspace, settings, tmp_path) as source:
        assert sync(source)["new"] == 21
    port = int(source.config["url"].split(":")[2].partition("/")[0])
    with ssh_host(key_pair()[1], port) as other:
        assert "another key" in failure(source)
        assert other.commands == []


def test_key_that_the_host_does_not_know_is_refused(workspace, origin, settings, tmp_path):
    with _over_ssh(origin, workspace, settings, tmp_path) as source:
        private, _ = key_pair()
        source = source_of(workspace, source.config["url"], private_key=private)
        error = failure(source)
        assert "private key" in error
        assert private.splitlines()[1] not in error
