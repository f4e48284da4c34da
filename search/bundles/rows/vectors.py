"""Vectors of a space as rows of a bundle: ids of 16 bytes each, and halves, the least byte first."""

import uuid
from collections.abc import Iterator

import numpy as np
from django.db.models import BinaryField, F, Func

from search.bundles.format.layout import ROW_BYTES, VECTORS_A_ROW
from search.models import ChunkVector, EmbeddingSpace

# What `halfvec_send` writes before the numbers: their count, and two bytes that are not used.
_HEAD_BYTES = 4
#: How numbers lie in a bundle, and come from Postgres.
HALVES = np.dtype("<f2")
_SENT = np.dtype(">f2")


class _Sent(Func):  # type: ignore[misc]  # Django's own has no types
    function = "halfvec_send"
    output_field = BinaryField()


def vector_rows(space: EmbeddingSpace) -> Iterator[tuple[bytes, bytes]]:
    """Return (ids, halves) of some hundred vectors at a time, in the order of their chunks' ids."""
    vectors = ChunkVector.objects.in_workspace(space.workspace_id).filter(space=space.pk)
    after = uuid.UUID(int=0)
    at_once = max(1, min(VECTORS_A_ROW, ROW_BYTES // (space.dim * HALVES.itemsize)))
    while True:
        rows = vectors.filter(chunk_id__gt=after).order_by("chunk_id")
        batch = list(rows.values_list("chunk_id", _Sent(F("embedding")))[:at_once])
        if not batch:
            return
        after = batch[-1][0]
        sent = b"".join(bytes(vector[_HEAD_BYTES:]) for _, vector in batch)
        halves = np.frombuffer(sent, _SENT).astype(HALVES)
        yield b"".join(chunk_id.bytes for chunk_id, _ in batch), halves.tobytes()


def matrix_of(body: bytes, *, count: int, dim: int) -> np.ndarray:
    """Return the vectors of a row, (count, dim) halves. Raises ValueError for what an export
    doesn't write.
    """
    if not count or len(body) != count * dim * HALVES.itemsize:
        raise ValueError(f"{len(body)} bytes are not {count} vectors of {dim} numbers")
    halves = np.frombuffer(body, HALVES).reshape(count, dim)
    if not np.isfinite(halves).all():
        raise ValueError("a vector has a number that is not finite")
    return halves


def ids_of(body: bytes) -> list[uuid.UUID]:
    """Return the ids of a row. Raises ValueError."""
    if len(body) % 16:
        raise ValueError(f"{len(body)} bytes are no ids of 16 bytes each")
    return [uuid.UUID(bytes=body[start : start + 16]) for start in range(0, len(body), 16)]
