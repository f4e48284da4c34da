"""Advisory file locks, which the kernel releases when their holder dies, so none is ever stale."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def lock(descriptor: int, *, shared: bool = False, wait: bool = True) -> None:
    """Lock an open file. Raises BlockingIOError if it isn't free and `wait` is false."""
    operation = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    fcntl.flock(descriptor, operation if wait else operation | fcntl.LOCK_NB)


def try_lock(descriptor: int) -> bool:
    """Lock an open file exclusively; return False if another process holds it."""
    try:
        lock(descriptor, wait=False)
    except BlockingIOError:
        return False
    return True


def lock_within(descriptor: int, deadline: float, *, retry_s: float) -> bool:
    """Lock an open file exclusively; return False if another process holds it at `deadline` (monotonic)."""
    while not try_lock(descriptor):
        if time.monotonic() >= deadline:
            return False
        time.sleep(retry_s)
    return True


def try_lock_file(path: Path) -> int | None:
    """Lock a file exclusively, created if missing, and return its descriptor, which the caller closes.

    Returns None if another process holds it, or has deleted it meanwhile.
    """
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    is_locked_here = False
    try:
        is_locked_here = try_lock(descriptor) and is_at(path, descriptor)
    finally:
        if not is_locked_here:
            os.close(descriptor)
    return descriptor if is_locked_here else None


def is_at(path: Path, descriptor: int) -> bool:
    """Return whether an open file is still the one at `path`, not one that was deleted or replaced."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


@contextmanager
def hold_exclusively(path: Path) -> Iterator[None]:
    """Wait for the exclusive lock of a file, created if missing, and hold it for the length of a block."""
    with path.open("a", encoding="utf-8") as file:
        lock(file.fileno())
        yield


@contextmanager
def hold_existing(path: Path, *, shared: bool = False, wait: bool = False) -> Iterator[None]:
    """Hold the lock of an existing file or folder for the length of a block.

    Raises BlockingIOError if it isn't free and `wait` is false, FileNotFoundError.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        lock(descriptor, shared=shared, wait=wait)
        yield
    finally:
        os.close(descriptor)


def is_locked(path: Path) -> bool | None:
    """Return whether any process holds the exclusive lock of a file; None if the file is missing."""
    try:
        with hold_existing(path, shared=True):  # concurrent callers must not take each other for the holder
            return False
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return None
