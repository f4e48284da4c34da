"""Vectors and their distances from a query's vector as one binary value, for use in other queries.

One expression for both looks the chunk's row up once, and decoding 384 components from binary takes a
thousandth of the time of text.
"""

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from django.db.models import BigIntegerField, BinaryField, F, FloatField, Func, QuerySet, UUIDField
from pgvector.django import CosineDistance

from kebab.database.compiled_queries import Param
from search.models import ChunkVector

#: Limit of transferred vectors, the best 100 of two legs: a vector takes 1.5 kB, and fusion uses those of 50.
MOST_PLACED = 200
# Header of `halfvec_send` before the components: their count, and two unused bytes.
_HEAD_BYTES = 4
_DISTANCE = struct.Struct(">d")


class _Distance(Func):
    """A number in PostgreSQL's binary format."""

    function = "float8send"
    output_field = BinaryField()


class VectorAndDistance(_Distance):
    """A vector followed by a number, in PostgreSQL's binary format."""

    template = "halfvec_send(%(expressions)s)"
    arg_joiner = ") || float8send("


def vector_subquery(chunk_id: Any, *, with_vector: bool) -> "QuerySet[ChunkVector, Any]":
    """Return a subquery for one chunk's vector and distance; its parameters are `QueryPoint.values`.

    Without `with_vector` it returns the distance alone.
    """
    vectors = ChunkVector.objects.filter(
        workspace_id=Param("workspace", UUIDField()),
        space_id=Param("space", BigIntegerField()),
        chunk_id=chunk_id,
    )
    distance = CosineDistance("embedding", Param("vector"), output_field=FloatField())
    return vectors.values(
        placed=VectorAndDistance(F("embedding"), distance) if with_vector else _Distance(distance)
    )


def decode_similarities(places: Mapping[str, bytes]) -> dict[str, float]:
    """Return the cosine similarity of each to the query's vector, without zero vectors, which have none."""
    distances = {
        id_: _DISTANCE.unpack_from(place, len(place) - _DISTANCE.size)[0] for id_, place in places.items()
    }
    return {id_: 1.0 - distance for id_, distance in distances.items() if distance == distance}


def decode_vectors(places: Mapping[str, bytes]) -> dict[str, np.ndarray]:
    """Return the decoded vectors, `(dim,)` float32 each."""
    if not places:
        return {}
    rows = np.frombuffer(b"".join(places.values()), np.uint8).reshape(len(places), -1)
    numbers = np.ascontiguousarray(rows[:, _HEAD_BYTES : -_DISTANCE.size]).view(">f2").astype(np.float32)
    return dict(zip(places, numbers, strict=True))
