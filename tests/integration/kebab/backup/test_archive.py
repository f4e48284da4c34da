import os
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings as django_settings
from django.db import connections

from ingest.blob_cleanup import needed_blob_names, release_blobs
from kebab.backup import backup
from kebab.backup.deletion_lock import hold_deletions
from kebab.backup.manifest import BackupFailed
from kebab.stack.servers.postgres import wal_settings
from kebab.tenancy.postgres.pool import connect
from kebab.tenancy.roles import OWNER
from search.corpus.blobs import blob_name, has_blob, read_blob, store_blob
from tests.integration.kebab.backup.doctor import statuses
from tests.support.jobs import upload, work

CONTENT = b"# Swift\n\nThe swift sleeps on the wing.\n"


@pytest.fixture
def archived_blob(workspace, settings, tmp_path):
    """Configure an archive and return the hash and the archived path of bytes that nothing needs."""
    settings.KEBAB_WAL_ARCHIVE = tmp_path / "archive"
    hash_ = store_blob(workspace.pk, CONTENT)
    return hash_, tmp_path / "archive" / "blobs" / blob_name(workspace.pk, hash_)


@pytest.fixture
def owner(workspace):
    with connect(connections[OWNER].settings_dict) as made:
        yield made


def test_bytes_are_archived_when_written_and_outlive_their_deletion(workspace, archived_blob):
    hash_, path = archived_blob
    assert path.read_bytes() == CONTENT
    assert statuses("archive") == {"warning"}  # no log arrives there
    os.utime(path, (0, 0))
    assert release_blobs(workspace.pk, [hash_]) == 1
    assert not has_blob(workspace.pk, hash_)
    assert (path.read_bytes(), path.stat().st_mtime > 1_000) == (CONTENT, True)


def test_bytes_from_before_the_archive_are_archived_before_their_deletion(workspace, archived_blob):
    hash_, path = archived_blob
    path.unlink()
    release_blobs(workspace.pk, [hash_])
    assert path.read_bytes() == CONTENT


def test_bytes_that_cannot_be_archived_are_not_deleted_and_uploads_go_on(workspace, settings, tmp_path):
    settings.KEBAB_WAL_ARCHIVE = tmp_path / "archive"
    (tmp_path / "archive").write_text("no folder")
    hash_ = store_blob(workspace.pk, CONTENT)
    assert read_blob(workspace.pk, hash_) == CONTENT
    release_blobs(workspace.pk, [hash_])
    assert has_blob(workspace.pk, hash_)


def test_no_bytes_are_deleted_and_no_second_backup_begins_during_a_backup(workspace, archived_blob, owner):
    hash_, _ = archived_blob
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


def test_backup_holds_the_bytes_that_rows_need(workspace):
    waiting = upload(workspace, "waiting.md", CONTENT)
    store_blob(workspace.pk, b"nobody needs this")
    names = set(needed_blob_names())
    assert {name for name in names if name.endswith(waiting.payload["blob"])}
    assert len(names) == 2  # the document's and the waiting upload's
    assert work(waiting).state == "succeeded"
    assert set(needed_blob_names()) == names


def test_archive_drops_bytes_that_were_deleted_before_the_oldest_backup(
    workspace, archived_blob, monkeypatch
):
    _, path = archived_blob
    kept = path.with_name("f" * 64)
    kept.write_bytes(b"needed")
    before = datetime.now(UTC) - timedelta(days=7)
    monkeypatch.setattr(backup.subprocess, "run", lambda *_, **__: None)  # no log was archived here
    for place in (path, kept):
        os.utime(place, ((before - timedelta(days=1)).timestamp(),) * 2)
    folder, needed = django_settings.KEBAB_WAL_ARCHIVE, {str(kept.relative_to(kept.parents[2]))}
    backup.prune_archive(folder, folder, first_wal="0" * 24, before=before, needed=needed)
    assert (path.exists(), kept.exists()) == (False, True)


def test_archive_folder_is_quoted_for_the_shell(tmp_path):
    command = wal_settings(tmp_path / "100% of 'it'")["archive_command"]
    assert "100%% of" in command
    assert command.count("%f") == 6
