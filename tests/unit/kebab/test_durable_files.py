import errno
import os
import stat

import pytest

from kebab.runtime import durable_files
from kebab.runtime.durable_files import copy_file, open_replacement, replace_text


def test_replacement_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    path, synced = tmp_path / "a.json", []
    path.write_bytes(b"old")

    def sync(descriptor):
        synced.append((path.read_bytes(), os.fstat(descriptor).st_size))

    monkeypatch.setattr(durable_files.os, "fsync", sync)
    with open_replacement(path) as file:
        file.write(b"newer")
    assert synced == [(b"old", 5)]
    assert path.read_bytes() == b"newer"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_interrupted_replacement_leaves_the_old_file_and_no_draft(tmp_path, error):
    path = tmp_path / "a.json"
    path.write_bytes(b"old")

    def fail():
        with open_replacement(path) as file:
            file.write(b"new")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_only_the_owner_reads_a_replaced_text(tmp_path):
    path = tmp_path / "secrets.json"
    replace_text(path, "ä\n")
    assert path.read_bytes() == "ä\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_copy_creates_folders_that_are_missing(tmp_path):
    source, target = tmp_path / "source", tmp_path / "blobs" / "ab" / "abcd"
    source.write_bytes(b"content")
    copy_file(source, target)
    assert target.read_bytes() == b"content"
