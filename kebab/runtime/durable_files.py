"""Durable replacement of files: after a crash at any point a file has its old or its new content."""

import os
import shutil
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
