import json
import shutil

import pytest

from kebab.backup import backup
from kebab.backup.backup import record_folder
from kebab.backup.manifest import SCHEMA_VERSION, list_backups

_MANIFEST = {
    "schema_version": SCHEMA_VERSION,
    "kebab": "0.2.0",
    "postgres": "18.4",
    "system_identifier": "7",
    "blobs": 1,
    "blob_bytes": 4,
    "blob_list_hash": "",
    "base_hash": "",
    "has_secrets": False,
    "archive": "",
}


def write_backup(folder, day, *, first_wal="000000010000000000000001"):
    """Write a backup into a folder, with one blob of its own."""
    path, at = folder / f"2026-11-{day:02}T100000Z", f"2026-11-{day:02}T10:00:00+00:00"
    path.mkdir(parents=True)
    name = f"w/{day:02}/{day:064}"
    (folder / "blobs" / name).parent.mkdir(parents=True)
    (folder / "blobs" / name).write_bytes(b"blob")
    (path / "blobs.txt").write_text(f"{name}\n")
    manifest = {**_MANIFEST, "started_at": at, "ended_at": at, "first_wal": first_wal}
    (path / "manifest.json").write_text(json.dumps(manifest))
    return path


@pytest.fixture
def first_kept_segments(settings, tmp_path, monkeypatch):
    """Return the list of segments from which PostgreSQL's tool is to keep the log."""
    settings.KEBAB_WAL_ARCHIVE = tmp_path / "archive"
    (tmp_path / "archive").mkdir()
    segments = []
    monkeypatch.setattr(backup.subprocess, "run", lambda command, **_: segments.append(command[-1]))
    monkeypatch.setattr(backup.blobs, "needed_blobs", set)
    return segments


def test_old_backups_are_removed_with_the_bytes_that_they_alone_needed(tmp_path):
    paths = [write_backup(tmp_path, day) for day in (1, 2, 3)]
    assert backup.prune(tmp_path, keep=2) == [paths[0].name]
    assert [each.path for each in list_backups(tmp_path)] == paths[1:]
    assert sorted(path.parent.name for path in (tmp_path / "blobs").glob("*/*/*")) == ["02", "03"]


def test_half_removed_backup_is_not_listed_and_the_next_one_removes_it(tmp_path, monkeypatch):
    write_backup(tmp_path, 1)
    kept = write_backup(tmp_path, 2)

    def fail(path):
        raise OSError("the disk is gone")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="gone"):
        patch.setattr(shutil, "rmtree", fail)
        backup.prune(tmp_path, keep=1)
    assert [each.path for each in list_backups(tmp_path)] == [kept]

    backup._delete_partial_backups(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {kept.name, "blobs"}


def test_log_is_kept_from_the_earliest_position_of_any_timeline(tmp_path, first_kept_segments):
    record_folder(tmp_path / "archive", tmp_path / "all")
    write_backup(tmp_path / "all", 9, first_wal="000000010000000000000014")
    write_backup(
        tmp_path / "all", 10, first_wal="000000020000000000000011"
    )  # of what was restored to an earlier time
    backup.prune(tmp_path / "all", keep=2)
    assert first_kept_segments == ["000000020000000000000011"]


def test_archived_log_is_kept_when_a_backup_folder_is_empty(tmp_path, first_kept_segments, caplog):
    for name in ("all", "unmounted"):
        record_folder(tmp_path / "archive", tmp_path / name)
    write_backup(tmp_path / "all", 9)
    (tmp_path / "unmounted").mkdir()
    backup.prune(tmp_path / "all", keep=1)
    assert first_kept_segments == []
    assert str(tmp_path / "unmounted") in caplog.text
