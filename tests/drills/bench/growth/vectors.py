"""Vectors for many chunks: the embedder's own for the first, synthetic ones around those for the rest.

A synthetic vector is a real one, drawn evenly, plus noise of a fixed length in a random direction, normalised
to length 1. With noise 0.75 its cosine with the real one is about 1 / sqrt(1 + 0.75²) = 0.8, as between two
chunks on one subject, so that the index sees clusters as in real text, and not the even spread of random
vectors, which no index can search.
"""

import uuid
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
from django.db import transaction

from ingest.jobs.kinds.embed import embed_batches
from kebab.identity.models import Workspace
from search.embedders.base import Embedder
from search.models import Chunk, ChunkVector, EmbeddingSpace
from search.vectors.backfill import batches_without_vector, store_vectors

NOISE = 0.75
_SEED = 1
_BATCH = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """Numbers of chunks that got a real and a synthetic vector."""

    embedded: int
    made_up: int


def fill_vectors(
    workspace: Workspace, space: EmbeddingSpace, embedder: Embedder, *, embed_at_most: int
) -> Filled:
    """Store a vector for every chunk: embed until the space has `embed_at_most`, and synthesise the rest."""
    have = ChunkVector.objects.in_workspace(workspace).filter(space=space.pk).count()
    embedded = _embed(space, embedder, max(0, embed_at_most - have))
    real = _first_vectors(workspace, space, embed_at_most)
    return Filled(embedded=embedded, made_up=make_up(space, real))


def around(real: np.ndarray, number: int, generator: np.random.Generator) -> np.ndarray:
    """Return `(number, dim)` float32 vectors of length 1 around rows of `real`, (n, dim) of length 1."""
    noise = generator.standard_normal((number, real.shape[1])).astype(np.float32)
    noise *= NOISE / np.linalg.norm(noise, axis=1, keepdims=True)
    noisy = real[generator.integers(0, len(real), number)] + noise
    vectors: np.ndarray = noisy / np.linalg.norm(noisy, axis=1, keepdims=True)
    return vectors


def _embed(space: EmbeddingSpace, embedder: Embedder, at_most: int) -> int:
    done = 0
    if not at_most:
        return done
    with closing(embed_batches(space, embedder)) as pending:
        for batch in pending:
            with transaction.atomic():
                store_vectors(space, batch.chunks, batch.vectors())
            done += len(batch.chunks)
            if done >= at_most:
                break
    return done


def _first_vectors(workspace: Workspace, space: EmbeddingSpace, number: int) -> np.ndarray:
    """Return up to `number` vectors of the space, (n, dim) float32."""
    vectors = ChunkVector.objects.in_workspace(workspace).filter(space=space.pk).order_by("chunk_id")
    rows = vectors.values_list("embedding", flat=True)[:number]
    return np.array(list(rows), np.float32).reshape(-1, space.dim)


def make_up(space: EmbeddingSpace, real: np.ndarray) -> int:
    """Store a vector around `real`, (n, dim) of length 1, for each chunk without one; return their number."""
    generator, done = np.random.default_rng(_SEED), 0
    for chunks in batches_without_vector(space, size=_BATCH):
        with transaction.atomic():
            store_vectors(space, chunks, _by_hash(chunks, around(real, len(chunks), generator)))
        done += len(chunks)
    return done


def _by_hash(chunks: Sequence[Chunk], vectors: np.ndarray) -> dict[uuid.UUID, np.ndarray]:
    return {chunk.embed_hash: vector for chunk, vector in zip(chunks, vectors, strict=True)}
