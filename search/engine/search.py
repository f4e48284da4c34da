"""`search(workspace, query)`, the entry point for HTTP, command line, pages and evaluation."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial

from django.conf import settings

from kebab.people.models import Workspace
from kebab.people.reader import Reader
from search.access.scope import SearchScope, resolve_scope
from search.embedders.configured import embedder_for_queries
from search.engine.consistency import may_be_incomplete, retry_until_current
from search.engine.cursors import add_cursor
from search.engine.did_you_mean import suggest_query
from search.engine.hits import HitBuilder
from search.engine.legs import (
    Legs,
    explain_ranking,
    fusion_of,
    index_version_of,
    rank_and_apply_stages,
    vector_window,
)
from search.engine.ranking_snapshot import ResultSnapshot
from search.engine.readback import read_back, read_passages
from search.engine.why_not import SearchOutcome, explain_absence
from search.metrics import count_search, stage
from search.mirror import local_mirrors
from search.mirror.query.exact import ExactLeg
from search.mirror.query.lexical import LexicalLeg
from search.mirror.query.reader import MirrorReading
from search.mirror.sync.snapshot import analysis_for
from search.retrieval.fusion.pipeline import Ranking
from search.retrieval.fusion.post_fusion import PostFusionResult, Stages
from search.retrieval.fusion.run_legs import LegName
from search.retrieval.query.filters import SearchFilters
from search.retrieval.ranking_snapshot import RankingSnapshot
from search.retrieval.types import Fusion, Mode, SearchHit, SearchQuery, SearchResult
from search.settings.search_settings import SearchSettings
from search.vectors.leg import VectorLeg
from search.vectors.spaces import live_space


def index_version(workspace: Workspace, mode: Mode) -> str:
    """Return the version of what answers in `mode`: the lexical index, the live space, or both."""
    return index_version_of(workspace, mode, live_space(workspace), analysis_for(workspace))


def search(
    workspace: Workspace,
    query: SearchQuery,
    *,
    reader: Reader = Reader(),  # noqa: B008 - it can't be changed
    min_seq: int | None = None,
    caller: str | None = None,
    with_snippets: bool = True,
) -> SearchResult:
    """Answer `query` from what `reader` may read of `workspace`; the result names missing parts.

    The default reader sees the sources open to all members. With `min_seq`, wait within a limit until this
    node has applied that change. For a `caller`, an identity that is never reassigned, store the rest of the
    list for `search.engine.pages.fetch_next_page`. Without snippets, for callers that read whole chunks, the
    snippets of the hits are ''.
    Raises InvalidQuery and InvalidFilter for an invalid request, NotSearchableYet, Workspace.DoesNotExist.
    """
    started = time.perf_counter()
    scope = resolve_scope_at_seq(workspace, query.filters, reader, min_seq)
    result = search_in_scope(workspace, scope, query, caller=caller, with_snippets=with_snippets)
    return replace(result, took_ms=milliseconds_since(started))


def resolve_scope_at_seq(
    workspace: Workspace, filters: SearchFilters, reader: Reader, min_seq: int | None
) -> SearchScope:
    """Return the scope of a search that begins when this node has applied change `min_seq`; None: now.

    Raises NotSearchableYet, Workspace.DoesNotExist.
    """
    if min_seq is not None:
        local_mirrors.wait_for_seq(workspace.pk, min_seq, limit_s=settings.KEBAB_WAIT_LIMIT_S)
    with stage("scope"):
        return replace(resolve_scope(workspace, filters, reader), has_waited=min_seq is not None)


def search_in_scope(
    workspace: Workspace,
    scope: SearchScope,
    query: SearchQuery,
    *,
    caller: str | None = None,
    with_snippets: bool = True,
) -> SearchResult:
    """Answer `query` as `search` does, under a scope already resolved from its filters.

    `took_ms` is 0; the caller fills it in, including the time for the scope.
    """
    started = time.perf_counter()
    if query.mode is not Mode.VECTOR:
        with stage("mirror"):
            local_mirrors.ensure_mirror(workspace.pk, scope.head_seq)
    stages = Stages.of(query, SearchSettings.of(workspace).pre_rerank_max_per_file)
    scope, found = retry_until_current(scope, partial(_run_search, workspace, query, stages, with_snippets))
    legs, ranked, after, hits, seq = found.legs, found.ranked, found.after, found.hits, found.seq
    if seq != scope.head_seq:
        local_mirrors.trigger_sync(workspace.pk)
    result = SearchResult(
        query=query.text,
        mode=query.mode,
        index_version=found.version,
        seq=seq,
        lag=max(0, scope.head_seq - seq),
        took_ms=0.0,
        degraded=_degraded_legs(ranked, is_whole=not may_be_incomplete(scope, found)),
        warnings=legs.warnings(query.mode),
        rerank=after.rerank,
        lexical_total=None if query.mode is Mode.VECTOR else legs.lexical.total,
        vector_window=vector_window(query, stages, ranked),
        hits=hits,
        did_you_mean=_suggest_query(workspace, scope, query, ranked),
        explain=_build_explanation(workspace, scope, query, legs, ranked, after, hits),
    )
    whole = after.entries if stages.are_any else ranked.fused
    if caller is not None and len(whole) > query.k:
        ranking = _take_snapshot(query, stages, ranked, after)
        snapshot = ResultSnapshot(query=query, result=result, space=legs.vector.space, ranking=ranking)
        result = add_cursor(result, snapshot, workspace.pk, caller)
    count_search(result, ranked.timings_ms, time.perf_counter() - started)
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """One run of a search with its results."""

    legs: Legs
    ranked: Ranking
    after: PostFusionResult
    version: str
    hits: tuple[SearchHit, ...]
    #: The change at which its candidates were found.
    seq: int
    #: Whether a candidate was no longer visible in the read-back.
    has_lost_candidates: bool


def _run_search(
    workspace: Workspace, query: SearchQuery, stages: Stages, with_snippets: bool, scope: SearchScope
) -> _Attempt:
    legs = _build_legs(workspace, scope, query)
    with local_mirrors.leg_threads() as threads:
        executor = threads if query.mode is Mode.HYBRID else None
        ranked, after, is_whole = _rank_visible(workspace, scope, query, legs, stages, executor)
    version = index_version_of(workspace, query.mode, legs.vector.space, legs.lexical.analysis)
    entries = after.entries[: query.k]
    with stage("hits"):
        hits = HitBuilder(
            workspace, scope, query, legs.lexical, legs.vector.space, version, with_snippets=with_snippets
        ).build(entries)
    return _Attempt(
        legs=legs,
        ranked=ranked,
        after=after,
        version=version,
        hits=hits,
        seq=scope.head_seq if query.mode is Mode.VECTOR else legs.lexical.seq or 0,
        has_lost_candidates=not is_whole or len(hits) < len(entries),
    )


def milliseconds_since(started: float) -> float:
    """Return the milliseconds since `started`, a `time.perf_counter` value, to the microsecond."""
    return round((time.perf_counter() - started) * 1000, 3)


def _degraded_legs(ranked: Ranking, *, is_whole: bool) -> tuple[LegName, ...]:
    if is_whole or "lexical" in ranked.degraded:
        return ranked.degraded
    return ("lexical", *ranked.degraded)


def _suggest_query(
    workspace: Workspace, scope: SearchScope, query: SearchQuery, ranked: Ranking
) -> str | None:
    if query.mode is Mode.VECTOR or ranked.lists.get("lexical") != ():
        return None
    return suggest_query(mirror_reading(workspace, scope), query.effective_channels.lexical)


def _build_explanation(
    workspace: Workspace,
    scope: SearchScope,
    query: SearchQuery,
    legs: Legs,
    ranked: Ranking,
    after: PostFusionResult,
    hits: Sequence[SearchHit],
) -> dict[str, object] | None:
    explained: dict[str, object] = {}
    if query.explain:
        explained |= explain_ranking(workspace, query, legs, ranked, after)
    if query.why_not is not None:
        returned = [hit.chunk_id for hit in hits]
        outcome = SearchOutcome(
            scope=scope, lexical=legs.lexical, ranked=ranked, after=after, returned=returned
        )
        explained["why_not"] = explain_absence(query.why_not, outcome).as_json(query.why_not)
    return explained or None


def _take_snapshot(
    query: SearchQuery, stages: Stages, ranked: Ranking, after: PostFusionResult
) -> RankingSnapshot:
    if stages.are_any:
        return RankingSnapshot.from_entries(query.mode, after.entries)
    return RankingSnapshot.from_fused(query.mode, ranked.fused, ranked.lists)


def lexical_leg(workspace: Workspace, scope: SearchScope, text: str) -> LexicalLeg:
    """Return the lexical leg for the query `text` under `scope`."""
    weight = SearchSettings.of(workspace).breadcrumb_weight
    return LexicalLeg(mirror_reading(workspace, scope), text, breadcrumb_weight=weight)


def mirror_reading(workspace: Workspace, scope: SearchScope) -> MirrorReading:
    """Return the access of one query's legs to this node's mirror."""
    limit_s = settings.KEBAB_LEG_LIMIT_MS / 1000
    return MirrorReading(
        local_mirrors.mirror_files(workspace.pk), local_mirrors.reader_pool(), scope, limit_s=limit_s
    )


def _build_legs(workspace: Workspace, scope: SearchScope, query: SearchQuery) -> Legs:
    channels = query.effective_channels
    has_vectors = query.mode is not Mode.LEXICAL
    is_fused = query.mode is Mode.HYBRID
    return Legs(
        lexical=lexical_leg(workspace, scope, channels.lexical),
        exact=ExactLeg(mirror_reading(workspace, scope), channels.lexical) if is_fused else None,
        vector=VectorLeg(
            scope.space if has_vectors else None,
            scope,
            channels.vector,
            embedder_for_queries(workspace, scope.space) if has_vectors else None,
            # A query in vector mode gets vectors even for a language that the model lacks.
            requires_known_language=is_fused,
            compares_candidates=is_fused and fusion_of(workspace, query) is Fusion.CONVEX,
        ),
    )


def _rank_visible(
    workspace: Workspace,
    scope: SearchScope,
    query: SearchQuery,
    legs: Legs,
    stages: Stages,
    executor: Executor | None,
) -> tuple[Ranking, PostFusionResult, bool]:
    """Rank the candidates of the legs; the last value is whether all of them were visible."""
    read: set[str] = set()
    visible_ids: set[str] = set()

    def read_back_and_score(chunk_ids: Sequence[str]) -> Mapping[str, int]:
        vector = legs.vector
        # If scores are compared, the mirror computes its scores while PostgreSQL works.
        ahead = executor.submit(legs.lexical.score_ahead, chunk_ids) if executor and vector.point else None
        with stage("read_back"):
            visible = read_back(scope, chunk_ids, vector.point, vector.without_vector(chunk_ids))
        if ahead is not None:
            ahead.result()
        read.update(chunk_ids)
        visible_ids.update(visible.documents)
        vector.add_scores(visible.similarities, visible.encoded_vectors)
        return visible.documents

    ranked, after = rank_and_apply_stages(
        workspace,
        query,
        legs,
        stages,
        read_back=read_back_and_score,
        read_passages=partial(read_passages, scope),
        executor=executor,
    )
    return ranked, after, len(visible_ids) == len(read)
