"""Documents' bytes, by workspace and content hash, in any Django storage."""

import contextlib
import os
import shutil
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

from kebab.backup.archive import archive_deleted, archive_kept
from search.corpus.content_ids import content_hash, file_hash

# Files brought to the disk at once: 14 times as many a second as one after the other.
_WRITERS = 8
# Names given at once when all are listed.
_NAMES = 500


def blob_name(workspace_id: uuid.UUID, hash_: str) -> str:
    """Return the name under which a workspace keeps the bytes with this hash."""
    return f"{workspace_id}/{hash_[:2]}/{hash_}"


def keep_blob(workspace_id: uuid.UUID, content: bytes) -> str:
    """Keep `content` and give its hash; bytes that are there already are left alone.

    Written under another name first: a killed writer leaves no half blob under the hash.
    """
    hash_ = content_hash(content)
    keep_blobs(workspace_id, {hash_: content})
    return hash_


def keep_blobs(workspace_id: uuid.UUID, contents: Mapping[str, bytes]) -> None:
    """Keep several contents, by their hashes, brought to the disk side by side; see `keep_blob`."""

    def keep(hash_: str) -> None:
        _keep_file(blob_name(workspace_id, hash_), BytesIO(contents[hash_]))

    if len(contents) < 2:
        for hash_ in contents:
            keep(hash_)
        return
    with ThreadPoolExecutor(min(_WRITERS, len(contents)), thread_name_prefix="blob") as writers:
        for _ in writers.map(keep, contents):
            pass


def keep_blob_file(workspace_id: uuid.UUID, file: BinaryIO) -> str:
    """Keep what a seekable file holds, however large, and give its hash; see `keep_blob`."""
    file.seek(0)
    hash_ = file_hash(file)
    _keep_file(blob_name(workspace_id, hash_), file)
    return hash_


def hold_blobs(workspace_id: uuid.UUID, hashes: Iterable[str]) -> None:
    """Be the only one until the transaction's end who begins to need these blobs, or lets them go.

    Call it before the transaction locks rows: so nobody waits in a circle. Raises
    TransactionManagementError outside a transaction.
    """
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("Blobs are held until the end of a transaction.")
    keys = sorted(_lock_key(blob_name(workspace_id, hash_)) for hash_ in set(hashes))
    if not keys:
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(key) FROM unnest(%s::bigint[]) AS key", [keys])


def secure_blobs(workspace_id: uuid.UUID, contents: Mapping[str, bytes]) -> None:
    """Have the contents kept, by their hashes, that rows of this transaction are about to need.

    Keep them before the transaction too: what is there already takes no time in it. See `hold_blobs`.
    """
    hold_blobs(workspace_id, contents)
    keep_blobs(workspace_id, contents)


def secure_blob_file(workspace_id: uuid.UUID, file: BinaryIO, hash_: str) -> None:
    """Do the same for what a seekable file holds, which has this hash."""
    hold_blobs(workspace_id, [hash_])
    _keep_file(blob_name(workspace_id, hash_), file)


def _lock_key(name: str) -> int:
    return int(content_hash(name.encode())[:16], 16) - 2**63


def _keep_file(name: str, file: BinaryIO) -> None:
    if not default_storage.exists(name):
        file.seek(0)
        _write(name, file)


def _write(name: str, content: BinaryIO) -> None:
    try:
        target = default_storage.path(name)
    except NotImplementedError:  # an object store writes whole objects by itself
        default_storage.save(name, File(content))
        return
    _write_file(target, content)
    archive_kept(name, Path(target))


def _write_file(target: str, content: BinaryIO) -> None:
    path = Path(target)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with draft.open("xb") as file:
            shutil.copyfileobj(content, file, 1_000_000)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:  # a draft that stayed would keep a full disk full
        draft.unlink(missing_ok=True)
        raise


def has_blob(workspace_id: uuid.UUID, hash_: str) -> bool:
    """Return whether the bytes with this hash are kept."""
    return default_storage.exists(blob_name(workspace_id, hash_))


def open_blob(workspace_id: uuid.UUID, hash_: str) -> BinaryIO:
    """Open the bytes with this hash. Raises FileNotFoundError."""
    return default_storage.open(blob_name(workspace_id, hash_), "rb")


def read_blob(workspace_id: uuid.UUID, hash_: str) -> bytes:
    """Return the bytes with this hash. Raises FileNotFoundError."""
    with open_blob(workspace_id, hash_) as blob:
        return blob.read()


def drop_blobs(workspace_id: uuid.UUID, hashes: Iterable[str]) -> None:
    """Delete blobs that nothing needs, and whose `hold_blobs` is still on."""
    for hash_ in hashes:
        _drop(blob_name(workspace_id, hash_))


def _drop(name: str) -> None:
    """Delete a blob; one that the archive can't take at the moment stays, and is found as forgotten."""
    if archive_deleted(name):
        with contextlib.suppress(FileNotFoundError):
            default_storage.delete(name)


def _drop_folder(name: str) -> None:
    """Delete a folder; one in which a blob stayed is found as left over."""
    with contextlib.suppress(OSError):
        default_storage.delete(name)


def list_blobs(workspace_id: uuid.UUID) -> Iterator[set[str]]:
    """Return the hashes of all that a workspace keeps, some hundred at a time.

    What a killed writer left half written is among them under a name that is no hash.
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
    """Return those of `hashes` that are kept since before a time."""
    return {hash_ for hash_ in hashes if _is_before(blob_name(workspace_id, hash_), before)}


def _is_before(name: str, before: datetime) -> bool:
    try:
        return default_storage.get_modified_time(name) < before
    except FileNotFoundError:
        return False


def drop_all_blobs(workspace_id: uuid.UUID) -> None:
    """Delete every blob of a workspace, as when it is deleted."""
    root = str(workspace_id)
    with contextlib.suppress(FileNotFoundError):
        for folder in default_storage.listdir(root)[0]:
            for name in default_storage.listdir(f"{root}/{folder}")[1]:
                _drop(f"{root}/{folder}/{name}")
            _drop_folder(f"{root}/{folder}")
        _drop_folder(root)
