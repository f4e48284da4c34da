"""Versions of one repository over each transport: each finds its own, and what they share costs once."""

import subprocess
from contextlib import contextmanager

import pytest
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from ingest.connectors.git.credentials import Credentials, seal_credentials
from ingest.sandbox.digester import Digester
from search.corpus import ensure_source
from search.embedding import configured_embedder
from search.models import Source
from search.retrieval.types import Mode
from tests.integration.ingest.connectors.authority import Authority
from tests.integration.ingest.connectors.git.git_host import git_host
from tests.integration.ingest.connectors.git.repositories import WrittenRepository
from tests.integration.ingest.connectors.git.ssh_host import ssh_host
from tests.support.jobs import counts, drop_embedding_jobs, embed, failure, sync
from tests.support.searching import ask
from tests.support.searching import sync as sync_mirror

#: Twenty files that no version changes, beside the one that all do.
SHARED = {f"docs/shared{number}.md": f"shared passage {number}\n" for number in range(20)}
TAGS = ("v1", "v2", "v3")


@pytest.fixture(autouse=True)
def _data_directory(settings, tmp_path, mirrors):
    settings.KEBAB_DATA_DIR = tmp_path / "data"
    settings.KEBAB_LEG_LIMIT_MS = 60_000
    settings.KEBAB_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]


@pytest.fixture
def origin(tmp_path):
    """A bare repository, and a clone of it that pushes there, with three tags."""
    bare = tmp_path / "served" / "origin.git"
    subprocess.run(["git", "init", "--quiet", "--bare", "-b", "main", str(bare)], check=True)  # noqa: S607
    clone = WrittenRepository(tmp_path / "clone")
    clone.git("remote", "add", "origin", str(bare))
    clone.bare = bare
    for nth, tag in enumerate(TAGS, start=1):
        clone.commit({**SHARED, "docs/changing.md": f"edition {_WORDS[nth]}\n"})
        clone.git("tag", tag)
    clone.git("push", "--quiet", "--tags", "origin", "main")
    return clone


_WORDS = ("none", "primrose", "secunda", "tertiary", "quaternary")


@pytest.fixture
def work_done(monkeypatch):
    """The paths that were parsed, and the texts that were embedded."""
    parsed, embedded = [], []
    digest, embed_passages = Digester.digest, type(configured_embedder()).embed_passages

    def note_path(self, content, path, *rest, **options):
        parsed.append(path)
        return digest(self, content, path, *rest, **options)

    def note_texts(self, texts):
        embedded.extend(texts)
        return embed_passages(self, texts)

    monkeypatch.setattr(Digester, "digest", note_path)
    monkeypatch.setattr(type(configured_embedder()), "embed_passages", note_texts)
    return parsed, embedded


def _index(workspace, source, tag, work_done):
    """Sync a version and embed it; return (report, parser calls, texts embedded)."""
    before = [len(done) for done in work_done]
    report = sync(source, version=tag) if tag else sync(source)
    drop_embedding_jobs()
    embed(workspace)
    return report, *(len(done) - n for done, n in zip(work_done, before, strict=True))


def _found(workspace, words, **filters):
    sync_mirror(workspace)
    return {
        mode: {(hit.doc_path, hit.snippet) for hit in ask(workspace, words, mode, k=50, **filters).hits}
        for mode in (Mode.LEXICAL, Mode.VECTOR, Mode.HYBRID)
    }


def _keys():
    """Return a private key and its public one, as ssh writes them."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
    return private, key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


@contextmanager
def _over_file(origin, workspace, **_):
    yield _source(workspace, f"file://{origin.bare}")


@contextmanager
def _over_https(origin, workspace, settings, tmp_path):
    authority = Authority(tmp_path)
    settings.KEBAB_PRIVATE_HOSTS = frozenset({"127.0.0.1"})
    settings.SSL_CERT_FILE = str(authority.file)
    with git_host(origin.bare.parent, login="ada:secret", context=authority.context("127.0.0.1")) as host:
        source = _source(workspace, f"{host.url}/origin.git", username="ada", password="secret")
        yield source


@contextmanager
def _over_ssh(origin, workspace, settings, tmp_path):
    settings.KEBAB_PRIVATE_HOSTS = frozenset({"127.0.0.1"})
    private, public = _keys()
    with ssh_host(public) as host:
        url = f"ssh://git@127.0.0.1:{host.port}{origin.bare}"
        yield _source(workspace, url, private_key=private)


def _source(workspace, url, **credentials):
    source = ensure_source(workspace, "repo", kind="git", config={"url": url})
    if credentials:
        sealed = seal_credentials(Credentials(**credentials))
        Source.objects.filter(pk=source.pk).update(sealed_credentials=sealed)
        source.refresh_from_db()
    return source


@pytest.mark.slow
@pytest.mark.parametrize("transport", [_over_file, _over_https, _over_ssh])
def test_versions_are_searched_apart_and_cost_what_changed(
    workspace, origin, settings, tmp_path, work_done, transport
):
    with transport(origin=origin, workspace=workspace, settings=settings, tmp_path=tmp_path) as source:
        first, second, third = (_index(workspace, source, tag, work_done) for tag in TAGS)

        assert [done[1:] for done in (first, second, third)] == [(21, 21), (1, 1), (1, 1)]
        assert [done[0]["parser_calls"] for done in (first, second, third)] == [21, 1, 1]
        assert len(set(work_done[1])) == len(work_done[1]) == 23
        for nth, tag in enumerate(TAGS, start=1):
            for found in _found(workspace, "edition", version=(tag,)).values():
                editions = {text for path, text in found if path == "docs/changing.md"}
                assert editions == {f"edition {_WORDS[nth]}"}
            assert len(_found(workspace, "shared passage", version=(tag,))[Mode.VECTOR]) == 21

        assert _index(workspace, source, "", work_done)[1:] == (0, 0)
        origin.git("reset", "--quiet", "--hard", "v2")
        origin.commit({"docs/changing.md": f"edition {_WORDS[4]}\n", "docs/shared8.md": None})
        origin.git("push", "--quiet", "--force", "origin", "main")
        report, *done = _index(workspace, source, "", work_done)
        expected = {"seen": 20, "updated": 1, "unchanged": 19, "deleted": 1, "parser_calls": 1}
        assert (counts(report), done) == (expected, [1, 1])
        found = _found(workspace, "edition", version=("v2",))[Mode.LEXICAL]
        assert ("docs/changing.md", "edition secunda") in found


def test_certificate_of_an_unknown_authority_is_refused(workspace, origin, settings, tmp_path):
    with _over_https(origin, workspace, settings, tmp_path) as source:
        for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
            setattr(settings, name, "")
        assert "certificate" in failure(source)


def test_certificate_for_another_name_is_refused(workspace, origin, settings, tmp_path):
    authority = Authority(tmp_path)
    settings.KEBAB_PRIVATE_HOSTS = frozenset({"127.0.0.1"})
    settings.SSL_CERT_FILE = str(authority.file)
    with git_host(origin.bare.parent, context=authority.context("git.example.org")) as host:
        assert "certificate" in failure(_source(workspace, f"{host.url}/origin.git"))


def test_host_that_shows_another_key_than_before_is_not_read(workspace, origin, settings, tmp_path):
    with _over_ssh(origin, workspace, settings, tmp_path) as source:
        assert sync(source)["new"] == 21
    port = int(source.config["url"].split(":")[2].partition("/")[0])
    with ssh_host(_keys()[1], port) as other:
        assert "another key" in failure(source)
        assert other.commands == []


def test_key_that_the_host_does_not_know_is_refused(workspace, origin, settings, tmp_path):
    with _over_ssh(origin, workspace, settings, tmp_path) as source:
        private, _ = _keys()
        source = _source(workspace, source.config["url"], private_key=private)
        error = failure(source)
        assert "private key" in error
        assert private.splitlines()[1] not in error
