"""The file of a space's codes on this node, memory-mapped by every process that searches it.

    magic, length of the header, the header as JSON, then arrays, each aligned to 64 bytes

It is in the folder of the workspace's mirror and is deleted with it. It is replaced as a whole; processes
keep mapping the former one. A damaged file counts as missing.
"""

import contextlib
import json
import logging
import os
import struct
import time
import uuid
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from blake3 import blake3

from search.retrieval.fusion.legs import ID
from search.vectors.quantised_scan import CodeTable

logger = logging.getLogger(__name__)

SUFFIX = ".codes"
_MAGIC = b"kebab codes 4\n"
_LENGTH = struct.Struct("<I")
_ALIGNED = 64
_DRAFT = ".part"
_WRITTEN_WITHIN_S = 3600.0


class CodesDamaged(Exception):
    """The file is damaged."""


def write_codes(path: Path, tables: Sequence[CodeTable], place: Mapping[str, Any]) -> None:
    """Replace the file by tables and the database position they were read at. Raises OSError.

    The ids ascend over all of them.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.stem}-{uuid.uuid4().hex}{_DRAFT}")
    count = sum(map(len, tables))
    arrays = [[getattr(table, name) for table in tables] for name in _ARRAYS]
    head = {
        "vectors": count,
        "dim": tables[0].codes.shape[1],
        "residual": max(table.residual for table in tables),
        "place": dict(place),
    }
    header = json.dumps({**head, "checksum": _checksum(head, arrays)}).encode()
    try:
        with os.fdopen(
            os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600), "wb"
        ) as file:
            file.write(_MAGIC + _LENGTH.pack(len(header)) + header)
            for parts in arrays:
                file.write(bytes(-file.tell() % _ALIGNED))
                for part in parts:
                    file.write(_octets(part))
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def delete_drafts(folder: Path) -> None:
    """Delete drafts older than an hour, left by killed writers."""
    for draft in folder.glob(f"*{_DRAFT}"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - draft.stat().st_mtime > _WRITTEN_WITHIN_S:
                draft.unlink()


def read_codes(path: Path) -> tuple[CodeTable, dict[str, Any]] | None:
    """Return a file's table, mapped, and its database position; None if it is missing or damaged."""
    try:
        return load_codes(path)
    except FileNotFoundError:
        return None
    except (CodesDamaged, OSError) as error:
        logger.warning("%s can't be used, and is made anew: %s", path.name, error)
        with contextlib.suppress(OSError):
            path.unlink()
        return None


_ARRAYS = ("ids", "vectors", "squares", "scales", "codes")


def load_codes(path: Path) -> tuple[CodeTable, dict[str, Any]]:
    """Return a file's table, mapped, and its database position. Raises CodesDamaged, OSError."""
    try:
        return _map_file(path)
    except (ValueError, KeyError, TypeError, struct.error) as error:
        raise CodesDamaged(str(error)) from error


def _map_file(path: Path) -> tuple[CodeTable, dict[str, Any]]:
    whole = np.memmap(path, np.uint8, mode="r")
    begins = len(_MAGIC) + _LENGTH.size
    if whole[: len(_MAGIC)].tobytes() != _MAGIC:
        raise CodesDamaged("it has another beginning")
    (length,) = _LENGTH.unpack(whole[len(_MAGIC) : begins].tobytes())
    head = json.loads(whole[begins : begins + length].tobytes())
    count, dim = int(head["vectors"]), int(head["dim"])
    shapes: tuple[tuple[tuple[int, ...], Any], ...] = (
        ((count,), ID),
        ((count, dim), np.float16),
        ((count,), np.float32),
        ((count,), np.float32),
        ((count, dim), np.int8),
    )
    arrays, at = [], begins + length
    for shape, kind in shapes:
        at += -at % _ALIGNED
        size = int(np.prod(shape)) * np.dtype(kind).itemsize
        # A plain array: each slice of a memmap costs one to ten microseconds.
        arrays.append(np.asarray(whole[at : at + size]).view(kind).reshape(shape))
        at += size
    if head.pop("checksum") != _checksum(head, [[array] for array in arrays]) or at != len(whole):
        raise CodesDamaged("its checksum is another's")
    columns = dict(zip(_ARRAYS, arrays, strict=True))
    return CodeTable(**columns, residual=float(head["residual"])), head["place"]


def _checksum(head: Mapping[str, Any], arrays: Sequence[Sequence[np.ndarray]]) -> str:
    digest = blake3(json.dumps(head).encode())
    for part in chain.from_iterable(arrays):
        digest.update(_octets(part))
    return digest.hexdigest()


def _octets(array: np.ndarray) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
