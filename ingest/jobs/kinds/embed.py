"""Embedding jobs: vectors for the chunks of a workspace, with lower priority than lexical search."""

import logging
import time
import uuid
from collections.abc import Generator
from concurrent.futures import Future, wait
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Greatest

from ingest.errors import JobFailed
from ingest.jobs.queue.context import Ending, JobContext
from ingest.metrics import EMBEDDED, STAGE_SECONDS
from ingest.services.embedding_status import hold_for_gate
from kebab.identity.models import Workspace
from kebab.observability import tracing
from kebab.people import audit
from kebab.runtime import failpoints
from kebab.runtime.context_executor import ContextExecutor
from kebab.stack.supervisor import worker_stop
from search.embedders.base import Embedder
from search.embedders.by_language import LOCAL_KINDS, english_share
from search.embedders.configured import embedded_text, find_maker, workspace_embedder, workspace_embedder_name
from search.embedders.spec import DEFAULT
from search.errors import SpaceConflict
from search.evaluation.gate import ACTOR, Advance
from search.evaluation.guard import space_verdict
from search.mirror import local_mirrors
from search.models import Chunk, EmbeddingSpace, SpaceState
from search.retrieval.errors import EmbedderUnavailable
from search.vectors.backfill import (
    batches_without_vector,
    count_without_vector,
    find_vectors_by_hash,
    store_vectors,
)
from search.vectors.deletion import delete_expired
from search.vectors.index import ensure_index
from search.vectors.lifecycle import (
    expired_spaces,
    filled_spaces,
    held_reason,
    keep_live,
    lock_spaces,
    start_build,
    switch,
)
from search.vectors.quantised_index import prepare_codes
from search.vectors.spaces import ensure_live_space, is_made_by, update_known_share

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingGoal:
    """A space to fill with a vector of every chunk, and its embedder."""

    space: EmbeddingSpace
    embedder: Embedder

    @property
    def is_live(self) -> bool:
        """Return whether searches use it."""
        return self.space.state == SpaceState.LIVE

    @property
    def must_be_filled(self) -> bool:
        """Return whether the space is live or building; a retired one is filled if its embedder answers."""
        return self.space.state != SpaceState.RETIRED


def embedding_goals(workspace: Workspace) -> list[EmbeddingGoal]:
    """Return the spaces to fill, the live one first; none when the workspace has no embedder.

    Raises EmbedderUnavailable; JobFailed when no known embedder fits any space that must be filled.
    """
    wanted = workspace_embedder(workspace)
    if wanted is None:
        return []
    if not EmbeddingSpace.objects.in_workspace(workspace).filter(state=SpaceState.BUILDING).exists():
        live = ensure_live_space(workspace, wanted.space)
        if live.model in LOCAL_KINDS and not is_made_by(live, wanted.space):
            _follow_languages(live)
    spaces = filled_spaces(workspace)
    makers = [(space, find_maker(space)) for space in spaces]
    goals = [EmbeddingGoal(space=space, embedder=maker[1]) for space, maker in makers if maker is not None]
    if not any(goal.must_be_filled for goal in goals):
        raise JobFailed(
            f"The live space is {spaces[0]}, the configured embedder another. Set KEBAB_EMBEDDER back, or"
            " name the other in KEBAB_EMBEDDERS and run: kebab reembed"
        )
    return goals


def _follow_languages(live: EmbeddingSpace) -> None:
    """Start building the model of the workspace's languages beside the live one, if `default` is chosen."""
    with transaction.atomic():
        lock_spaces(live.workspace_id)
        # Read after the lock: others may have built or chosen until then.
        workspace = Workspace.objects.get(pk=live.workspace_id)
        spaces = EmbeddingSpace.objects.in_workspace(workspace)
        states = dict(spaces.filter(Q(pk=live.pk) | Q(state=SpaceState.BUILDING)).values_list("pk", "state"))
        if workspace_embedder_name(workspace) != DEFAULT or states != {live.pk: SpaceState.LIVE}:
            return
        wanted = workspace_embedder(workspace)
        if wanted is not None and not is_made_by(live, wanted.space):
            space = start_build(workspace, wanted.space)
            facts = {"space": space.pk, "english_share": english_share(workspace)}
            audit.record_person("kebab", "embedding.building", str(space), workspace=workspace, **facts)


def switch_when_complete(workspace: Workspace, *, advance: Advance = lambda: None) -> None:
    """Make the building space live once every chunk has a vector in it, unless it is held.

    It is held if the golden queries get worse in it. `advance` is called after each query; its errors pass.
    It expires instead if the workspace has chosen the live model meanwhile.
    """
    spaces = EmbeddingSpace.objects.in_workspace(workspace)
    building = spaces.filter(state=SpaceState.BUILDING).first()
    if building is None or count_without_vector(building) or held_reason(building) is not None:
        return
    verdict = space_verdict(workspace, building, advance=advance)
    if not verdict.passes:
        logger.warning("workspace %s: %s is held. %s", workspace.pk, building, verdict.sentence)
        with transaction.atomic():
            hold_for_gate(building, verdict.sentence)
            facts = {"space": building.pk, "quality_gate": verdict.figures}
            audit.record_person(ACTOR, "embedding.held", str(building), workspace=workspace, **facts)
        return
    try:
        with transaction.atomic():
            if not _keep_chosen(workspace):
                switch(workspace)
    except SpaceConflict as error:  # a chunk was written meanwhile; its writer requests another run
        logger.info("workspace %s: %s", workspace.pk, error)


def _keep_chosen(workspace: Workspace) -> bool:
    """Expire the building space if the workspace has chosen the live one's model; return whether it has."""
    lock_spaces(workspace)
    now = Workspace.objects.get(pk=workspace.pk)
    wanted = None if workspace_embedder_name(now) == DEFAULT else workspace_embedder(now)
    return wanted is not None and keep_live(now, wanted.space) is not None


# Chunks per transaction: after a killed worker at most twice as many are embedded again.
_BATCH = 64
# A job yields after this time while other workspaces wait for their vectors.
_TURN_S = 30.0
# While a space that is not live is filled, interval of checks for new chunks in the live one.
_LOOK_S = 5.0
# While the embedder is busy, interval of checks for cancellation.
_WATCH_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingBatch:
    """A batch of chunks without a vector: known vectors of equal texts, and the texts being embedded."""

    chunks: list[Chunk]
    known: dict[uuid.UUID, object]
    hashes: list[uuid.UUID]
    embedded: "Future[np.ndarray]"
    #: The previous batch, which may be embedding texts that this one has too.
    before: "EmbeddingBatch | None"

    def is_embedded(self, *, within_s: float) -> bool:
        """Wait `within_s` seconds at most; return whether embedding has ended, with or without success."""
        return bool(wait([self.embedded], within_s).done)

    def own_vectors(self) -> dict[uuid.UUID, np.ndarray]:
        """Return the vectors that were embedded for this batch, by hash."""
        return dict(zip(self.hashes, self.embedded.result(), strict=True))

    def vectors(self) -> dict[uuid.UUID, object]:
        """Return the vectors of all its chunks, by hash."""
        borrowed = {} if self.before is None else self.before.own_vectors()
        return {**self.known, **borrowed, **self.own_vectors()}


def run(context: JobContext) -> Ending:
    """Embed until no chunk lacks a vector and none was written meanwhile; switch spaces, delete ended ones.

    Raises JobFailed, EmbedderUnavailable, JobYielded.
    """
    turn_ends_at = time.monotonic() + _TURN_S
    while True:
        context.lease.write(rerun_requested=False)
        ending = _fill_spaces(context, turn_ends_at)
        if ending is not None:
            return ending
        if not _is_rerun_requested(context):
            return Ending.DONE


def _fill_spaces(context: JobContext, turn_ends_at: float) -> Ending | None:
    """Fill every space as far as possible; return None when all were visited."""
    goals = embedding_goals(context.workspace)
    context.lease.write(items_total=F("items_done") + sum(count_without_vector(goal.space) for goal in goals))
    unavailable: EmbedderUnavailable | None = None
    for goal in goals:
        update_known_share(goal.space, goal.embedder.space)
        try:
            ending = _fill_space(context, goal, turn_ends_at)
        except EmbedderUnavailable as error:
            # Go on: another space may be building just because the endpoint of this one is dead.
            logger.warning("space %s of workspace %s: %s", goal.space.pk, context.workspace.pk, error)
            unavailable = unavailable or (error if goal.must_be_filled else None)
            continue
        if ending is not None:
            return ending
    switch_when_complete(context.workspace, advance=context.raise_if_stopped)
    ending = _delete_ended_spaces(context)
    if ending is None and unavailable is not None:
        raise unavailable
    return ending


def _fill_space(context: JobContext, goal: EmbeddingGoal, turn_ends_at: float) -> Ending | None:
    look_again_at = time.monotonic() + _LOOK_S
    with closing(embed_batches(goal.space, goal.embedder)) as pending:
        for batch in pending:
            while not batch.is_embedded(within_s=_WATCH_S):
                if context.is_cancelled:
                    return Ending.CANCELLED
            if context.is_cancelled:
                return Ending.CANCELLED
            _store_batch(context, goal.space, batch)
            failpoints.reach("after_vectors")
            # Checked after storing: a batch that takes longer than a turn would never be stored otherwise.
            is_over = time.monotonic() > turn_ends_at and context.others_wait(embedding=True)
            if is_over or worker_stop.is_requested():
                return Ending.YIELDED
            if not goal.is_live and time.monotonic() > look_again_at:
                # New chunks are searched in the live space, which is filled first.
                if _is_rerun_requested(context):
                    return None
                look_again_at = time.monotonic() + _LOOK_S
    ensure_index(goal.space)
    if local_mirrors.mirror_files(
        goal.space.workspace_id
    ).directory.exists():  # this node answers searches in it
        prepare_codes(goal.space)
    return None


def _delete_ended_spaces(context: JobContext) -> Ending | None:
    for space in expired_spaces(context.workspace):
        for _ in delete_expired(space):
            if (ending := context.ending()) is not None:
                return ending
    return None


def _is_rerun_requested(context: JobContext) -> bool:
    return context.lease.fenced_rows().filter(rerun_requested=True).exists()


def embed_batches(space: EmbeddingSpace, embedder: Embedder) -> Generator[EmbeddingBatch]:
    """Yield batches; the next one is already being embedded while the caller stores one.

    Closing the generator early does not wait for the answers of an endpoint.
    """
    executor = ContextExecutor(1, thread_name_prefix="embed")
    before: EmbeddingBatch | None = None
    try:
        for chunks in batches_without_vector(space, size=_BATCH):
            known = find_vectors_by_hash(space, [chunk.embed_hash for chunk in chunks])
            at_hand = {*known, *(before.hashes if before is not None else ())}
            texts = {
                c.embed_hash: embedded_text(c.breadcrumb, c.text)
                for c in chunks
                if c.embed_hash not in at_hand
            }
            future = executor.submit(_embed_texts, embedder, list(texts.values()))
            # Chained to each other, all batches would stay in memory.
            unchained = None if before is None else replace(before, before=None)
            batch = EmbeddingBatch(
                chunks=chunks, known=known, hashes=list(texts), embedded=future, before=unchained
            )
            if before is not None:
                yield before
            before = batch
        if before is not None:
            yield before
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def _embed_texts(embedder: Embedder, texts: list[str]) -> "np.ndarray":
    with tracing.span("ingest.embed", texts=len(texts)), STAGE_SECONDS.time("embed"):
        return embedder.embed_passages(texts)


def _store_batch(context: JobContext, space: EmbeddingSpace, batch: EmbeddingBatch) -> None:
    vectors = batch.vectors()
    with tracing.span("ingest.store_vectors", chunks=len(batch.chunks)), transaction.atomic():
        context.lease.write(
            items_done=F("items_done") + len(batch.chunks),
            # Chunks that were written after the count are embedded as well.
            items_total=Greatest("items_total", F("items_done") + len(batch.chunks)),
            chunks_done=F("chunks_done") + len(batch.chunks),
            calls=F("calls") + len(batch.hashes),
            stalled_attempts=0,
            error="",
        )
        store_vectors(space, batch.chunks, vectors)
    EMBEDDED.add(amount=len(batch.chunks))
