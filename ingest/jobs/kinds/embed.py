"""Giving the workspace's chunks their vectors, behind lexical search and never in its way."""

import logging
import time
import uuid
from collections.abc import Generator
from concurrent.futures import Future, wait
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest

from ingest.jobs.kinds.embedding_goals import Goal, embedding_goals, switch_when_complete
from ingest.jobs.queue.context import Ending, Work
from ingest.metrics import EMBEDDED, STAGE_SECONDS
from kebab.observability import tracing
from kebab.runtime import failpoints
from kebab.runtime.context_executor import ContextThreads
from kebab.stack.supervisor import worker_stop
from search.embedders.base import Embedder
from search.embedders.configured import embedded_text
from search.mirror import local_mirrors
from search.models import Chunk, EmbeddingSpace
from search.retrieval.errors import EmbedderUnavailable
from search.vectors.backfill import chunks_without_vector, count_without_vector, known_vectors, store_vectors
from search.vectors.deletion import delete_ended
from search.vectors.index import ensure_index
from search.vectors.lifecycle import ended_spaces
from search.vectors.quantised_index import prepare_codes
from search.vectors.spaces import note_languages

logger = logging.getLogger(__name__)

# Chunks a transaction: a killed worker repeats at most twice as many.
_BATCH = 64
# A workspace makes room after this while others wait for their vectors.
_TURN_S = 30.0
# How often work on another space than the live one asks whether that has got new chunks.
_LOOK_S = 5.0
# How often work that waits for an embedder asks whether it is to end.
_WATCH_S = 0.5
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

    def is_embedded(self, *, within_s: float) -> bool:
        """Return whether its vectors are there, or there will be none, after so many seconds at most."""
        return bool(wait([self.embedded], within_s).done)

    def own_vectors(self) -> dict[uuid.UUID, np.ndarray]:
        """Return the vectors that were embedded for this batch, by hash."""
        return dict(zip(self.hashes, self.embedded.result(), strict=True))

    def vectors(self) -> dict[uuid.UUID, object]:
        """Return the vectors of all its chunks, by hash."""
        borrowed = {} if self.before is None else self.before.own_vectors()
        return {**self.known, **borrowed, **self.own_vectors()}


def run(work: Work) -> Ending:
    """Embed until no chunk lacks a vector and nothing was written meanwhile; switch, delete ended spaces.

    Raises JobFailed, EmbedderUnavailable, TurnOver.
    """
    turn_ends_at = time.monotonic() + _TURN_S
    while True:
        work.lease.write(rerun_requested=False)
        ending = _look(work, turn_ends_at)
        if ending is not None:
            return ending
        if not _is_asked_again(work):
            return Ending.DONE


def _look(work: Work, turn_ends_at: float) -> Ending | None:
    """Fill every space as far as it goes; None: all was looked at."""
    goals = embedding_goals(work.workspace)
    work.lease.write(items_total=F("items_done") + sum(count_without_vector(goal.space) for goal in goals))
    unavailable: EmbedderUnavailable | None = None
    for goal in goals:
        note_languages(goal.space, goal.embedder.space)
        try:
            ending = _fill(work, goal, turn_ends_at)
        except EmbedderUnavailable as error:
            # Whose endpoint is dead may have another space built just because of that.
            logger.warning("space %s of workspace %s: %s", goal.space.pk, work.workspace.pk, error)
            unavailable = unavailable or (error if goal.must_be_filled else None)
            continue
        if ending is not None:
            return ending
    switch_when_complete(work.workspace, advance=work.go_on)
    ending = _delete_ended(work)
    if ending is None and unavailable is not None:
        raise unavailable
    return ending


def _fill(work: Work, goal: Goal, turn_ends_at: float) -> Ending | None:
    look_again_at = time.monotonic() + _LOOK_S
    with closing(batches(goal.space, goal.embedder)) as begun:
        for batch in begun:
            while not batch.is_embedded(within_s=_WATCH_S):
                if work.is_cancelled:
                    return Ending.CANCELLED
            if work.is_cancelled:
                return Ending.CANCELLED
            _store(work, goal.space, batch)
            failpoints.reached("after_vectors")
            # Behind the batch: one that takes longer than a turn would else never be kept by anybody.
            is_over = time.monotonic() > turn_ends_at and work.others_wait(embedding=True)
            if is_over or worker_stop.is_asked():
                return Ending.YIELDED
            if not goal.is_live and time.monotonic() > look_again_at:
                # What was written meanwhile is searched in the live space: that goes first.
                if _is_asked_again(work):
                    return None
                look_again_at = time.monotonic() + _LOOK_S
    ensure_index(goal.space)
    if local_mirrors.mirror_files(
        goal.space.workspace_id
    ).directory.exists():  # this node answers searches in it
        prepare_codes(goal.space)
    return None


def _delete_ended(work: Work) -> Ending | None:
    for space in ended_spaces(work.workspace):
        for _ in delete_ended(space):
            if work.is_cancelled:
                return Ending.CANCELLED
            if worker_stop.is_asked():
                return Ending.YIELDED
    return None


def _is_asked_again(work: Work) -> bool:
    return work.lease.held().filter(rerun_requested=True).exists()


def batches(space: EmbeddingSpace, embedder: Embedder) -> Generator[Batch]:
    """Return batch after batch, the next one already being embedded while one is stored.

    Who stops early, closing it, does not wait for what an endpoint still has to answer.
    """
    executor = ContextThreads(1, thread_name_prefix="embed")
    try:
        begun = _begin(space, embedder, None, executor)
        while begun is not None:
            ahead = _begin(space, embedder, begun, executor)
            yield begun
            begun = ahead
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def _begin(
    space: EmbeddingSpace, embedder: Embedder, before: Batch | None, executor: ContextThreads
) -> Batch | None:
    after = _BEFORE_ALL if before is None else before.chunks[-1].chunk_id
    chunks = chunks_without_vector(space, after=after, limit=_BATCH)
    if not chunks:
        return None
    known = known_vectors(space, [chunk.embed_hash for chunk in chunks])
    at_hand = {*known, *(before.hashes if before is not None else ())}
    texts = {c.embed_hash: embedded_text(c.breadcrumb, c.text) for c in chunks if c.embed_hash not in at_hand}
    future = executor.submit(_embedded, embedder, list(texts.values()))
    unchained = None if before is None else replace(before, before=None)  # else all batches would be kept
    return Batch(chunks=chunks, known=known, hashes=list(texts), embedded=future, before=unchained)


def _embedded(embedder: Embedder, texts: list[str]) -> "np.ndarray":
    with tracing.span("ingest.embed", texts=len(texts)), STAGE_SECONDS.timed("embed"):
        return embedder.embed_passages(texts)


def _store(work: Work, space: EmbeddingSpace, batch: Batch) -> None:
    vectors = batch.vectors()
    with tracing.span("ingest.store_vectors", chunks=len(batch.chunks)), transaction.atomic():
        work.lease.write(
            items_done=F("items_done") + len(batch.chunks),
            # Chunks that came after they were counted are embedded as well.
            items_total=Greatest("items_total", F("items_done") + len(batch.chunks)),
            chunks_done=F("chunks_done") + len(batch.chunks),
            calls=F("calls") + len(batch.hashes),
            stalled_attempts=0,
            error="",
        )
        store_vectors(space, batch.chunks, vectors)
    EMBEDDED.add(amount=len(batch.chunks))
