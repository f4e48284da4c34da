"""Embedding spaces of a workspace."""

from dataclasses import dataclass

from django.db import IntegrityError, transaction

from kebab.people.models import Workspace
from search.embedders.base import SpaceIdentity
from search.models import EmbeddingSpace, SpaceState


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSpace:
    """The space that searches use now."""

    space_id: int
    model: str
    revision: str
    dim: int
    epoch: int
    languages: tuple[str, ...]
    is_indexed: bool

    @property
    def index_version(self) -> str:
        """Names what produced the vectors, and their state: `vec-<model>-<revision>-<dim>.e<epoch>`."""
        return f"vec-{self.model}-{self.revision}-{self.dim}.e{self.epoch}"


def live_space(workspace: Workspace) -> LiveSpace | None:
    """Give the workspace's live space, None before its first vector."""
    row = (
        EmbeddingSpace.objects.in_workspace(workspace)
        .filter(state=SpaceState.LIVE)
        .values_list("id", "model", "revision", "dim", "epoch", "languages", "is_indexed")
        .first()
    )
    if row is None:
        return None
    space_id, model, revision, dim, epoch, languages, is_indexed = row
    return LiveSpace(
        space_id=space_id,
        model=model,
        revision=revision,
        dim=dim,
        epoch=epoch,
        languages=tuple(languages),
        is_indexed=is_indexed,
    )


def ensure_live_space(workspace: Workspace, identity: SpaceIdentity) -> EmbeddingSpace:
    """Give the workspace's live space, made from `identity` when it has none."""
    spaces = EmbeddingSpace.objects.in_workspace(workspace).filter(state=SpaceState.LIVE)
    space = spaces.first()
    if space is not None:
        return space
    try:
        with transaction.atomic():
            return EmbeddingSpace.objects.create(
                workspace=workspace,
                model=identity.model,
                revision=identity.revision,
                dim=identity.dim,
                query_prefix=identity.query_prefix,
                passage_prefix=identity.passage_prefix,
                languages=list(identity.languages),
            )
    except IntegrityError:  # another worker was first
        return spaces.get()


def is_space_of(space: EmbeddingSpace, identity: SpaceIdentity) -> bool:
    """Whether vectors of the embedder `identity` may be compared with those of `space`."""
    return (space.model, space.revision, space.dim, space.query_prefix, space.passage_prefix) == (
        identity.model,
        identity.revision,
        identity.dim,
        identity.query_prefix,
        identity.passage_prefix,
    )
