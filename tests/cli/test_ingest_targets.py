"""What `kebab ingest PATH` makes of a path."""

import json
from argparse import ArgumentTypeError
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.cli.targets import IngestRequest, existing_path, request_ingest, source_key
from ingest.jobs.request import request_sync
from ingest.models import Job, JobKind
from kebab.cli.errors import CliError
from kebab.people.models import AuditEvent
from kebab.people.models.workspace import SLUG
from search.blobs import read_blob
from search.errors import InvalidPath, SourceMismatch
from search.models import Source
from tests.support.corpus import make_workspace


@pytest.fixture
def workspace(db):
    return make_workspace()


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "My Docs"
    made.mkdir()
    return made


@pytest.fixture
def blobs(tmp_path, settings):
    storages = json.loads(json.dumps(settings.STORAGES, default=str))
    storages["default"]["OPTIONS"]["location"] = str(tmp_path / "blobs")
    settings.STORAGES = storages


def test_an_unknown_path_is_named(tmp_path):
    for text in (str(tmp_path / "nothing"), "https://example.org/docs", "/dev/null"):
        with pytest.raises(ArgumentTypeError, match="folder"):
            existing_path(text)


def test_a_path_is_absolute_and_without_links(folder, tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(folder)
    monkeypatch.chdir(tmp_path)
    assert existing_path("link") == folder


@given(st.text(min_size=1, max_size=100).filter(lambda name: not {"/", "\0"} & set(name)))
def test_every_folder_name_gives_a_key(name):
    path = Path("/srv") / name.encode("utf-8", "replace").decode()
    assert SLUG.regex.match(source_key(path))
    assert source_key(path) == source_key(path)


@pytest.mark.parametrize(
    ("name", "key"), [("My Docs", "my-docs"), ("api_v2.1", "api-v21"), ("Größe", "groe")]
)
def test_the_key_reads_like_the_name(name, key):
    assert source_key(Path("/srv") / name) == key


def test_names_without_latin_letters_give_different_keys():
    assert source_key(Path("/srv/文档")) != source_key(Path("/srv/資料"))


def test_a_folder_becomes_a_source(workspace, folder):
    job = request_ingest(
        workspace, IngestRequest(path=folder, tags=("a", "b"), trust="primary", version="v1")
    )
    source = Source.objects.get()

    assert (source.key, source.kind, source.config) == ("my-docs", "folder", {"path": str(folder)})
    assert (source.default_tags, source.default_trust) == (["a", "b"], "primary")
    assert (job.kind, job.source, job.payload) == (
        JobKind.SYNC_SOURCE,
        source,
        {"version": "v1"},
    )
    assert job.requested_by.startswith("operator:")
    actions = AuditEvent.objects.order_by("at").values_list("action", flat=True)
    assert list(actions) == ["source.created", "source.changed", "source.sync_asked"]


def test_the_same_folder_is_the_same_source(workspace, folder):
    request_ingest(workspace, IngestRequest(path=folder, source="named", tags=("a",)))
    job = request_ingest(workspace, IngestRequest(path=folder, embed=False))

    assert (Source.objects.get().default_tags, job.payload) == (["a"], {"embed": False})
    assert AuditEvent.objects.filter(action="source.created").count() == 1


def test_a_sync_that_is_asked_for_twice_is_one_job(workspace, folder):
    job = request_ingest(workspace, IngestRequest(path=folder))
    assert request_sync(job.source) == job


def test_another_folder_with_a_taken_name_is_refused(workspace, folder, tmp_path):
    request_ingest(workspace, IngestRequest(path=folder))
    other = tmp_path / "other" / folder.name
    other.mkdir(parents=True)
    with pytest.raises(SourceMismatch):
        request_ingest(workspace, IngestRequest(path=other))
    request_ingest(workspace, IngestRequest(path=other, source="other"))
    assert Source.objects.count() == 2


def test_a_file_becomes_a_document_of_the_upload_source(workspace, folder, blobs):
    file = folder / "a.md"
    file.write_text("# Apple")
    job = request_ingest(workspace, IngestRequest(path=file, tags=("x",), trust="secondary", embed=False))

    assert (job.kind, job.source.key, job.source.kind) == (JobKind.INGEST_DOCUMENT, "uploads", "upload")
    stated = {name: job.payload[name] for name in ("path", "tags", "trust_level", "embed")}
    assert stated == {"path": "a.md", "tags": ["x"], "trust_level": "secondary", "embed": False}
    assert read_blob(workspace.pk, job.payload["blob"]) == b"# Apple"
    assert job.source.default_tags == []


def test_what_is_not_named_is_not_stated(workspace, folder, blobs):
    (folder / "a.md").write_text("# Apple")
    job = request_ingest(workspace, IngestRequest(path=folder / "a.md"))
    assert job.payload.keys() == {"path", "version", "blob"}


def test_a_file_that_is_too_large_is_refused(workspace, folder, settings):
    settings.KEBAB_UPLOAD_LIMIT_BYTES = 3
    (folder / "a.md").write_text("four")
    with pytest.raises(CliError, match="4 bytes"):
        request_ingest(workspace, IngestRequest(path=folder / "a.md"))


def test_a_name_that_cannot_be_cited_is_refused_before_anything_is_kept(workspace, folder):
    (folder / "a#b.md").write_text("text")
    with pytest.raises(InvalidPath):
        request_ingest(workspace, IngestRequest(path=folder / "a#b.md"))
    assert not Source.objects.exists()


@pytest.mark.parametrize("key", ["My Source", "-", "a/b", ""])
def test_a_source_name_has_to_be_a_slug(workspace, folder, key):
    with pytest.raises(CliError, match="can't name a source"):
        request_ingest(workspace, IngestRequest(path=folder, source=key))
    assert not Job.objects.exists()
