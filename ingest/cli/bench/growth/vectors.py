"""Vectors for many chunks: the embedder's own for the first, made up around those for the rest.

A made-up vector is a real one, drawn evenly, plus noise of a fixed length in a random direction, brought back
to length 1. With noise 0.75 its cosine with the real one is about 1 / sqrt(1 + 0.75²) = 0.8, as between two
chunks on one subject, so that the index meets clusters as in real text, and not the even spread of random
vectors, which no index can search.
"""

import uuid
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
from django.db import transaction

from ingest.jobs.kinds.embed import batches
from kebab.people.models import Workspace
from search.embedders.base import Embedder
from search.models import Chunk, ChunkVector, EmbeddingSpace
from search.vectors.backfill import chunks_without_vector, store_vectors

NOISE = 0.75
_SEED = 1
_BATCH = 1_000
_BEFORE_ALL = uuid.UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """How many chunks got a vector, of each kind."""

    embedded: int
    made_up: int


def fill_vectors(
    workspace: Workspace, space: EmbeddingSpace, embedder: Embedder, *, embed_at_most: int
) -> Filled:
    """Give every chunk a vector: embed until the space has `embed_at_most`, and make up the rest."""
    have = ChunkVector.objects.in_workspace(workspace).filter(space=space.pk).count()
    embedded = _embed(space, embedder, max(0, embed_at_most - have))
    real = _first_vectors(workspace, space, embed_at_most)
    return Filled(embedded=embedded, made_up=make_up(space, real))


def around(real: np.ndarray, number: int, drawn: np.random.Generator) -> np.ndarray:
    """Return `(number, dim)` float32 vectors of length 1 around rows of `real`, (n, dim) of length 1."""
    noise = drawn.standard_normal((number, real.shape[1])).astype(np.float32)
    noise *= NOISE / np.linalg.norm(noise, axis=1, keepdims=True)
    moved = real[drawn.integers(0, len(real), number)] + noise
    made: np.ndarray = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    return made


def _embed(space: EmbeddingSpace, embedder: Embedder, at_most: int) -> int:
    done = 0
    if not at_most:
        return done
    with closing(batches(space, embedder)) as begun:
        for batch in begun:
            with transaction.atomic():
                store_vectors(space, batch.chunks, batch.vectors())
            done += len(batch.chunks)
            if done >= at_most:
                break
    return done


def _first_vectors(workspace: Workspace, space: EmbeddingSpace, number: int) -> np.ndarray:
    """Give up to `number` vectors of the space, (n, dim) float32."""
    vectors = ChunkVector.objects.in_workspace(workspace).filter(space=space.pk).order_by("chunk_id")
    rows = vectors.values_list("embedding", flat=True)[:number]
    return np.array(list(rows), np.float32).reshape(-1, space.dim)


def make_up(space: EmbeddingSpace, real: np.ndarray) -> int:
    """Give every chunk that lacks one a vector around `real`, (n, dim) of length 1; give how many."""
    drawn, done, after = np.random.default_rng(_SEED), 0, _BEFORE_ALL
    while chunks := chunks_without_vector(space, after=after, limit=_BATCH):
        with transaction.atomic():
            store_vectors(space, chunks, _by_hash(chunks, around(real, len(chunks), drawn)))
        done, after = done + len(chunks), chunks[-1].chunk_id
    return done


def _by_hash(chunks: Sequence[Chunk], vectors: np.ndarray) -> dict[uuid.UUID, np.ndarray]:
    return {chunk.embed_hash: vector for chunk, vector in zip(chunks, vectors, strict=True)}
