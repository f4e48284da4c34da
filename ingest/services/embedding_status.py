"""The embedder of a workspace and its embedding spaces: how full they are, and what holds them."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from django.db import models
from django.db.models import QuerySet
from django.utils import timezone

from ingest.models import OPEN_STATES, Job, JobKind
from ingest.progress import items_per_s
from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from search.access.restrictions import hidden_sources, visible_documents, visible_sources
from search.embedders.by_language import english_share
from search.embedders.configured import allowed_embedders, find_maker, workspace_embedder_name
from search.embedders.spec import DEFAULT
from search.models import Chunk, ChunkVector, EmbeddingSpace, SourceVersion, SpaceState
from search.retrieval.wire_types import Count, Keyword, NonEmpty, NonNegative, Rank, Score
from search.vectors.backfill import count_without_vector
from search.vectors.lifecycle import held_reason, hold

_MOST_ROWS = 200
_WORSE = "The golden queries get worse."
_FORCE = "To switch all the same: kebab reembed switch --force"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceStatus:
    """One embedding space of a workspace: vectors of one model that can be compared with each other."""

    #: Names the space where one is to be retired.
    id: Rank
    model: NonEmpty
    revision: str
    dim: Rank
    query_prefix: str
    passage_prefix: str
    state: SpaceState
    #: Who makes its vectors; None: no embedder of the settings does.
    embedder: str | None
    #: Chunks that have their vector in it.
    vectors: Count
    #: Their share of all chunks.
    coverage: Score
    #: Seconds until it is full at the rate of the job that runs; None: none runs, or it is not filled.
    eta_s: NonNegative | None
    is_indexed: bool
    #: Why it does not go live by itself once it is full.
    held: str | None
    live_until: datetime | None
    #: From then on it is deleted.
    kept_until: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingStatus:
    """The embedder of a workspace, its embedding spaces, how full they are and when they will be."""

    #: The slug.
    workspace: NonEmpty
    #: The name of the one that the workspace is to have.
    embedder: NonEmpty
    #: Share in English of documents, or of searches if smaller, by which `default` chooses; None: it isn't
    #: chosen, no language is known, or sources are hidden from the reader.
    english_share: Score | None
    #: Names that it may choose from, the operator's own first.
    allowed: Annotated[tuple[NonEmpty, ...], Keyword("uniqueItems", True)]
    chunks: Count
    #: The space that searches use; None before the first vector.
    live: SpaceStatus | None
    building: SpaceStatus | None
    #: Kept to go back to, or being deleted; the newest first.
    retired: tuple[SpaceStatus, ...]
    chunks_per_s: NonNegative | None
    #: The embedding job that waits or runs.
    job: uuid.UUID | None
    #: What that job waits for.
    error: str | None


def hold_for_gate(building: EmbeddingSpace, sentence: str) -> None:
    """Hold a complete space, with the quality gate's `sentence` as the reason."""
    hold(building, f"{sentence} {_FORCE}")


def embedding_status(workspace: Workspace, reader: Reader) -> EmbeddingStatus:
    """Return the workspace's embedder and its spaces with their coverage and remaining time.

    Counts cover what `reader` may read. A reader from whom sources are hidden gets no job either: its rate
    and its error would reveal work on those.
    """
    reads_everything = not hidden_sources(workspace, reader).exists()
    chunks_read, vectors_read = _readable_rows(workspace, None if reads_everything else reader)
    # Vectors are counted before chunks, so that concurrent writes can't push coverage above 1.
    vectors = _vectors_by_space(vectors_read)
    chunks = chunks_read.count()
    job = _open_job(workspace) if reads_everything else None
    rate = None if job is None else items_per_s(job)
    spaces = [
        _space_status(
            space,
            (min(vectors.get(space.pk, 0), chunks), chunks),
            rate=rate,
            held=_hold_reason(space, reads_everything),
        )
        for space in EmbeddingSpace.objects.in_workspace(workspace).order_by("-pk")
    ]
    embedder = workspace_embedder_name(workspace)
    share = english_share(workspace) if embedder == DEFAULT and reads_everything else None
    by_state = {state: [each for each in spaces if each.state == state] for state in SpaceState}
    return EmbeddingStatus(
        workspace=workspace.slug,
        embedder=embedder,
        english_share=None if share is None else round(share, 6),
        allowed=tuple(allowed_embedders()),
        chunks=chunks,
        live=next(iter(by_state[SpaceState.LIVE]), None),
        building=next(iter(by_state[SpaceState.BUILDING]), None),
        retired=tuple(by_state[SpaceState.RETIRED]),
        chunks_per_s=rate,
        job=None if job is None else job.pk,
        error=None if job is None else job.error or None,
    )


def model_rows() -> list[Mapping[str, object]]:
    """Return the models of the workspaces with vectors, and what replaces them; of at most 200, by slug."""
    spaces = EmbeddingSpace.objects.select_related("workspace").order_by("workspace__slug")
    building = {space.workspace_id: space for space in spaces.filter(state=SpaceState.BUILDING)}
    live = [
        (space, building.get(space.workspace_id))
        for space in spaces.filter(state=SpaceState.LIVE)[:_MOST_ROWS]
    ]
    return [
        {
            "workspace": space.workspace.slug,
            "embedder": workspace_embedder_name(space.workspace),
            "model": space.model,
            "next": following and following.model,
            "missing": following and count_without_vector(following),
            "held": following and held_reason(following),
        }
        for space, following in live
    ]


def _readable_rows(
    workspace: Workspace, reader: Reader | None
) -> "tuple[QuerySet[Chunk], QuerySet[ChunkVector]]":
    """Return the chunks and the vectors that the reader may read; all for None."""
    chunks, vectors = Chunk.objects.in_workspace(workspace), ChunkVector.objects.in_workspace(workspace)
    if reader is None:
        return chunks, vectors
    readable = visible_sources(workspace, reader).order_by().values("pk")
    versions = SourceVersion.objects.in_workspace(workspace).filter(source__in=readable).values("pk")
    return chunks.filter(document__in=visible_documents(workspace, reader)), vectors.filter(
        version_id__in=versions
    )


def _vectors_by_space(vectors: "QuerySet[ChunkVector]") -> dict[int, int]:
    rows = vectors.values("space").annotate(vectors=models.Count("chunk_id"))
    return dict(rows.values_list("space", "vectors"))


def _open_job(workspace: Workspace) -> Job | None:
    return Job.objects.in_workspace(workspace).filter(kind=JobKind.EMBED, state__in=OPEN_STATES).first()


def _space_status(
    space: EmbeddingSpace, counts: tuple[int, int], *, rate: float | None, held: str | None
) -> SpaceStatus:
    """Return the status of a space by the numbers of its vectors and of all chunks."""
    vectors, chunks = counts
    is_ending = (
        space.state == SpaceState.RETIRED
        and space.retire_at is not None
        and space.retire_at <= timezone.now()
    )
    maker = find_maker(space)
    is_filled = maker is not None and not is_ending
    return SpaceStatus(
        id=space.pk,
        model=space.model,
        revision=space.revision,
        dim=space.dim,
        query_prefix=space.query_prefix,
        passage_prefix=space.passage_prefix,
        state=SpaceState(space.state),
        embedder=None if maker is None else maker[0],
        vectors=vectors,
        coverage=round(vectors / chunks, 6) if chunks else 1.0,
        eta_s=_eta_s(chunks - vectors, rate if is_filled else None),
        is_indexed=space.is_indexed,
        held=held,
        live_until=space.live_until,
        kept_until=space.retire_at,
        created_at=space.created_at,
    )


def _hold_reason(space: EmbeddingSpace, reads_everything: bool) -> str | None:
    """Return why a building space is held; figures over all sources only for readers of all sources."""
    if space.state != SpaceState.BUILDING:
        return None
    return held_reason(space) if reads_everything or not space.held_because else f"{_WORSE} {_FORCE}"


def _eta_s(missing: int, rate: float | None) -> float | None:
    if not missing:
        return 0.0
    return max(0.1, round(missing / rate, 1)) if rate else None
