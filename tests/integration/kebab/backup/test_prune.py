import json
import shutil

import pytest

from kebab.backup import backup
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
}


def write_backup(folder, day):
    """Write a backup into a folder, with one blob of its own."""
    path, at = folder / f"2026-11-{day:02}T100000Z", f"2026-11-{day:02}T10:00:00+00:00"
    path.mkdir(parents=True)
    name = f"w/{day:02}/{day:064}"
    (folder / "blobs" / name).parent.mkdir(parents=True)
    (folder / "blobs" / name).write_bytes(b"blob")
    (path / "blobs.txt").write_text(f"{name}\n")
    manifest = {**_MANIFEST, "started_at": at, "ended_at": at}
    (path / "manifest.json").write_text(json.dumps(manifest))
    return path


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
