"""Giving the workspace's chunks their vectors, behind lexical search and never in its way."""

import time
import uuid
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest

from ingest.errors import JobFailed
from ingest.jobs.work import Ending, Work
from search.embedders.base import Embedder
from search.embedding import configured_embedder, embedded_text
from search.models import Chunk, EmbeddingSpace
from search.vectors.fill import chunks_without_vector, count_without_vector, known_vectors, store_vectors
from search.vectors.index import ensure_index
from search.vectors.spaces import ensure_live_space, live_space, note_languages

# Chunks a transaction: a killed worker repeats at most twice as many.
_BATCH = 64
# A workspace makes room after this while others wait for their vectors.
_TURN_S = 30.0
_BEFORE_ALL = uuid.UUID(int=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Chunks without a vector: those whose text has one already, and the texts that are being embedded."""

    chunks: list[Chunk]
    known: dict[uuid.UUID, object]
    hashes: list[uuid.UUID]
    embedded: "Future[np.ndarray]"
    #: The batch before, which may be embedding texts that this one has too.
    before: "Batch | None"

    def own_vectors(self) -> dict[uuid.UUID, np.ndarray]:
        """Give the vectors that were embedded for this batch, by hash."""
        return dict(zip(self.hashes, self.embedded.result(), strict=True))

    def vectors(self) -> dict[uuid.UUID, object]:
        """Give the vectors of all its chunks, by hash."""
        borrowed = {} if self.before is None else self.before.own_vectors()
        return {**self.known, **borrowed, **self.own_vectors()}


def run(work: Work) -> Ending:
    """Embed until no chunk lacks a vector and nothing was written meanwhile. Raises JobFailed."""
    embedder = configured_embedder()
    if embedder is None:
        return Ending.DONE
    space = ensure_live_space(work.workspace, embedder.space)
    live = live_space(work.workspace)
    if live is None or not live.is_made_by(embedder.space):
        raise JobFailed(
            f"The live space is {space}, the configured embedder another; set KEBAB_EMBEDDER back."
        )
    turn_ends_at = time.monotonic() + _TURN_S
    while True:
        work.lease.write(rerun_requested=False)
        work.lease.write(items_total=F("items_done") + count_without_vector(space))
        note_languages(space, embedder.space)
        for batch in batches(space, embedder):
            if work.is_cancelled:
                return Ending.CANCELLED
            if time.monotonic() > turn_ends_at and work.others_wait(embedding=True):
                return Ending.YIELDED
            _store(work, space, batch)
        ensure_index(space)
        if not work.lease.held().filter(rerun_requested=True).exists():
            return Ending.DONE


def batches(space: EmbeddingSpace, embedder: Embedder) -> Iterator[Batch]:
    """Give batch after batch, the next one already being embedded while one is stored."""
    with ThreadPoolExecutor(1, thread_name_prefix="embed") as executor:
        begun = _begin(space, embedder, None, executor)
        while begun is not None:
            ahead = _begin(space, embedder, begun, executor)
            yield begun
            begun = ahead


def _begin(
    space: EmbeddingSpace, embedder: Embedder, before: Batch | None, executor: ThreadPoolExecutor
) -> Batch | None:
    after = _BEFORE_ALL if before is None else before.chunks[-1].chunk_id
    chunks = chunks_without_vector(space, after=after, limit=_BATCH)
    if not chunks:
        return None
    known = known_vectors(space, [chunk.embed_hash for chunk in chunks])
    at_hand = {*known, *(before.hashes if before is not None else ())}
    texts = {c.embed_hash: embedded_text(c.breadcrumb, c.text) for c in chunks if c.embed_hash not in at_hand}
    future = executor.submit(embedder.embed_passages, list(texts.values()))
    unchained = None if before is None else replace(before, before=None)  # else all batches would be kept
    return Batch(chunks=chunks, known=known, hashes=list(texts), embedded=future, before=unchained)


def _store(work: Work, space: EmbeddingSpace, batch: Batch) -> None:
    vectors = batch.vectors()
    with transaction.atomic():
        work.lease.write(
            items_done=F("items_done") + len(batch.chunks),
            # Chunks that came after they were counted are embedded as well.
            items_total=Greatest("items_total", F("items_done") + len(batch.chunks)),
            chunks_done=F("chunks_done") + len(batch.chunks),
            calls=F("calls") + len(batch.hashes),
            stalled_attempts=0,
        )
        store_vectors(space, batch.chunks, vectors)
