"""Blobs: documents' bytes by workspace and content hash, in any Django storage."""

import contextlib
import uuid
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from django.core.files.base import File
from django.core.files.storage import default_storage
from django.db import connection, transaction

from kebab.runtime.durable_files import store_stream
from search.corpus.content_ids import content_hash, file_hash

# Concurrent writers of files: 14 times as many files a second as one after the other.
_WRITERS = 8
# Batch size of names when all blobs are listed.
_NAMES = 500


def blob_name(workspace_id: uuid.UUID, hash_: str) -> str:
    """Return the storage name of a workspace's bytes with this hash."""
    return f"{workspace_id}/{hash_[:2]}/{hash_}"


def store_blob(workspace_id: uuid.UUID, content: bytes) -> str:
    """Store `content` and return its hash; existing bytes are left alone.

    Written under a temporary name first, so that a killed writer leaves no partial blob under the hash.
    """
    hash_ = content_hash(content)
    store_blobs(workspace_id, {hash_: content})
    return hash_


def store_blobs(workspace_id: uuid.UUID, contents: Mapping[str, bytes]) -> None:
    """Store several contents by hash, written concurrently; see `store_blob`."""

    def store(hash_: str) -> None:
        _store_file(blob_name(workspace_id, hash_), BytesIO(contents[hash_]))

    if len(contents) < 2:
        for hash_ in contents:
            store(hash_)
        return
    with ThreadPoolExecutor(min(_WRITERS, len(contents)), thread_name_prefix="blob") as writers:
        for _ in writers.map(store, contents):
            pass


def store_blob_file(workspace_id: uuid.UUID, file: BinaryIO) -> str:
    """Store a seekable file of any size and return its hash; see `store_blob`."""
    file.seek(0)
    hash_ = file_hash(file)
    _store_file(blob_name(workspace_id, hash_), file)
    return hash_


def lock_blobs(workspace_id: uuid.UUID, hashes: Iterable[str]) -> None:
    """Take exclusive locks on adding or dropping references to these blobs, until the transaction ends.

    Call it before the transaction locks rows, to avoid deadlocks. Raises TransactionManagementError outside a
    transaction.
    """
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("Blobs are held until the end of a transaction.")
    keys = sorted(_lock_key(blob_name(workspace_id, hash_)) for hash_ in set(hashes))
    if not keys:
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(key) FROM unnest(%s::bigint[]) AS key", [keys])


def lock_and_store_blobs(workspace_id: uuid.UUID, contents: Mapping[str, bytes]) -> None:
    """Lock and store contents by hash that rows of this transaction are about to reference; see `lock_blobs`.

    Store them before the transaction too, so that it spends no time on writing.
    """
    lock_blobs(workspace_id, contents)
    store_blobs(workspace_id, contents)


def lock_and_store_blob_file(workspace_id: uuid.UUID, file: BinaryIO, hash_: str) -> None:
    """Lock and store the content of a seekable file, which has this hash; see `lock_and_store_blobs`."""
    lock_blobs(workspace_id, [hash_])
    _store_file(blob_name(workspace_id, hash_), file)


def _lock_key(name: str) -> int:
    return int(content_hash(name.encode())[:16], 16) - 2**63


def _store_file(name: str, file: BinaryIO) -> None:
    if not default_storage.exists(name):
        file.seek(0)
        _write(name, file)


def _write(name: str, content: BinaryIO) -> None:
    try:
        target = default_storage.path(name)
    except NotImplementedError:  # an object store writes whole objects by itself
        default_storage.save(name, File(content))
        return
    store_stream(content, Path(target))


def has_blob(workspace_id: uuid.UUID, hash_: str) -> bool:
    """Return whether the bytes with this hash are stored."""
    return default_storage.exists(blob_name(workspace_id, hash_))


def open_blob(workspace_id: uuid.UUID, hash_: str) -> BinaryIO:
    """Open the bytes with this hash. Raises FileNotFoundError."""
    return default_storage.open(blob_name(workspace_id, hash_), "rb")  # type: ignore[return-value]  # a File has its methods


def read_blob(workspace_id: uuid.UUID, hash_: str) -> bytes:
    """Return the bytes with this hash. Raises FileNotFoundError."""
    with open_blob(workspace_id, hash_) as blob:
        return blob.read()


def delete_blobs(workspace_id: uuid.UUID, hashes: Iterable[str]) -> None:
    """Delete unreferenced blobs; the caller holds their locks from `lock_blobs`."""
    for hash_ in hashes:
        _delete(blob_name(workspace_id, hash_))


def _delete(name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        default_storage.delete(name)


def _delete_folder(name: str) -> None:
    """Delete a folder; one that still has a blob is left for later checks."""
    with contextlib.suppress(OSError):
        default_storage.delete(name)


def list_blobs(workspace_id: uuid.UUID) -> Iterator[set[str]]:
    """Yield the hashes of all blobs of a workspace, some hundred at a time.

    Partial files of killed writers are included under names that are no hashes.
    """
    names: set[str] = set()
    root = str(workspace_id)
    with contextlib.suppress(FileNotFoundError):
        for folder in default_storage.listdir(root)[0]:
            names.update(default_storage.listdir(f"{root}/{folder}")[1])
            if len(names) >= _NAMES:
                yield names
                names = set()
    yield names


def blobs_before(workspace_id: uuid.UUID, hashes: Iterable[str], before: datetime) -> set[str]:
    """Return those of `hashes` that were stored before a time."""
    return {hash_ for hash_ in hashes if _is_older(blob_name(workspace_id, hash_), before)}


def _is_older(name: str, before: datetime) -> bool:
    try:
        return default_storage.get_modified_time(name) < before
    except FileNotFoundError:
        return False


def delete_all_blobs(workspace_id: uuid.UUID) -> None:
    """Delete every blob of a workspace, as when it is deleted."""
    root = str(workspace_id)
    with contextlib.suppress(FileNotFoundError):
        for folder in default_storage.listdir(root)[0]:
            for name in default_storage.listdir(f"{root}/{folder}")[1]:
                _delete(f"{root}/{folder}/{name}")
            _delete_folder(f"{root}/{folder}")
        _delete_folder(root)
