"""Sources that `kebab ingest` makes and changes, as the API would."""

from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import pytest
from django.db import connection, transaction

from ingest.cli.targets import IngestRequest, request_ingest
from ingest.jobs.queue.request import request_document, request_sync
from ingest.models import Job
from kebab.cli.errors import CliError
from kebab.http.api.errors import Conflict
from kebab.people.models import AuditEvent
from kebab.tenancy.current_workspace import acting_everywhere
from search.access.restrictions import annotate_readers, readers_of
from search.corpus import ensure_source
from search.models import Source
from tests.support.concurrency import until_blocked
from tests.support.corpus import make_workspace


@pytest.fixture
def workspace(transactional_db, mirrors, blobs):
    return make_workspace()


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "notes"
    made.mkdir()
    return made


def test_migration_names_the_default_version_of_uploads_that_name_none(workspace):
    area = ensure_source(workspace, "uploads", kind="upload")
    old = request_document(area, {"path": "old.md", "blob": "0" * 64})
    named = request_document(area, {"path": "b.md", "blob": "0" * 64, "version": "2"})
    sync = request_sync(area)
    migration = import_module("ingest.migrations.0009_uploads_name_their_version").Migration
    with connection.cursor() as cursor:
        cursor.execute(migration.operations[0].sql)
    payloads = {job.pk: job.payload for job in Job.objects.all()}

    assert payloads[old.pk] == {"path": "old.md", "blob": "0" * 64, "version": ""}
    assert (payloads[named.pk]["version"], payloads[sync.pk]) == ("2", {})


def test_changes_of_a_source_are_audited(workspace, folder):
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


def test_credentials_are_for_repositories_alone(workspace, folder):
    (folder / "a.md").write_text("# A\n")
    for path in (folder, folder / "a.md"):
        with pytest.raises(Conflict, match="credentials"):
            request_ingest(workspace, IngestRequest(path=path, credentials={"token": "s3cret"}))
    assert not Source.objects.exists()
    assert not AuditEvent.objects.exists()


def test_source_made_by_two_at_once_has_the_readers_of_the_first(workspace, folder):
    workspace.groups.create(name="board")

    @acting_everywhere()
    def make_it_too():
        try:
            with pytest.raises(CliError):
                request_ingest(workspace, IngestRequest(path=folder, readers=("board",)))
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            request_ingest(workspace, IngestRequest(path=folder, readers=()))
            refused = other.submit(make_it_too)
            until_blocked()
        refused.result()
    assert readers_of(annotate_readers(Source.objects.all()).get()) == []
    assert AuditEvent.objects.filter(action="source.created").count() == 1
