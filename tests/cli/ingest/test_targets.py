"""Sources and jobs that `kebab ingest` makes from a path or an address."""

from argparse import ArgumentTypeError
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.jobs.queue.request import request_sync
from ingest.jobs.queue.run import run_job
from ingest.models import Job, JobKind
from kebab.cli.client.ingest_targets import Target, existing_path, target
from kebab.cli.errors import CliError
from kebab.identity.models import AuditEvent
from kebab.identity.models.workspace import SLUG
from search.corpus.blobs import read_blob
from search.models import Document, Source
from tests.cli.ingest.asking import ask
from tests.support.archives import tar_of, zip_of
from tests.support.corpus import make_workspace

FILES = {"README.md": "# Read me\n", "guide/install.md": "# Install\n"}


@pytest.fixture
def workspace(db, blobs):
    return make_workspace()


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "My Docs"
    made.mkdir()
    return made


def source_key(path):
    return Target(kind="folder", config={}, name=path.name, path=path).key


def test_unknown_paths_are_refused_and_others_made_absolute(folder, tmp_path, monkeypatch):
    for text in (str(tmp_path / "nothing"), "https://example.org/docs", "/dev/null"):
        with pytest.raises(ArgumentTypeError):
            existing_path(text)
    (tmp_path / "link").symlink_to(folder)
    monkeypatch.chdir(tmp_path)
    assert existing_path("link") == folder


@given(st.text(min_size=1, max_size=100).filter(lambda name: not {"/", "\0"} & set(name)))
def test_every_folder_name_gives_a_key(name):
    path = Path("/srv") / name.encode("utf-8", "replace").decode()
    assert SLUG.regex.match(source_key(path))
    assert source_key(path) == source_key(path)


def test_source_key_is_a_slug_of_the_folder_name():
    named = {"My Docs": "my-docs", "api_v2.1": "api-v2-1", "Größe": "groe"}
    assert {name: source_key(Path("/srv") / name) for name in named} == named
    assert source_key(Path("/srv/文档")) != source_key(Path("/srv/資料"))


def test_ingesting_a_folder_again_reuses_its_source(workspace, folder):
    job = ask(
        workspace,
        folder,
        *["--source", "named", "--tag", "a", "--tag", "b", "--trust", "primary", "--version", "v1"],
    )
    source = Source.objects.get()

    assert (source.key, source.kind, source.config) == ("named", "folder", {"path": str(folder)})
    assert (source.default_tags, source.default_trust) == (["a", "b"], "primary")
    assert (job.kind, job.source, job.payload) == (JobKind.SYNC_SOURCE, source, {"version": "v1"})
    assert job.requested_by.startswith("operator:")
    Job.objects.all().delete()
    assert ask(workspace, folder, "--no-embed").payload == {"embed": False}
    assert Source.objects.get().default_tags == ["a", "b"]
    actions = AuditEvent.objects.order_by("at").values_list("action", flat=True)
    assert list(actions) == ["source.created", *["source.sync_asked"] * 2]


def test_other_folder_with_a_taken_name_is_refused(workspace, folder, tmp_path):
    job = ask(workspace, folder)
    assert request_sync(job.source) == job
    other = tmp_path / "other" / folder.name
    other.mkdir(parents=True)
    with pytest.raises(CliError) as refused:
        ask(workspace, other)
    assert refused.value.code == "source_mismatch"
    ask(workspace, other, "--source", "other")
    assert Source.objects.count() == 2


def test_source_name_has_to_be_a_slug(workspace, folder):
    for key in ("My Source", "-a", "a/b"):
        with pytest.raises(CliError):
            ask(workspace, folder, f"--source={key}")
    assert not Job.objects.exists()


def test_file_becomes_a_document_of_the_upload_source(workspace, folder):
    file = folder / "a.md"
    file.write_text("# Apple")
    plain = ask(workspace, file)
    job = ask(workspace, file, "--tag", "x", "--trust", "secondary", "--no-embed")

    assert plain.payload.keys() == {"path", "version", "doc_id", "blob"}
    assert (job.kind, job.source.key, job.source.kind) == (JobKind.INGEST_DOCUMENT, "uploads", "upload")
    stated = {name: job.payload[name] for name in ("path", "tags", "trust_level", "embed")}
    assert stated == {"path": "a.md", "tags": ["x"], "trust_level": "secondary", "embed": False}
    assert read_blob(workspace.pk, job.payload["blob"]) == b"# Apple"
    assert job.source.default_tags == []


def test_file_that_is_too_large_or_can_not_be_cited_is_refused(workspace, folder, settings):
    (folder / "a\u202eb.md").write_text("text")
    with pytest.raises(CliError):
        ask(workspace, folder / "a\u202eb.md")
    settings.KEBAB_UPLOAD_LIMIT_BYTES = 3
    (folder / "a.md").write_text("four")
    with pytest.raises(CliError, match="3 bytes"):
        ask(workspace, folder / "a.md")
    assert not Source.objects.exists()


class TestArchives:
    @pytest.fixture
    def workspace(self, transactional_db, mirrors, blobs):
        return make_workspace()

    @pytest.fixture
    def archive(self, tmp_path):
        file = tmp_path / "docs.tar.gz"
        file.write_bytes(tar_of(FILES, "w:gz"))
        return file

    def ingest(self, workspace, path, *arguments):
        job = ask(workspace, path, *arguments)
        run_job(workspace.pk, job.pk)
        return Job.objects.get(pk=job.pk)

    def test_archive_is_unpacked_below_its_name_or_at_the_root(self, workspace, archive):
        job = self.ingest(workspace, archive, "--tag", "t", "--trust", "primary")
        assert (job.state, job.kind, job.source.key) == ("succeeded", "ingest_archive", "uploads")
        documents = Document.objects.all()
        assert {each.path for each in documents} == {"docs/README.md", "docs/guide/install.md"}
        assert {(each.tags[0], each.trust_level) for each in documents} == {("t", "primary")}
        again = self.ingest(workspace, archive, "--tag", "t", "--trust", "primary")
        assert again.counts["unchanged"] == 2

        self.ingest(workspace, archive, "--as-root", "--source", "manual", "--version", "2")
        kept = Document.objects.filter(source__key="manual", version__tag="2")
        assert {each.path for each in kept} == {"README.md", "guide/install.md"}

    def test_broken_or_too_large_archive_is_refused_before_anything_is_made(
        self, workspace, archive, tmp_path, settings
    ):
        file = tmp_path / "docs.zip"
        file.write_bytes(zip_of(FILES)[:-40])
        with pytest.raises(CliError):
            ask(workspace, file)
        settings.KEBAB_ARCHIVE_LIMIT_BYTES = 10
        with pytest.raises(CliError, match="10 bytes"):
            ask(workspace, archive)
        assert not Source.objects.exists()

    def test_archive_neither_joins_a_folders_source_nor_is_watched(self, workspace, archive, folder):
        watched = []
        for watch in ((), ("--watch",), (), ("--no-watch",)):
            ask(workspace, folder, "--source", "notes", *watch)
            watched.append(Source.objects.get().watch)
        assert watched == [False, True, True, False]
        with pytest.raises(CliError):
            ask(workspace, archive, "--source", "notes")
        with pytest.raises(CliError):
            ask(workspace, archive, "--watch")


def test_folder_of_another_machine_is_uploaded(workspace, folder, transactional_db, mirrors):
    (folder / "sub").mkdir()
    for name in ("a.md", "sub/b.md", ".hidden.md"):
        (folder / name).write_text("# Text\n")
    job = ask(workspace, folder, "--tag", "x", is_local=False)
    run_job(workspace.pk, job.pk)

    assert {each.path for each in Document.objects.all()} == {"a.md", "sub/b.md"}
    assert {(each.source.key, *each.tags) for each in Document.objects.all()} == {("my-docs", "x")}


class TestSites:
    def test_address_is_a_page_or_a_sitemap(self):
        for text, field in (
            ("https://docs.example.org/guide", "url"),
            ("http://example.org", "url"),
            ("https://example.org/sitemap.xml", "sitemap"),
            ("https://example.org/map.xml.gz?x=1", "sitemap"),
        ):
            found = target(text)
            assert (found.kind, found.config) == ("web", {field: text})

    def test_repository_site_and_folder_arguments_are_distinguished(self, folder):
        for text in (
            "https://github.com/owner/repo",
            "https://example.org/repo.git",
            "ssh://git@host/repo",
            "git@host.example.org:owner/repo",
            "ext::sh",
        ):
            assert target(text).kind == "git", text
        assert target(str(folder)).kind == "folder"

    def test_address_that_may_not_be_read_is_refused(self, workspace, subtests):
        repositories = ("ext::sh", "git://example.org/a", "ssh://git@10.0.0.1/a", "http://example.org/a.git")
        for text in ("https://", "http://user:secret@example.org/", "http://169.254.169.254/", *repositories):
            with subtests.test(text=text), pytest.raises(CliError) as refused:
                ask(workspace, text)
            assert "secret" not in str(refused.value)
        assert not Source.objects.exists()
        for text in ("file:///nowhere", "a://b"):
            with pytest.raises(ArgumentTypeError):
                target(text)

    def test_site_becomes_a_source_that_the_same_command_syncs_again(self, workspace):
        jobs = [ask(workspace, "https://docs.example.org/guide/", "--tag", "a") for _ in range(2)]
        source = Source.objects.get()

        assert (source.key, source.kind) == ("docs-example-org-guide", "web")
        assert (source.config, source.default_tags) == ({"url": "https://docs.example.org/guide/"}, ["a"])
        assert [(job.kind, job.source) for job in jobs] == [(JobKind.SYNC_SOURCE, source)] * 2
