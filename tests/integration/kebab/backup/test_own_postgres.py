"""Backups and restores beside a database that has backups of its own."""

import shlex
from dataclasses import replace

import pytest
from django.core.files.storage import default_storage
from django.db import connections

from ingest.blob_cleanup import needed_blob_names, release_blobs
from kebab.backup.backup import back_up
from kebab.backup.deletion_lock import hold_deletions
from kebab.backup.manifest import BackupFailed
from kebab.backup.restore import restore
from kebab.stack.configuration import StackConfiguration
from kebab.tenancy.postgres.pool import connect
from kebab.tenancy.roles import OWNER
from search.corpus.blobs import blob_name, has_blob, store_blob
from tests.integration.kebab.backup.doctor import statuses
from tests.support.jobs import upload, work

CONTENT = b"# Swift\n\nThe swift sleeps on the wing.\n"


@pytest.fixture
def configuration(workspace):
    return replace(StackConfiguration.from_settings(), has_embedded_postgres=False)


@pytest.fixture
def owner(workspace):
    with connect(connections[OWNER].settings_dict) as made:
        yield made


def announce(words):
    """Ignore progress."""


def test_backup_of_an_own_postgres_has_bytes_and_settings(workspace, configuration, tmp_path, monkeypatch):
    monkeypatch.setenv("KEBAB_SECRET_KEY", "of 'two' words")
    backup = back_up(tmp_path / "backups", configuration, announce).backup
    assert not backup.base.exists()
    assert backup.blob_names() == sorted(set(needed_blob_names()))
    written = (backup.path / "settings.env").read_text()
    assert dict(part.split("=", 1) for part in shlex.split(written))["KEBAB_SECRET_KEY"] == "of 'two' words"
    assert (backup.path / "settings.env").stat().st_mode & 0o777 == 0o600
    with pytest.raises(BackupFailed):
        restore(tmp_path / "backups", StackConfiguration.from_settings(), "", announce)


def test_restore_copies_back_what_the_rows_of_the_restored_database_need(workspace, configuration, tmp_path):
    (heron,) = set(needed_blob_names())
    folder = tmp_path / "backups"
    back_up(folder, configuration, announce)
    default_storage.delete(heron)
    result = restore(folder, configuration, "", announce)
    assert (result.blobs.blobs, result.blobs.missing) == (1, [])
    assert default_storage.exists(heron)
    assert (result.blobs.damaged, restore(folder, configuration, "", announce).blobs.blobs) == ([], 0)


def test_restore_names_bytes_that_do_not_fit_the_restored_database(workspace, configuration, tmp_path):
    (heron,) = set(needed_blob_names())
    folder = tmp_path / "backups"
    back_up(folder, configuration, announce)
    assert work(upload(workspace, "swift.md", CONTENT)).state == "succeeded"
    (swift,) = set(needed_blob_names()) - {heron}
    for name in (heron, swift):
        default_storage.delete(name)
    (folder / "blobs" / heron).write_bytes(b"damaged")
    result = restore(folder, configuration, "", announce)
    assert (result.blobs.blobs, result.blobs.missing, result.blobs.damaged) == (0, [swift], [heron])


def test_no_bytes_are_deleted_and_no_second_backup_begins_during_a_backup(workspace, owner):
    hash_ = store_blob(workspace.pk, CONTENT)
    with hold_deletions(owner):
        assert release_blobs(workspace.pk, [hash_]) == 0
        assert has_blob(workspace.pk, hash_)
        with (
            connect(connections[OWNER].settings_dict) as other,
            pytest.raises(BackupFailed),
            hold_deletions(other),
        ):
            pass
    assert release_blobs(workspace.pk, [hash_]) == 1
    assert not default_storage.exists(blob_name(workspace.pk, hash_))


def test_backup_holds_the_bytes_that_rows_need(workspace):
    waiting = upload(workspace, "waiting.md", CONTENT)
    store_blob(workspace.pk, b"nobody needs this")
    names = set(needed_blob_names())
    assert {name for name in names if name.endswith(waiting.payload["blob"])}
    assert len(names) == 2  # the document's and the waiting upload's
    assert work(waiting).state == "succeeded"
    assert set(needed_blob_names()) == names


def test_doctor_names_the_replacement_of_an_archive(workspace, settings, tmp_path):
    assert statuses("configuration") == {"ok"}
    settings.KEBAB_WAL_ARCHIVE = tmp_path / "archive"
    assert statuses("configuration") == {"warning"}
