"""Documents' bytes, by workspace and content hash, in any Django storage."""

import contextlib
import os
import uuid
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from django.core.files.base import File
from django.core.files.storage import default_storage

from search.identifiers import content_hash
from search.models import Document


def blob_name(workspace_id: uuid.UUID, hash_: str) -> str:
    """Give the name under which a workspace keeps the bytes with this hash."""
    return f"{workspace_id}/{hash_[:2]}/{hash_}"


def keep_blob(workspace_id: uuid.UUID, content: bytes) -> str:
    """Keep `content` and give its hash; bytes that are there already are left alone.

    Written under another name first: a killed writer leaves no half blob under the hash.
    """
    hash_ = content_hash(content)
    name = blob_name(workspace_id, hash_)
    if not default_storage.exists(name):
        _write(name, content)
    return hash_


def _write(name: str, content: bytes) -> None:
    try:
        target = default_storage.path(name)
    except NotImplementedError:  # an object store writes whole objects by itself
        default_storage.save(name, File(BytesIO(content)))
        return
    _write_file(target, content)


def _write_file(target: str, content: bytes) -> None:
    path = Path(target)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
    with draft.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def open_blob(workspace_id: uuid.UUID, hash_: str) -> BinaryIO:
    """Open the bytes with this hash. Raises FileNotFoundError."""
    return default_storage.open(blob_name(workspace_id, hash_), "rb")


def read_blob(workspace_id: uuid.UUID, hash_: str) -> bytes:
    """Give the bytes with this hash. Raises FileNotFoundError."""
    with open_blob(workspace_id, hash_) as blob:
        return blob.read()


def drop_unused_blobs(workspace_id: uuid.UUID, hashes: set[str]) -> int:
    """Delete those of `hashes` that no document of the workspace has any more; give how many.

    A document with the same bytes may be on its way meanwhile: its writer keeps the blob once more after
    its commit, so that whoever comes later of the two leaves the blob there.
    """
    unused = hashes - _used(workspace_id, hashes)
    for hash_ in unused:
        with contextlib.suppress(FileNotFoundError):
            default_storage.delete(blob_name(workspace_id, hash_))
    return len(unused)


def _used(workspace_id: uuid.UUID, hashes: set[str]) -> set[str]:
    documents = Document.objects.in_workspace(workspace_id).filter(content_hash__in=hashes)
    return set(documents.values_list("content_hash", flat=True))


def drop_all_blobs(workspace_id: uuid.UUID) -> None:
    """Delete every blob of a workspace, as when it is deleted."""
    root = str(workspace_id)
    with contextlib.suppress(FileNotFoundError):
        for folder in default_storage.listdir(root)[0]:
            for name in default_storage.listdir(f"{root}/{folder}")[1]:
                default_storage.delete(f"{root}/{folder}/{name}")
            default_storage.delete(f"{root}/{folder}")
        default_storage.delete(root)
