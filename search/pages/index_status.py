"""Status of a workspace's indexes: the lag of this node's mirror, and the coverage of embedding spaces."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.utils import timezone

from kebab.identity.models import Workspace
from search.mirror import local_mirrors
from search.models import Change, Chunk, EmbeddingSpace
from search.vectors.backfill import count_without_vector
from search.vectors.lifecycle import filled_spaces


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorStatus:
    """The position of this node's mirror in the change log."""

    node: str
    head_seq: int
    #: 0 without a mirror.
    applied_seq: int
    #: Age of the oldest change that it lacks; 0 without any.
    lag_s: float

    @property
    def lag(self) -> int:
        """Return the number of changes that it lacks."""
        return max(0, self.head_seq - self.applied_seq)

    @property
    def is_missing(self) -> bool:
        """Return whether the log has changes and there is no mirror."""
        return bool(self.head_seq) and not self.applied_seq


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceStatus:
    """The coverage of a workspace's chunks by the vectors of a space."""

    model: str
    state: str
    chunks: int
    missing: int

    @property
    def percent(self) -> int:
        """Return the percentage of chunks with a vector, rounded down: 100 means all."""
        return 100 if not self.missing else 100 * (self.chunks - self.missing) // max(1, self.chunks)


def mirror_status(workspace: Workspace) -> MirrorStatus:
    """Return the position and lag of this node's mirror of a workspace."""
    applied = local_mirrors.mirror_seq(workspace.pk)
    waiting = Change.objects.in_workspace(workspace).filter(seq__gt=applied).order_by("seq")
    oldest = waiting.values_list("at", flat=True).first()
    return MirrorStatus(
        node=settings.KEBAB_NODE_ID,
        head_seq=workspace.head_seq,
        applied_seq=applied,
        lag_s=0.0 if oldest is None else max(0.0, (timezone.now() - oldest).total_seconds()),
    )


def space_statuses(workspace: Workspace) -> Sequence[SpaceStatus]:
    """Return the coverage of the spaces that are filled, the live one first."""
    chunks = Chunk.objects.in_workspace(workspace).count()
    return [_space_status(space, chunks) for space in filled_spaces(workspace)]


def _space_status(space: EmbeddingSpace, chunks: int) -> SpaceStatus:
    missing = min(count_without_vector(space), chunks)
    return SpaceStatus(model=space.model, state=space.state, chunks=chunks, missing=missing)
