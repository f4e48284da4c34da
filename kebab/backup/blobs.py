"""Documents' bytes on their way into a backup and back: named, checked by hash, never copied twice."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from blake3 import blake3
from django.core.files.base import File
from django.core.files.storage import default_storage

from kebab.backup.errors import BackupFailed
from kebab.stack.paths import copy_whole

#: Give the names of all blobs that rows need, as the database is now.
BlobNames = Callable[[], Iterable[str]]

_sources: list[BlobNames] = []
_PIECE_BYTES = 1_000_000


def register_blob_names(names: BlobNames) -> None:
    """Have `names()` say which blobs a backup is to hold; from `AppConfig.ready`."""
    if names not in _sources:
        _sources.append(names)


def needed_blobs() -> set[str]:
    """Return the names of all blobs that are needed now."""
    return {name for source in _sources for name in source()}


@dataclass(slots=True, kw_only=True)
class Copied:
    """What has been copied."""

    blobs: int = 0
    size_bytes: int = 0
    #: Names of what was not there, or not what its name says.
    missing: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)


def copy_to_folder(names: Collection[str], folder: Path) -> Copied:
    """Copy blobs that the folder lacks into it. What a name doesn't fit is not copied. Raises OSError."""
    copied = Copied()
    for name in sorted(names):
        if not (folder / name).exists():
            _copy(name, folder / name, copied)
    return copied


def _copy(name: str, target: Path, copied: Copied) -> None:
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = target.with_name(f".{target.name}.tmp")
    try:
        with default_storage.open(name, "rb") as source, draft.open("wb") as written:
            size = _write(source, written, name, copied)
        if size is not None:
            draft.replace(target)
            copied.blobs += 1
            copied.size_bytes += size
    except FileNotFoundError:
        copied.missing.append(name)
    finally:
        draft.unlink(missing_ok=True)


def _write(source: BinaryIO, written: BinaryIO, name: str, copied: Copied) -> int | None:
    """Write what `source` gives; None when it is not what its name says."""
    hasher, size = blake3(), 0
    for piece in _pieces(source):
        hasher.update(piece)
        written.write(piece)
        size += len(piece)
    written.flush()
    os.fsync(written.fileno())
    if hasher.hexdigest() == _hash_in(name):
        return size
    copied.damaged.append(name)
    return None


def copy_from_folders(names: Iterable[str], folders: Iterable[Path]) -> Copied:
    """Put blobs back, each from the first of `folders` that has it whole. Raises OSError."""
    copied, places = Copied(), list(folders)
    for name in names:
        if default_storage.exists(name):
            continue
        found = [folder / name for folder in places if (folder / name).exists()]
        whole = next((path for path in found if hash_of(path) == _hash_in(name)), None)
        if whole is None:
            (copied.damaged if found else copied.missing).append(name)
            continue
        _put(name, whole)
        copied.blobs += 1
        copied.size_bytes += whole.stat().st_size
    return copied


def _put(name: str, source: Path) -> None:
    try:
        copy_whole(source, Path(default_storage.path(name)))
    except NotImplementedError:  # an object store writes whole objects by itself
        with source.open("rb") as content:
            default_storage.save(name, File(content))


def hash_of(path: Path) -> str:
    """Return the BLAKE3 of a file, 64 hex digits."""
    hasher = blake3()
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            hasher.update(piece)
    return hasher.hexdigest()


def checked(names: Iterable[str], folder: Path) -> None:
    """See that a folder has all blobs of these names. Raises BackupFailed."""
    missing = [name for name in names if not (folder / name).exists()]
    if missing:
        raise BackupFailed(f"{len(missing)} blobs are not in {folder}, such as {missing[0]}.")


def _pieces(source: BinaryIO) -> Iterator[bytes]:
    while piece := source.read(_PIECE_BYTES):
        yield piece


def _hash_in(name: str) -> str:
    return name.rpartition("/")[2]
