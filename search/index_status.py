"""How far a workspace's indexes have come: this node's mirror, and the vectors of each space."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.utils import timezone

from kebab.people.models import Workspace
from search.mirror import local_mirrors
from search.models import Change, Chunk, EmbeddingSpace
from search.vectors.backfill import count_without_vector
from search.vectors.lifecycle import filled_spaces


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorStanding:
    """How far this node's mirror has followed the change log."""

    node: str
    head_seq: int
    #: 0 where there is no mirror.
    applied_seq: int
    #: Since when the oldest change waits that it lacks; 0 when it lacks none.
    lag_s: float

    @property
    def lag(self) -> int:
        """Changes that it lacks."""
        return max(0, self.head_seq - self.applied_seq)

    @property
    def is_missing(self) -> bool:
        """Return whether there is something to follow and no mirror."""
        return bool(self.head_seq) and not self.applied_seq


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceStanding:
    """How many of a workspace's chunks have a vector in a space."""

    model: str
    state: str
    chunks: int
    missing: int

    @property
    def percent(self) -> int:
        """Of the chunks, rounded down: 100 is all of them."""
        return 100 if not self.missing else 100 * (self.chunks - self.missing) // max(1, self.chunks)


def mirror_standing(workspace: Workspace) -> MirrorStanding:
    """Return how far this node's mirror is."""
    applied = local_mirrors.mirror_seq(workspace.pk)
    waiting = Change.objects.in_workspace(workspace).filter(seq__gt=applied).order_by("seq")
    oldest = waiting.values_list("at", flat=True).first()
    return MirrorStanding(
        node=settings.KEBAB_NODE_ID,
        head_seq=workspace.head_seq,
        applied_seq=applied,
        lag_s=0.0 if oldest is None else max(0.0, (timezone.now() - oldest).total_seconds()),
    )


def space_standings(workspace: Workspace) -> Sequence[SpaceStanding]:
    """Return the coverage of the spaces that are filled, the live one first."""
    chunks = Chunk.objects.in_workspace(workspace).count()
    return [_standing(space, chunks) for space in filled_spaces(workspace)]


def _standing(space: EmbeddingSpace, chunks: int) -> SpaceStanding:
    missing = min(count_without_vector(space), chunks)
    return SpaceStanding(model=space.model, state=space.state, chunks=chunks, missing=missing)
