"""A space's codes as a file of this node, mapped by every process that searches in it.

    magic, length of the head, the head as JSON, then arrays, each from a multiple of 64 bytes on

It lies in the folder of the workspace's mirror, and goes with it. It is replaced as a whole: who has mapped
the former one keeps it. What is damaged is like none.
"""

import contextlib
import json
import logging
import os
import struct
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from blake3 import blake3

from search.vectors.quantised import BLOCK, ID_BYTES, CodeTable

logger = logging.getLogger(__name__)

SUFFIX = ".codes"
_MAGIC = b"kebab codes 1\n"
_LENGTH = struct.Struct("<I")
_ALIGNED = 64
_DRAFT = ".part"
_WRITTEN_WITHIN_S = 3600.0


class CodesDamaged(Exception):
    """The file is not what was written."""


def write_codes(path: Path, table: CodeTable, place: Mapping[str, Any]) -> None:
    """Put a table in the place of the file, with where it was read. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.stem}-{uuid.uuid4().hex}{_DRAFT}")
    arrays = [np.ascontiguousarray(getattr(table, name)).tobytes() for name in _ARRAYS]
    head = {
        "vectors": len(table),
        "dim": table.blocks.shape[1],
        "residual": table.residual,
        "place": dict(place),
    }
    said = json.dumps({**head, "checksum": _checksum(head, arrays)}).encode()
    try:
        with os.fdopen(
            os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600), "wb"
        ) as file:
            file.write(_MAGIC + _LENGTH.pack(len(said)) + said)
            for array in arrays:
                file.write(bytes(-file.tell() % _ALIGNED))
                file.write(array)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def remove_drafts(folder: Path) -> None:
    """Remove what was begun so long ago that whoever wrote it was killed."""
    for draft in folder.glob(f"*{_DRAFT}"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - draft.stat().st_mtime > _WRITTEN_WITHIN_S:
                draft.unlink()


def read_codes(path: Path) -> tuple[CodeTable, dict[str, Any]] | None:
    """Return a file's table, mapped, and where it was read; None: there is none, or none that is sound."""
    try:
        return codes_of(path)
    except FileNotFoundError:
        return None
    except (CodesDamaged, OSError) as error:
        logger.warning("%s can't be used, and is made anew: %s", path.name, error)
        with contextlib.suppress(OSError):
            path.unlink()
        return None


_ARRAYS = ("ids", "scales", "sums", "blocks")


def codes_of(path: Path) -> tuple[CodeTable, dict[str, Any]]:
    """Return what `read_codes` does. Raises CodesDamaged, OSError."""
    try:
        return _mapped(path)
    except (ValueError, KeyError, TypeError, struct.error) as error:
        raise CodesDamaged(str(error)) from error


def _mapped(path: Path) -> tuple[CodeTable, dict[str, Any]]:
    whole = np.memmap(path, np.uint8, mode="r")
    begins = len(_MAGIC) + _LENGTH.size
    if whole[: len(_MAGIC)].tobytes() != _MAGIC:
        raise CodesDamaged("it has another beginning")
    (length,) = _LENGTH.unpack(whole[len(_MAGIC) : begins].tobytes())
    head = json.loads(whole[begins : begins + length].tobytes())
    count, dim = int(head["vectors"]), int(head["dim"])
    shapes: tuple[tuple[tuple[int, ...], Any], ...] = (
        ((count, ID_BYTES), np.uint8),
        ((count,), np.float32),
        ((count,), np.int32),
        ((-(-count // BLOCK), dim, BLOCK), np.int8),
    )
    arrays, at = [], begins + length
    for shape, kind in shapes:
        at += -at % _ALIGNED
        size = int(np.prod(shape)) * np.dtype(kind).itemsize
        # A plain array: each look at a piece of a mapped one costs a microsecond or ten.
        arrays.append(np.asarray(whole[at : at + size]).view(kind).reshape(shape))
        at += size
    if head.pop("checksum") != _checksum(head, arrays) or at != len(whole):
        raise CodesDamaged("its checksum is another's")
    ids, scales, sums, blocks = arrays
    table = CodeTable(ids=ids, scales=scales, sums=sums, blocks=blocks, residual=float(head["residual"]))
    return table, head["place"]


def _checksum(head: Mapping[str, Any], arrays: list[Any]) -> str:
    digest = blake3(json.dumps(head).encode())
    for array in arrays:
        digest.update(memoryview(array).cast("B") if isinstance(array, np.ndarray) else array)
    return digest.hexdigest()
