"""Copies of documents' bytes into a backup and back, verified by hash and never copied twice."""

import hashlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from blake3 import blake3
from django.core.files.base import File
from django.core.files.storage import default_storage

from kebab.backup.manifest import BackupFailed
from kebab.contributions import contributions
from kebab.runtime.durable_files import copy_file, open_replacement

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
    try:
        with default_storage.open(name, "rb") as source, open_replacement(target) as target_file:
            size = _write(source, target_file, _hash_of_name(name))
    except FileNotFoundError:
        copied.missing.append(name)
    except _BlobDamaged:
        copied.damaged.append(name)
    else:
        copied.blobs += 1
        copied.size_bytes += size


class _BlobDamaged(Exception):
    """The content of a blob doesn't match its name."""


def _write(source: "File[bytes]", target_file: BinaryIO, hash_: str) -> int:
    """Write the content of `source` and return its size. Raises _BlobDamaged if it doesn't match the hash."""
    hasher, size = blake3(), 0
    while piece := source.read(_PIECE_BYTES):
        hasher.update(piece)
        size += target_file.write(piece)
    if hasher.hexdigest() != hash_:
        raise _BlobDamaged
    return size


def copy_from_folder(names: Iterable[str], folder: Path) -> CopyResult:
    """Restore missing blobs of which a folder has intact copies. Raises OSError."""
    copied = CopyResult()
    for name in names:
        if default_storage.exists(name):
            continue
        copy = folder / name
        if not copy.exists():
            copied.missing.append(name)
        elif hash_of(copy) != _hash_of_name(name):
            copied.damaged.append(name)
        else:
            _store(name, copy)
            copied.blobs += 1
            copied.size_bytes += copy.stat().st_size
    return copied


def _store(name: str, source: Path) -> None:
    try:
        copy_file(source, Path(default_storage.path(name)))
    except NotImplementedError:  # an object store writes atomically by itself
        with source.open("rb") as content:
            default_storage.save(name, File(content))


def hash_of(path: Path) -> str:
    """Return the BLAKE3 of a file, 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, blake3).hexdigest()  # type: ignore[arg-type]  # its update returns itself


def check_present(names: Iterable[str], folder: Path) -> None:
    """Check that a folder has all blobs of these names. Raises BackupFailed."""
    missing = [name for name in names if not (folder / name).exists()]
    if missing:
        raise BackupFailed(f"{len(missing)} blobs are not in {folder}, such as {missing[0]}.")


def _hash_of_name(name: str) -> str:
    return name.rpartition("/")[2]
