"""What `kebab ingest` uploads or says of a source is what the API would: found by the same look-ups."""

from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import pytest
from django.db import connection, transaction

from ingest.cli.targets import IngestRequest, request_ingest
from ingest.jobs import items
from ingest.jobs.quarantine import delete_quarantined, quarantined, try_again
from ingest.jobs.request import request_document, request_sync
from ingest.models import Job
from ingest.uploads import delete_upload, restate_upload
from kebab.api.errors import Conflict
from kebab.cli.errors import CliError
from kebab.people.models import AuditEvent
from kebab.tenancy.acting import acting_everywhere
from search.models import Document, Source
from search.readers import readers_of, with_readers
from tests.support.api import Dying, run_to_end
from tests.support.concurrency import until_blocked
from tests.support.corpus import make_workspace
from tests.unit.ingest.packing import zipped


@pytest.fixture
def workspace(transactional_db, mirrors, settings, tmp_path):
    storage = {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": str(tmp_path / "blobs")},
    }
    settings.STORAGES = {**settings.STORAGES, "default": storage}
    return make_workspace()


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "notes"
    made.mkdir()
    return made


@pytest.fixture
def put(workspace, folder):
    """Give a function that asks for the upload of a file with these bytes."""

    def put_(content, name="a.md", **asked):
        (folder / name).write_bytes(content)
        return request_ingest(workspace, IngestRequest(path=folder / name, **asked))

    return put_


def paths():
    return set(Document.objects.values_list("path", flat=True))


@pytest.mark.parametrize("name", ["a.md", "docs.zip"])
def test_an_upload_that_waits_brings_no_deleted_document_back(put, name):
    content = zipped({"a.md": "# A\n"}) if name == "docs.zip" else b"# A\n"
    run_to_end(put(content, name))
    waiting = put(content, name)
    with transaction.atomic():
        delete_upload(Document.objects.get())
    run_to_end(waiting)

    assert paths() == set()


def test_a_document_is_restated_as_it_was_last_uploaded(put):
    run_to_end(put(b"# A\n"))
    waiting = put(b"# B\n", tags=("x",))
    again = restate_upload(Document.objects.get(), {"title": "Stated"}, requested_by="").job

    assert (again.payload["blob"], again.payload["tags"]) == (waiting.payload["blob"], ["x"])


@pytest.mark.parametrize("name", ["a.md", "docs.zip"])
def test_an_upload_in_quarantine_is_tried_again_or_forgotten(workspace, put, monkeypatch, name):
    content = zipped({"a.md": "# A\n"}) if name == "docs.zip" else b"# A\n"
    with monkeypatch.context() as patched:
        patched.setattr(items, "digester_pool", Dying)
        run_to_end(put(content, name, as_root=name == "docs.zip"))
    (entry,) = quarantined(workspace)
    forgotten = try_again(entry, requested_by="")
    with transaction.atomic():
        delete_quarantined(entry)

    assert run_to_end(forgotten).state == "cancelled"
    assert paths() == set()


def test_the_migration_names_the_default_version_of_uploads_that_name_none(workspace, put):
    area = put(b"# A\n").source
    old = request_document(area, {"path": "old.md", "blob": "0" * 64})
    named = request_document(area, {"path": "b.md", "blob": "0" * 64, "version": "2"})
    sync = request_sync(area)
    migration = import_module("ingest.migrations.0009_uploads_name_their_version").Migration
    with connection.cursor() as cursor:
        cursor.execute(migration.operations[0].sql)
    payloads = {job.pk: job.payload for job in Job.objects.all()}

    assert payloads[old.pk] == {"path": "old.md", "blob": "0" * 64, "version": ""}
    assert (payloads[named.pk]["version"], payloads[sync.pk]) == ("2", {})


def test_what_is_said_of_a_source_is_written_down(workspace, folder):
    request_ingest(workspace, IngestRequest(path=folder, tags=("a",), watch=True))
    for _ in range(2):
        request_ingest(workspace, IngestRequest(path=folder, tags=("a",), trust="primary", watch=False))
    source = Source.objects.get()
    events = AuditEvent.objects.filter(action="source.changed").order_by("at")

    assert (source.default_tags, source.default_trust, source.watch) == (["a"], "primary", False)
    assert [event.detail["fields"] for event in events] == [
        ["default_tags", "watch"],
        ["default_trust", "watch"],
    ]


def test_credentials_are_for_repositories_alone(workspace, folder, put):
    given = {"token": "s3cret"}
    with pytest.raises(Conflict, match="takes no credentials"):
        request_ingest(workspace, IngestRequest(path=folder, credentials=given))
    with pytest.raises(Conflict, match="takes no credentials"):
        put(b"# A\n", credentials=given)
    assert not Source.objects.exists()
    assert not AuditEvent.objects.exists()


def test_of_two_that_make_a_source_at_once_one_makes_it_and_says_who_reads_it(workspace, folder):
    workspace.groups.create(name="board")

    @acting_everywhere()
    def make_it_too():
        try:
            with pytest.raises(CliError, match="with other readers"):
                request_ingest(workspace, IngestRequest(path=folder, readers=("board",)))
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            request_ingest(workspace, IngestRequest(path=folder, readers=()))
            refused = other.submit(make_it_too)
            until_blocked()
        refused.result()
    assert readers_of(with_readers(Source.objects.all()).get()) == []
    assert AuditEvent.objects.filter(action="source.created").count() == 1
