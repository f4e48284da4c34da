"""Three tags of one repository from the host to the hits: each sees itself, and what is shared costs once."""

import subprocess
from contextlib import contextmanager

import pytest
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from ingest.connectors.git.credentials import Credentials, seal_credentials
from ingest.jobs.request import request_sync
from ingest.sandbox.digester import Digester
from search.corpus import ensure_source
from search.embedding import configured_embedder
from search.models import Document, Source
from search.retrieval.types import Mode
from tests.integration.ingest.jobs.authority import Authority
from tests.integration.ingest.jobs.git_host import git_host
from tests.integration.ingest.jobs.repositories import WrittenRepository
from tests.integration.ingest.jobs.ssh_host import ssh_host
from tests.support.jobs import counts, drop_embedding_jobs, embed, sync, work
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


class _Counted:
    """What the parsers and the embedder were given."""

    def __init__(self):
        self.parsed = []
        self.embedded = []


@pytest.fixture
def work_done(monkeypatch):
    counted = _Counted()
    digest = Digester.digest

    def parsing(self, content, path, *rest, **options):
        counted.parsed.append(path)
        return digest(self, content, path, *rest, **options)

    monkeypatch.setattr(Digester, "digest", parsing)
    embedder = configured_embedder()
    embed_passages = embedder.embed_passages

    def embedding(texts):
        counted.embedded += texts
        return embed_passages(texts)

    monkeypatch.setattr(type(embedder), "embed_passages", lambda self, texts: embedding(texts))
    return counted


def _index(workspace, source, tag, work_done):
    """Sync a version and embed it; give (report, parser calls, texts embedded)."""
    before = len(work_done.parsed), len(work_done.embedded)
    report = sync(source, version=tag) if tag else sync(source)
    drop_embedding_jobs()
    embed(workspace)
    return report, len(work_done.parsed) - before[0], len(work_done.embedded) - before[1]


def _found(workspace, words, **filters):
    sync_mirror(workspace)
    return {
        mode: {(hit.doc_path, hit.snippet) for hit in ask(workspace, words, mode, k=50, **filters).hits}
        for mode in (Mode.LEXICAL, Mode.VECTOR, Mode.HYBRID)
    }


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
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
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


@pytest.mark.parametrize("transport", [_over_file, _over_https, _over_ssh])
def test_three_tags_are_searched_apart_and_cost_what_changed(
    workspace, origin, settings, tmp_path, work_done, transport
):
    with transport(origin=origin, workspace=workspace, settings=settings, tmp_path=tmp_path) as source:
        first = _index(workspace, source, "v1", work_done)
        second = _index(workspace, source, "v2", work_done)
        third = _index(workspace, source, "v3", work_done)

        assert [done[1:] for done in (first, second, third)] == [(21, 21), (1, 1), (1, 1)]
        assert [done[0]["parser_calls"] for done in (first, second, third)] == [21, 1, 1]
        assert len(set(work_done.embedded)) == len(work_done.embedded) == 23
        for nth, tag in enumerate(TAGS, start=1):
            for found in _found(workspace, "edition", version=(tag,)).values():
                assert {text for path, text in found if path == "docs/changing.md"} == {
                    f"edition {_WORDS[nth]}"
                }
            assert len(_found(workspace, "shared passage", version=(tag,))[Mode.VECTOR]) == 21

        origin.commit({"docs/changing.md": f"edition {_WORDS[4]}\n"})
        origin.git("tag", "v4")
        origin.git("push", "--quiet", "--tags", "origin", "main")
        fourth = _index(workspace, source, "v4", work_done)
        assert fourth[1:] == (1, 1)
        assert counts(fourth[0]) == {"seen": 21, "new": 21, "parser_calls": 1}
        assert ("docs/changing.md", "edition secunda") in _found(workspace, "edition", version=("v2",))[
            Mode.LEXICAL
        ]


@pytest.mark.parametrize("transport", [_over_file, _over_https, _over_ssh])
def test_a_commit_of_one_line_and_a_forced_push_touch_what_they_changed(
    workspace, origin, settings, tmp_path, work_done, transport
):
    with transport(origin=origin, workspace=workspace, settings=settings, tmp_path=tmp_path) as source:
        assert _index(workspace, source, "", work_done)[1:] == (21, 21)
        touched = dict(Document.objects.values_list("path", "indexed_at"))
        base = origin.head()
        origin.commit({"docs/shared7.md": "shared passage 7, reworded\n"})
        origin.git("push", "--quiet", "origin", "main")
        report, *done = _index(workspace, source, "", work_done)
        assert (counts(report), done) == (
            {"seen": 21, "updated": 1, "unchanged": 20, "parser_calls": 1},
            [1, 1],
        )
        now = dict(Document.objects.values_list("path", "indexed_at"))
        assert {path for path in now if now[path] != touched[path]} == {"docs/shared7.md"}

        origin.git("reset", "--quiet", "--hard", base)
        origin.commit({"docs/shared8.md": None, "docs/other.md": "zebra crossing\n"})
        origin.git("push", "--quiet", "--force", "origin", "main")
        report, *done = _index(workspace, source, "", work_done)

    assert counts(report) == {
        "seen": 21,
        "new": 1,
        "updated": 1,
        "unchanged": 19,
        "deleted": 1,
        "parser_calls": 2,
    }
    # The text of before the reworded commit went with its vector.
    assert done == [2, 2]
    assert _found(workspace, "reworded")[Mode.LEXICAL] == set()
    assert {path for path, _ in _found(workspace, "zebra")[Mode.LEXICAL]} == {"docs/other.md"}
    everywhere = {path for path, _ in _found(workspace, "shared passage")[Mode.VECTOR]}
    assert everywhere == {*SHARED, "docs/changing.md", "docs/other.md"} - {"docs/shared8.md"}


def _failure(source):
    job = work(request_sync(source))
    assert job.state == "failed"
    return job.error


def test_a_certificate_of_an_authority_that_nobody_named_is_refused(workspace, origin, settings, tmp_path):
    with _over_https(origin, workspace, settings, tmp_path) as source:
        for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
            setattr(settings, name, "")
        assert "certificate that can't be trusted" in _failure(source)


def test_a_certificate_for_another_name_is_refused(workspace, origin, settings, tmp_path):
    authority = Authority(tmp_path)
    settings.KEBAB_PRIVATE_HOSTS = frozenset({"127.0.0.1"})
    settings.SSL_CERT_FILE = str(authority.file)
    with git_host(origin.bare.parent, context=authority.context("git.example.org")) as host:
        assert "certificate that can't be trusted" in _failure(_source(workspace, f"{host.url}/origin.git"))


def test_a_host_that_shows_another_key_than_before_is_not_read(workspace, origin, settings, tmp_path):
    with _over_ssh(origin, workspace, settings, tmp_path) as source:
        sync(source)
    key = Ed25519PrivateKey.generate().public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    port = int(source.config["url"].split(":")[2].partition("/")[0])
    with ssh_host(key.decode(), port) as other:
        assert "another key than before" in _failure(source)
        assert other.commands == []


def test_a_key_that_the_host_does_not_know_is_said_to_be_refused(workspace, origin, settings, tmp_path):
    with _over_ssh(origin, workspace, settings, tmp_path) as source:
        stranger = Ed25519PrivateKey.generate()
        private = stranger.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
        sealed = seal_credentials(Credentials(private_key=private))
        Source.objects.update(sealed_credentials=sealed)
        source.refresh_from_db()
        error = _failure(source)
        assert "refuses the private key" in error
        assert private.splitlines()[1] not in error
