"""Optional stages after fusion: per-file cap, rerank, cutoff."""

import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from search.retrieval.fusion.cutoff import plain_cutoff, smart_cutoff
from search.retrieval.fusion.document_cap import TOP_M, cap_per_file
from search.retrieval.fusion.ranking import RankedEntry
from search.retrieval.fusion.rerank import NOT_CONFIGURED, Reranker, rerank_entries
from search.retrieval.types import RerankOutcome, SearchQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """The stages that follow the fusion of a query."""

    #: Maximum number of candidates of one document; 0 or less: unlimited.
    per_file_cap: int = 0
    rerank: bool = False
    cutoff: bool = False

    @classmethod
    def of(cls, query: SearchQuery, pre_rerank_max_per_file: int) -> "Stages":
        """Return the stages that `query` requests; a rerank or cutoff implies a cap."""
        implied = pre_rerank_max_per_file if query.rerank or query.cutoff else 0
        cap = implied if query.per_file_cap is None else query.per_file_cap
        return cls(per_file_cap=cap, rerank=query.rerank, cutoff=query.cutoff)

    @property
    def are_any(self) -> bool:
        """Return whether any stage may change the fused list."""
        return self.per_file_cap > 0 or self.rerank or self.cutoff

    def window(self, k: int) -> int:
        """Return the number of fused candidates considered for `k` hits.

        A rerank considers the first 60 whatever `k` is, so that its cost has a bound and a shorter list is
        the start of a longer one; later candidates are not in the list.
        """
        if self.rerank:
            return TOP_M
        return max(k, TOP_M) if self.are_any else k


@dataclass(frozen=True, slots=True, kw_only=True)
class PostFusionResult:
    """The list after the stages, and the chunks that each stage removed."""

    #: Ranks 1, 2, 3, …
    entries: tuple[RankedEntry, ...]
    #: None: no rerank was requested.
    rerank: RerankOutcome | None
    #: Chunk ids, in fused order.
    over_cap: tuple[str, ...]
    #: Chunk ids, in the order of the list that was cut.
    below_cutoff: tuple[str, ...]
    #: By stage: `cap`, `rerank`, `cutoff`; a stage that did not run is not in it.
    timings_ms: Mapping[str, float]


def apply_stages(
    entries: Sequence[RankedEntry],
    stages: Stages,
    *,
    query: str,
    document_of: Mapping[str, Hashable],
    passages_of: Callable[[Sequence[str]], Mapping[str, str]],
    reranker: Reranker | None,
    clock: Callable[[], float] = time.perf_counter,
) -> PostFusionResult:
    """Apply cap, rerank and cutoff to `entries`, the fused candidates in `stages.window`, best first.

    `document_of` identifies each candidate's document. `passages_of` returns the texts for the reranker by
    chunk id; a candidate without one was deleted meanwhile and is left out. `query` is the rerank channel.
    """
    timings: dict[str, float] = {}
    kept: Sequence[RankedEntry] = entries
    outcome = None
    if stages.per_file_cap > 0:
        with _measure("cap", timings, clock):
            kept = cap_per_file(
                entries, file_of=lambda entry: document_of[entry.chunk_id], cap=stages.per_file_cap
            )
    over_cap = _removed_ids(entries, kept)
    if stages.rerank:
        with _measure("rerank", timings, clock):
            kept, outcome = _rerank(kept, passages_of, query, reranker)
    n_kept = len(kept)
    if stages.cutoff:
        with _measure("cutoff", timings, clock):
            n_kept = _cutoff_size(kept, outcome)
    return PostFusionResult(
        entries=_renumber(kept[:n_kept]),
        rerank=outcome,
        over_cap=over_cap,
        below_cutoff=tuple(entry.chunk_id for entry in kept[n_kept:]),
        timings_ms=timings,
    )


def _rerank(
    entries: Sequence[RankedEntry],
    passages_of: Callable[[Sequence[str]], Mapping[str, str]],
    query: str,
    reranker: Reranker | None,
) -> tuple[tuple[RankedEntry, ...], RerankOutcome]:
    if reranker is None:
        return tuple(entries), NOT_CONFIGURED
    passages = passages_of([entry.chunk_id for entry in entries])
    remaining = [entry for entry in entries if entry.chunk_id in passages]
    return rerank_entries(remaining, [passages[entry.chunk_id] for entry in remaining], query, reranker)


def _cutoff_size(entries: Sequence[RankedEntry], outcome: RerankOutcome | None) -> int:
    if outcome is None or outcome.status == "fallback":
        return plain_cutoff(len(entries))
    return smart_cutoff([entry.score for entry in entries])


def _removed_ids(before: Sequence[RankedEntry], after: Sequence[RankedEntry]) -> tuple[str, ...]:
    remaining = {entry.chunk_id for entry in after}
    return tuple(entry.chunk_id for entry in before if entry.chunk_id not in remaining)


def _renumber(entries: Sequence[RankedEntry]) -> tuple[RankedEntry, ...]:
    return tuple(
        entry if entry.rank == rank else replace(entry, rank=rank)
        for rank, entry in enumerate(entries, start=1)
    )


@contextmanager
def _measure(stage: str, timings_ms: dict[str, float], clock: Callable[[], float]) -> Iterator[None]:
    started = clock()
    yield
    timings_ms[stage] = (clock() - started) * 1000
