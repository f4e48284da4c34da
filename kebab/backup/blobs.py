"""Copies of documents' bytes into a backup and back, verified by hash and never copied twice."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from blake3 import blake3
from django.core.files.base import File
from django.core.files.storage import default_storage

from kebab.backup.errors import BackupFailed
from kebab.extension import contributions
from kebab.stack.paths import copy_atomically

#: Returns the names of all blobs that rows need, by the current state of the database.
BlobNames = Callable[[], Iterable[str]]

_PIECE_BYTES = 1_000_000


def needed_blobs() -> set[str]:
    """Return the names of all blobs that rows need now."""
    return {name for names in contributions("blob_names") for name in names()}


@dataclass(slots=True, kw_only=True)
class CopyResult:
    """The result of copying blobs."""

    blobs: int = 0
    size_bytes: int = 0
    #: Names of blobs that were missing, and of blobs whose content didn't match their names.
    missing: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)


def copy_to_folder(names: Collection[str], folder: Path) -> CopyResult:
    """Copy blobs that the folder lacks into it, except those that don't match their names. Raises OSError."""
    copied = CopyResult()
    for name in sorted(names):
        if not (folder / name).exists():
            _copy(name, folder / name, copied)
    return copied


def _copy(name: str, target: Path, copied: CopyResult) -> None:
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = target.with_name(f".{target.name}.tmp")
    try:
        with default_storage.open(name, "rb") as source, draft.open("wb") as target_file:
            size = _write(source, target_file, name, copied)
        if size is not None:
            draft.replace(target)
            copied.blobs += 1
            copied.size_bytes += size
    except FileNotFoundError:
        copied.missing.append(name)
    finally:
        draft.unlink(missing_ok=True)


def _write(source: "File[bytes]", target_file: BinaryIO, name: str, copied: CopyResult) -> int | None:
    """Write the content of `source` and return its size; None if it doesn't match the hash in its name."""
    hasher, size = blake3(), 0
    for piece in _read_pieces(source):
        hasher.update(piece)
        target_file.write(piece)
        size += len(piece)
    target_file.flush()
    os.fsync(target_file.fileno())
    if hasher.hexdigest() == _hash_of_name(name):
        return size
    copied.damaged.append(name)
    return None


def copy_from_folders(names: Iterable[str], folders: Iterable[Path]) -> CopyResult:
    """Restore missing blobs, each from the first of `folders` with an intact copy. Raises OSError."""
    copied, places = CopyResult(), list(folders)
    for name in names:
        if default_storage.exists(name):
            continue
        found = [folder / name for folder in places if (folder / name).exists()]
        whole = next((path for path in found if hash_of(path) == _hash_of_name(name)), None)
        if whole is None:
            (copied.damaged if found else copied.missing).append(name)
            continue
        _store(name, whole)
        copied.blobs += 1
        copied.size_bytes += whole.stat().st_size
    return copied


def _store(name: str, source: Path) -> None:
    try:
        copy_atomically(source, Path(default_storage.path(name)))
    except NotImplementedError:  # an object store writes atomically by itself
        with source.open("rb") as content:
            default_storage.save(name, File(content))


def hash_of(path: Path) -> str:
    """Return the BLAKE3 of a file, 64 hex digits."""
    hasher = blake3()
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            hasher.update(piece)
    return hasher.hexdigest()


def check_present(names: Iterable[str], folder: Path) -> None:
    """Check that a folder has all blobs of these names. Raises BackupFailed."""
    missing = [name for name in names if not (folder / name).exists()]
    if missing:
        raise BackupFailed(f"{len(missing)} blobs are not in {folder}, such as {missing[0]}.")


def _read_pieces(source: "BinaryIO | File[bytes]") -> Iterator[bytes]:
    while piece := source.read(_PIECE_BYTES):
        yield piece


def _hash_of_name(name: str) -> str:
    return name.rpartition("/")[2]
