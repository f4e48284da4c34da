"""How far this node's mirrors, and all workspaces' vectors, are behind: asked when metrics are read.

A workspace is looked at again when its log or its vectors have moved: at rest ten thousand of them are one
query. Series of single workspaces are those of the worst ones alone.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from kebab.observability.metrics.collectors import Question, Sample, gauge, register_question
from kebab.people.models import Workspace
from search.corpus.changelog import KEEP
from search.mirror import local_mirrors
from search.mirror.files import workspaces_on_this_node
from search.models import Change, Chunk, EmbeddingSpace, SpaceState
from search.vectors.backfill import count_without_vector

#: So many workspaces have series of their own.
MOST_SHOWN = 100
# Workspaces that are counted anew in one round; the others have their turn in the next.
_MOST_COUNTED = 200
_PRUNED_AFTER_S = KEEP.total_seconds()

MIRRORS = gauge("kebab_mirrors", "Mirrors on this node.")
LAGGING = gauge("kebab_mirrors_lagging", "Those of them that are behind the log.")
LAG = gauge("kebab_mirror_lag_changes_max", "By how many changes the worst one is.")
LAG_SECONDS = gauge("kebab_mirror_lag_seconds_max", "For how long the worst one has lacked a change.")
LAG_OF = gauge("kebab_mirror_lag_changes", "By how many changes a mirror is behind.", "workspace")
LAG_SECONDS_OF = gauge("kebab_mirror_lag_seconds", "For how long it has lacked one.", "workspace")
WORKSPACES = gauge("kebab_workspaces", "Workspaces.")
CHUNKS = gauge("kebab_chunks", "Chunks of workspaces whose vectors are looked at.")
MISSING = gauge("kebab_chunks_without_vector", "Chunks that their live embedding space has no vector of yet.")
COVERAGE = gauge(
    "kebab_embedding_coverage_ratio_min", "The least share of a workspace's chunks with a vector."
)
MISSING_OF = gauge("kebab_workspace_chunks_without_vector", "Its chunks without a vector.", "workspace")
COVERAGE_OF = gauge("kebab_workspace_embedding_coverage_ratio", "Its share of chunks with one.", "workspace")


def register() -> None:
    """Have it told with the metrics."""
    register_question("mirrors", Question(store="postgres", ask=_Lags().now))
    register_question("coverage", Question(store="postgres", ask=_Coverage().now, every_s=10.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lag:
    workspace_id: uuid.UUID
    head_seq: int
    applied_seq: int

    @property
    def changes(self) -> int:
        return self.head_seq - self.applied_seq


class _Lags:
    """Remembers how far each mirror has come: it is read again only where the log has gone on."""

    def __init__(self) -> None:
        self._applied: dict[uuid.UUID, int] = {}

    def now(self) -> Iterator[Sample]:
        """Return the lags."""
        present = workspaces_on_this_node(settings.KEBAB_MIRROR_DIR)
        heads = dict(Workspace.objects.filter(pk__in=present).values_list("pk", "head_seq"))
        lags = sorted(self._lags(heads), key=lambda lag: lag.changes, reverse=True)
        ages_s = _ages_s(lags[:MOST_SHOWN])
        yield Sample(family=MIRRORS, amount=len(heads))
        yield Sample(family=LAGGING, amount=len(lags))
        yield Sample(family=LAG, amount=lags[0].changes if lags else 0)
        yield Sample(family=LAG_SECONDS, amount=max(ages_s.values(), default=0.0))
        for lag in lags[:MOST_SHOWN]:
            values = (str(lag.workspace_id),)
            yield Sample(family=LAG_OF, values=values, amount=lag.changes)
            yield Sample(family=LAG_SECONDS_OF, values=values, amount=ages_s[lag.workspace_id])

    def _lags(self, heads: Mapping[uuid.UUID, int]) -> Iterator[_Lag]:
        self._applied = {id_: seq for id_, seq in self._applied.items() if id_ in heads}
        for id_, head_seq in heads.items():
            if self._applied.get(id_) == head_seq:
                continue
            applied = self._applied[id_] = local_mirrors.mirror_seq(id_)
            if applied < head_seq:
                yield _Lag(workspace_id=id_, head_seq=head_seq, applied_seq=applied)


def _ages_s(lags: Sequence[_Lag]) -> dict[uuid.UUID, float]:
    """Return how long ago the first change was made that each mirror lacks; one that is pruned is as old."""
    known = {lag.workspace_id: _PRUNED_AFTER_S for lag in lags}
    lacked = [Q(workspace=lag.workspace_id, seq=lag.applied_seq + 1) for lag in lags]
    if not lacked:
        return {}
    now = timezone.now()
    rows = Change.objects.filter(reduce(or_, lacked)).values_list("workspace_id", "at")
    return known | {id_: max(0.0, (now - at).total_seconds()) for id_, at in rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Count:
    #: The log's and the space's numbers when it was counted.
    seen: tuple[int, int]
    chunks: int
    missing: int

    @property
    def coverage(self) -> float:
        return 1.0 if not self.chunks else 1 - self.missing / self.chunks


class _Coverage:
    """Remembers each workspace's counts until its documents or its vectors change."""

    def __init__(self) -> None:
        self._counts: dict[uuid.UUID, _Count] = {}

    def now(self) -> Iterator[Sample]:
        """Return the coverage of live embedding spaces."""
        self._count()
        counts = self._counts
        yield Sample(family=WORKSPACES, amount=Workspace.objects.count())
        yield Sample(family=CHUNKS, amount=sum(count.chunks for count in counts.values()))
        yield Sample(family=MISSING, amount=sum(count.missing for count in counts.values()))
        yield Sample(family=COVERAGE, amount=min((c.coverage for c in counts.values()), default=1.0))
        lacking = [(id_, count) for id_, count in counts.items() if count.missing]
        for id_, count in sorted(lacking, key=lambda each: each[1].coverage)[:MOST_SHOWN]:
            yield Sample(family=MISSING_OF, values=(str(id_),), amount=count.missing)
            yield Sample(family=COVERAGE_OF, values=(str(id_),), amount=count.coverage)

    def _count(self) -> None:
        live = EmbeddingSpace.objects.filter(state=SpaceState.LIVE).select_related("workspace")
        spaces = {space.workspace_id: space for space in live}
        self._counts = {id_: count for id_, count in self._counts.items() if id_ in spaces}
        changed = [space for space in spaces.values() if self._is_changed(space)]
        for space in changed[:_MOST_COUNTED]:
            self._counts[space.workspace_id] = _Count(
                seen=_seen(space),
                chunks=Chunk.objects.in_workspace(space.workspace_id).count(),
                missing=count_without_vector(space),
            )

    def _is_changed(self, space: EmbeddingSpace) -> bool:
        known = self._counts.get(space.workspace_id)
        return known is None or known.seen != _seen(space)


def _seen(space: EmbeddingSpace) -> tuple[int, int]:
    return space.workspace.head_seq, space.epoch
