"""`kebab ingest` of archives, and what it says of watching."""

import pytest
from django.test import override_settings

from ingest.archives.errors import ArchiveBroken
from ingest.cli.targets import IngestRequest, request_ingest
from ingest.jobs.run import run_job
from ingest.models import Job
from kebab.cli.errors import CliError
from search.errors import SourceMismatch
from search.models import Document, Source
from tests.support.corpus import make_workspace
from tests.unit.ingest.packing import tarred, zipped

FILES = {"README.md": "# Read me\n", "guide/install.md": "# Install\n"}


@pytest.fixture
def workspace(transactional_db, mirrors, settings, tmp_path):
    settings.STORAGES = {
        **settings.STORAGES,
        "default": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": str(tmp_path / "blobs")},
        },
    }
    return make_workspace()


@pytest.fixture
def archive(tmp_path):
    file = tmp_path / "docs.tar.gz"
    file.write_bytes(tarred(FILES, "w:gz"))
    return file


def ingest(workspace, path, **asked):
    job = request_ingest(workspace, IngestRequest(path=path, **asked))
    run_job(workspace.pk, job.pk)
    return Job.objects.get(pk=job.pk)


def paths(workspace):
    return set(Document.objects.in_workspace(workspace).values_list("path", flat=True))


def test_an_archive_goes_below_its_name(workspace, archive):
    job = ingest(workspace, archive, tags=("t",), trust="primary")
    assert (job.state, job.kind) == ("succeeded", "ingest_archive")
    assert paths(workspace) == {"docs/README.md", "docs/guide/install.md"}
    assert {(each.tags[0], each.trust_level) for each in Document.objects.all()} == {("t", "primary")}
    assert Source.objects.get().key == "uploads"


def test_its_paths_can_be_kept(workspace, archive):
    ingest(workspace, archive, as_root=True, source="manual", version="2")
    assert paths(workspace) == {"README.md", "guide/install.md"}
    assert {(d.source.key, d.version.tag) for d in Document.objects.all()} == {("manual", "2")}


def test_a_second_run_does_nothing(workspace, archive):
    ingest(workspace, archive)
    assert ingest(workspace, archive).counts["unchanged"] == 2


def test_an_archive_that_is_too_large_is_refused_by_the_limits_name(workspace, archive):
    with (
        override_settings(KEBAB_ARCHIVE_LIMIT_BYTES=10),
        pytest.raises(CliError, match="KEBAB_ARCHIVE_LIMIT_BYTES"),
    ):
        request_ingest(workspace, IngestRequest(path=archive))


def test_a_broken_archive_is_refused_before_anything_is_made(workspace, tmp_path):
    file = tmp_path / "docs.zip"
    file.write_bytes(zipped(FILES)[:-40])
    with pytest.raises(ArchiveBroken):
        request_ingest(workspace, IngestRequest(path=file))
    assert not Source.objects.exists()


def test_an_archive_is_no_folders_source(workspace, archive, tmp_path):
    (tmp_path / "notes").mkdir()
    ingest(workspace, tmp_path / "notes", source="notes")
    with pytest.raises(SourceMismatch):
        request_ingest(workspace, IngestRequest(path=archive, source="notes"))


def test_a_folder_is_watched_from_when_it_is_said_until_it_is_unsaid(workspace, tmp_path):
    (tmp_path / "notes").mkdir()
    watched = []
    for watch in (None, True, None, False):
        ingest(workspace, tmp_path / "notes", watch=watch)
        watched.append(Source.objects.get().watch)
    assert watched == [False, True, True, False]


def test_only_a_folder_is_watched(workspace, archive):
    with pytest.raises(CliError, match="folder"):
        request_ingest(workspace, IngestRequest(path=archive, watch=True))
