"""Where chunks lie, read along with other rows: vector and distance from a query's vector in one value.

One expression for both finds the chunk's row once, and 384 numbers as the database stores them are read in a
thousandth of the time that their text takes.
"""

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from django.db.models import BigIntegerField, BinaryField, F, FloatField, Func, QuerySet, UUIDField
from pgvector.django import CosineDistance

from kebab.database.compiled_queries import Slot
from search.models import ChunkVector

#: Both legs' best 100: a vector is 1.5 kB on its way, and fusion looks at those of 50.
MOST_PLACED = 200
# What `halfvec_send` writes before the numbers: their count, and two bytes that are not used.
_HEAD_BYTES = 4
_DISTANCE = struct.Struct(">d")


class _Distance(Func):
    """A number as PostgreSQL sends it in its binary format."""

    function = "float8send"
    output_field = BinaryField()


class Place(_Distance):
    """A vector, and behind it a number."""

    template = "halfvec_send(%(expressions)s)"
    arg_joiner = ") || float8send("


def placed(chunk_id: Any, *, with_vector: bool) -> "QuerySet[ChunkVector, dict[str, Any]]":
    """Return the query for where one chunk lies, for use within another; its slots are `QueryPoint.values`.

    Without the vector it gives the distance alone.
    """
    vectors = ChunkVector.objects.filter(
        workspace_id=Slot("workspace", UUIDField()),
        space_id=Slot("space", BigIntegerField()),
        chunk_id=chunk_id,
    )
    distance = CosineDistance("embedding", Slot("vector"), output_field=FloatField())
    return vectors.values(placed=Place(F("embedding"), distance) if with_vector else _Distance(distance))


def similarities_of(places: Mapping[str, bytes]) -> dict[str, float]:
    """Return the cosine similarity of each to the query's vector; one without a direction has none."""
    distances = {
        id_: _DISTANCE.unpack_from(place, len(place) - _DISTANCE.size)[0] for id_, place in places.items()
    }
    return {id_: 1.0 - distance for id_, distance in distances.items() if distance == distance}


def vectors_of(places: Mapping[str, bytes]) -> dict[str, np.ndarray]:
    """Return the vectors, `(dim,)` float32 each."""
    if not places:
        return {}
    rows = np.frombuffer(b"".join(places.values()), np.uint8).reshape(len(places), -1)
    numbers = np.ascontiguousarray(rows[:, _HEAD_BYTES : -_DISTANCE.size]).view(">f2").astype(np.float32)
    return dict(zip(places, numbers, strict=True))
