"""Durable replacement of files: after a crash at any point a file has its old or its new content."""

import fcntl
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_PIECE_BYTES = 1_000_000


@contextmanager
def open_replacement(path: Path, *, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Yield a draft that replaces the file at `path` if the block succeeds and is deleted otherwise.

    The umask applies to `mode`. The content is on the disk before it has its name; a killed process leaves
    `<name>.<32 hex digits>.tmp`. The folder is not synced: a power cut may undo the replacement.
    """
    draft = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, mode)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:  # a left-over draft would keep a full disk full
        draft.unlink(missing_ok=True)
        raise


def replace_text(path: Path, text: str) -> None:
    """Replace a file by a text; only its owner can read it."""
    with open_replacement(path, mode=0o600) as file:
        file.write(text.encode())


def store_stream(content: BinaryIO, path: Path) -> None:
    """Write the rest of a stream to a file, whose missing folders are created."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with open_replacement(path) as file:
        shutil.copyfileobj(content, file, _PIECE_BYTES)


def copy_file(source: Path, target: Path) -> None:
    """Copy a file; see `store_stream`."""
    with source.open("rb") as content:
        store_stream(content, target)


def sync_to_disk(path: Path) -> None:
    """Sync the content of a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
def hold_existing(
    path: Path, *, shared: bool = False, wait: bool = False, missing_ok: bool = False
) -> Iterator[None]:
    """Hold the lock of an existing file or folder for the length of a block.

    Raises BlockingIOError if it isn't free and `wait` is false; FileNotFoundError, unless `missing_ok`.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        if not missing_ok:
            raise
        yield
        return
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
