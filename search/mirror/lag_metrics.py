"""Metrics of the lag of this node's mirrors and of the coverage of all workspaces' vectors.

They are collected at scrape time. A workspace is counted again only when its log or its vectors have changed:
ten thousand idle workspaces take one query. Only the worst workspaces have series of their own.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from kebab.identity.models import Workspace
from kebab.observability.metrics.collectors import Collector, Sample, declare_gauge
from search.corpus.replace import KEEP
from search.mirror import local_mirrors
from search.mirror.files import workspaces_on_this_node
from search.models import Change, Chunk, EmbeddingSpace, SpaceState
from search.vectors.backfill import count_without_vector

#: Number of workspaces with series of their own.
MOST_SHOWN = 100
# Workspaces counted again in one scrape; the others follow in the next.
_MOST_COUNTED = 200
_PRUNED_AFTER_S = KEEP.total_seconds()

MIRRORS = declare_gauge("kebab_mirrors", "Number of mirrors on this node.")
LAGGING = declare_gauge("kebab_mirrors_lagging", "Number of mirrors behind the change log.")
LAG = declare_gauge("kebab_mirror_lag_changes_max", "Largest lag of a mirror, in changes.")
LAG_SECONDS = declare_gauge("kebab_mirror_lag_seconds_max", "Largest lag of a mirror, in seconds.")
LAG_OF = declare_gauge("kebab_mirror_lag_changes", "Lag of a workspace's mirror, in changes.", "workspace")
LAG_SECONDS_OF = declare_gauge(
    "kebab_mirror_lag_seconds", "Lag of a workspace's mirror, in seconds.", "workspace"
)
WORKSPACES = declare_gauge("kebab_workspaces", "Number of workspaces.")
CHUNKS = declare_gauge("kebab_chunks", "Number of chunks in workspaces with an embedding space.")
MISSING = declare_gauge(
    "kebab_chunks_without_vector", "Number of chunks without a vector in the live embedding space."
)
COVERAGE = declare_gauge(
    "kebab_embedding_coverage_ratio_min", "Smallest share of chunks with a vector in any workspace."
)
MISSING_OF = declare_gauge(
    "kebab_workspace_chunks_without_vector", "Number of chunks of a workspace without a vector.", "workspace"
)
COVERAGE_OF = declare_gauge(
    "kebab_workspace_embedding_coverage_ratio", "Share of chunks of a workspace with a vector.", "workspace"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lag:
    workspace_id: uuid.UUID
    head_seq: int
    applied_seq: int

    @property
    def changes(self) -> int:
        return self.head_seq - self.applied_seq


class _LagCollector:
    """Collector of mirror lags, which reads a mirror's position again only after its log has grown."""

    def __init__(self) -> None:
        self._applied: dict[uuid.UUID, int] = {}

    def samples(self) -> Iterator[Sample]:
        """Return samples of the mirrors' lags."""
        present = workspaces_on_this_node(settings.KEBAB_MIRROR_DIR)
        heads = dict(Workspace.objects.filter(pk__in=present).values_list("pk", "head_seq"))
        lags = sorted(self._lags(heads), key=lambda lag: lag.changes, reverse=True)
        ages_s = _lag_ages_s(lags[:MOST_SHOWN])
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


def _lag_ages_s(lags: Sequence[_Lag]) -> dict[uuid.UUID, float]:
    """Return the age of the first change that each mirror lacks; the retention time for a pruned change."""
    oldest = {lag.workspace_id: _PRUNED_AFTER_S for lag in lags}
    missing = [Q(workspace=lag.workspace_id, seq=lag.applied_seq + 1) for lag in lags]
    if not missing:
        return {}
    now = timezone.now()
    rows = Change.objects.filter(reduce(or_, missing)).values_list("workspace_id", "at")
    return oldest | {id_: max(0.0, (now - at).total_seconds()) for id_, at in rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Count:
    #: Head of the log and epoch of the space when it was counted.
    version: tuple[int, int]
    chunks: int
    missing: int

    @property
    def coverage(self) -> float:
        return 1.0 if not self.chunks else 1 - self.missing / self.chunks


class _CoverageCollector:
    """Collector of vector coverage, which caches counts until a workspace's documents or vectors change."""

    def __init__(self) -> None:
        self._counts: dict[uuid.UUID, _Count] = {}

    def samples(self) -> Iterator[Sample]:
        """Return samples of the coverage of live embedding spaces."""
        self._recount()
        counts = self._counts
        yield Sample(family=WORKSPACES, amount=Workspace.objects.count())
        yield Sample(family=CHUNKS, amount=sum(count.chunks for count in counts.values()))
        yield Sample(family=MISSING, amount=sum(count.missing for count in counts.values()))
        yield Sample(family=COVERAGE, amount=min((c.coverage for c in counts.values()), default=1.0))
        lacking = [(id_, count) for id_, count in counts.items() if count.missing]
        for id_, count in sorted(lacking, key=lambda each: each[1].coverage)[:MOST_SHOWN]:
            yield Sample(family=MISSING_OF, values=(str(id_),), amount=count.missing)
            yield Sample(family=COVERAGE_OF, values=(str(id_),), amount=count.coverage)

    def _recount(self) -> None:
        live = EmbeddingSpace.objects.filter(state=SpaceState.LIVE).select_related("workspace")
        spaces = {space.workspace_id: space for space in live}
        self._counts = {id_: count for id_, count in self._counts.items() if id_ in spaces}
        changed = [space for space in spaces.values() if self._is_changed(space)]
        for space in changed[:_MOST_COUNTED]:
            self._counts[space.workspace_id] = _Count(
                version=_version(space),
                chunks=Chunk.objects.in_workspace(space.workspace_id).count(),
                missing=count_without_vector(space),
            )

    def _is_changed(self, space: EmbeddingSpace) -> bool:
        known = self._counts.get(space.workspace_id)
        return known is None or known.version != _version(space)


def _version(space: EmbeddingSpace) -> tuple[int, int]:
    return space.workspace.head_seq, space.epoch


COLLECTORS = (
    ("mirrors", Collector(store="postgres", collect=_LagCollector().samples)),
    ("coverage", Collector(store="postgres", collect=_CoverageCollector().samples, interval_s=10.0)),
)
