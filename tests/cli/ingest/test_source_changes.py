"""Sources that `kebab ingest` makes and changes, as the API would."""

from importlib import import_module

import pytest
from django.db import connection

from ingest.jobs.queue.request import request_document, request_sync
from ingest.models import Job
from kebab.cli.errors import CliError
from kebab.identity.models import AuditEvent
from search.corpus import ensure_source
from search.models import Source
from tests.cli.ingest.asking import ask
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
    ask(workspace, folder, "--tag", "a")
    ask(workspace, folder, "--tag", "b", "--watch")
    for _ in range(2):
        ask(workspace, folder, "--tag", "b", "--trust", "primary", "--no-watch")
    source = Source.objects.get()
    events = AuditEvent.objects.filter(action="source.changed").order_by("at")

    assert (source.default_tags, source.default_trust, source.watch) == (["b"], "primary", False)
    assert [event.detail["fields"] for event in events] == [
        ["default_tags", "watch"],
        ["default_trust", "watch"],
    ]


def test_credentials_for_a_folder_or_file_are_refused(workspace, folder, tmp_path):
    (folder / "a.md").write_text("# A\n")
    given = tmp_path / "credentials.json"
    given.write_text('{"token": "s3cret"}')
    for path in (folder, folder / "a.md"):
        with pytest.raises(CliError):
            ask(workspace, path, "--credentials", given)
    assert not Source.objects.exists()
    assert not AuditEvent.objects.exists()
