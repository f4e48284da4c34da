"""Vectors of a space as rows of a bundle: ids of 16 bytes each, and little-endian float16 values."""

import uuid
from collections.abc import Iterator

import numpy as np
from django.db.models import BinaryField, F, Func

from search.bundles.format.layout import ROW_BYTES, VECTORS_PER_ROW
from search.models import ChunkVector, EmbeddingSpace

# Header of `halfvec_send`: the count of numbers, and two unused bytes.
_HEAD_BYTES = 4
#: Number formats of bundles and of Postgres.
HALVES = np.dtype("<f2")
_POSTGRES_HALVES = np.dtype(">f2")


class _HalfvecSend(Func):
    function = "halfvec_send"
    output_field = BinaryField()


def vector_rows(space: EmbeddingSpace) -> Iterator[tuple[bytes, bytes]]:
    """Yield (ids, float16 values) of some hundred vectors at a time, in the order of their chunk ids."""
    vectors = ChunkVector.objects.in_workspace(space.workspace_id).filter(space=space.pk)
    after = uuid.UUID(int=0)
    batch_size = max(1, min(VECTORS_PER_ROW, ROW_BYTES // (space.dim * HALVES.itemsize)))
    while True:
        rows = vectors.filter(chunk_id__gt=after).order_by("chunk_id")
        batch = list(rows.values_list("chunk_id", _HalfvecSend(F("embedding")))[:batch_size])
        if not batch:
            return
        after = batch[-1][0]
        raw = b"".join(bytes(vector[_HEAD_BYTES:]) for _, vector in batch)
        halves = np.frombuffer(raw, _POSTGRES_HALVES).astype(HALVES)
        yield b"".join(chunk_id.bytes for chunk_id, _ in batch), halves.tobytes()


def parse_matrix(body: bytes, *, count: int, dim: int) -> np.ndarray:
    """Parse the vectors of a row, (count, dim) float16. Raises ValueError for what no export writes."""
    if not count or len(body) != count * dim * HALVES.itemsize:
        raise ValueError(f"{len(body)} bytes are not {count} vectors of {dim} numbers")
    halves = np.frombuffer(body, HALVES).reshape(count, dim)
    if not np.isfinite(halves).all():
        raise ValueError("a vector has a number that is not finite")
    return halves


def parse_ids(body: bytes) -> list[uuid.UUID]:
    """Parse the ids of a row. Raises ValueError."""
    if len(body) % 16:
        raise ValueError(f"{len(body)} bytes are not ids of 16 bytes each")
    return [uuid.UUID(bytes=body[start : start + 16]) for start in range(0, len(body), 16)]
