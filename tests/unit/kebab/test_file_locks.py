import os

import pytest

from kebab.runtime.durable_files import hold_exclusively, hold_existing, is_locked, try_lock_file


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lock"


def test_lock_is_held_for_the_length_of_a_block(path):
    assert is_locked(path) is None
    with hold_exclusively(path):
        assert is_locked(path) is True
        assert try_lock_file(path) is None
    assert is_locked(path) is False


def test_lock_file_that_was_deleted_after_it_was_opened_is_not_locked(path, monkeypatch):
    opened = []

    def open_and_delete(*arguments):
        opened.append(real(*arguments))
        path.unlink()
        return opened[-1]

    real = os.open
    monkeypatch.setattr(os, "open", open_and_delete)
    assert try_lock_file(path) is None
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened[0])


def test_shared_locks_exclude_an_exclusive_one_alone(tmp_path):
    with hold_existing(tmp_path, shared=True), hold_existing(tmp_path, shared=True):
        with pytest.raises(BlockingIOError), hold_existing(tmp_path):
            raise AssertionError("it is not held")
        assert is_locked(tmp_path) is False


def test_descriptor_of_a_lock_is_closed_in_other_programs(path):
    descriptor = try_lock_file(path)
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)
