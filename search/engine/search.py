"""`search(workspace, query)`: the one function behind HTTP, command line, pages and evaluation."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial

from django.conf import settings

from kebab.people.models import Workspace
from kebab.people.reader import Reader
from kebab.people.workspace_settings.registry import preference
from search.access.scope import Scope, resolve_scope
from search.analysis import Analysis
from search.embedders.configured import embedded_text, embedder_for_queries
from search.engine.consistency import may_lack, newest
from search.engine.cursors import with_cursor
from search.engine.did_you_mean import did_you_mean
from search.engine.explain import explanation
from search.engine.hits import HitBuilder
from search.engine.ranking_snapshot import FrozenList
from search.engine.readback import read_back, read_passages
from search.engine.why_not import Outcome, why_not
from search.metrics import count_search, measured_leg, stage
from search.mirror import local_mirrors
from search.mirror.query import lexical
from search.mirror.query.exact import ExactLeg
from search.mirror.query.lexical import LexicalLeg
from search.mirror.query.reader import MirrorReading
from search.mirror.sync.snapshot import analysis_for
from search.rerank import configured_reranker
from search.retrieval.fusion.pipeline import Ranked, rank_candidates
from search.retrieval.fusion.post_fusion import AfterFusion, Stages, after_fusion
from search.retrieval.fusion.run_legs import Leg, LegName, candidates_wanted
from search.retrieval.index_version import NO_VECTORS, IndexVersion
from search.retrieval.query.filters import SearchFilters
from search.retrieval.ranking_snapshot import FrozenRanking
from search.retrieval.types import Fusion, Mode, SearchHit, SearchQuery, SearchResult, VectorWindow
from search.vectors.leg import VectorLeg
from search.vectors.spaces import LiveSpace, live_space


@dataclass(frozen=True, slots=True, kw_only=True)
class Legs:
    """The legs of one query; only those that the mode asks for are used."""

    lexical: LexicalLeg
    vector: VectorLeg
    #: None where fusion has no place for it.
    exact: ExactLeg | None

    def used(self, mode: Mode) -> list[Leg]:
        """Return the legs for the pipeline: the vector one in the calling thread, the others beside."""
        legs = {
            Mode.LEXICAL: Leg(
                name="lexical",
                search=measured_leg("lexical", self.lexical.search),
                score=self.lexical.score,
            ),
            Mode.VECTOR: Leg(
                name="vector",
                search=measured_leg("vector", self.vector.search, lambda: bool(self.vector.off_because)),
                score=self.vector.score,
                vectors=self.vector.vectors,
                in_calling_thread=True,
            ),
        }
        if mode is not Mode.HYBRID:
            return [legs[mode]]
        if self.exact is None or not self.exact.has_names:
            return list(legs.values())
        exact = measured_leg("exact", self.exact.search)
        weight = self.exact.weight
        return [*legs.values(), Leg(name="exact", search=exact, weight=weight, joins_when_found=True)]


def index_version(workspace: Workspace, mode: Mode) -> str:
    """Name what answers in `mode`: the lexical index, the live space, or both."""
    return _version(workspace, mode, live_space(workspace), analysis_for(workspace))


def search(
    workspace: Workspace,
    query: SearchQuery,
    *,
    reader: Reader = Reader(),  # noqa: B008 - it can't be changed
    min_seq: int | None = None,
    caller: str | None = None,
    with_snippets: bool = True,
) -> SearchResult:
    """Answer `query` from what `reader` may read of `workspace`, with what was missing named in the result.

    Without a reader that is what is open to all members. With `min_seq` it waits, within a limit, until this
    node shows that change. For a `caller`, an identity that passes to nobody else, it keeps what is behind
    the hits, for `search.engine.pages.next_page`. Who reads the chunks whole asks without
    snippets: the hits' are then ''.
    Raises InvalidQuery and InvalidFilter for what can't be understood, NotSearchableYet,
    Workspace.DoesNotExist.
    """
    started = time.perf_counter()
    scope = scope_from(workspace, query.filters, reader, min_seq)
    result = search_in(workspace, scope, query, caller=caller, with_snippets=with_snippets)
    return replace(result, took_ms=milliseconds_since(started))


def scope_from(workspace: Workspace, filters: SearchFilters, reader: Reader, min_seq: int | None) -> Scope:
    """Return the scope of a search that begins once this node shows change `min_seq`, None: now.

    Raises NotSearchableYet, Workspace.DoesNotExist.
    """
    if min_seq is not None:
        local_mirrors.wait_for_seq(workspace.pk, min_seq, limit_s=settings.KEBAB_WAIT_LIMIT_S)
    with stage("scope"):
        return replace(resolve_scope(workspace, filters, reader), is_awaited=min_seq is not None)


def search_in(
    workspace: Workspace,
    scope: Scope,
    query: SearchQuery,
    *,
    caller: str | None = None,
    with_snippets: bool = True,
) -> SearchResult:
    """Answer `query` as `search` does, under a scope that has been resolved from its filters.

    The time it took, 0 here, is for the caller to fill in, who has resolved the scope.
    """
    started = time.perf_counter()
    if query.mode is not Mode.VECTOR:
        with stage("mirror"):
            local_mirrors.ensure_mirror(workspace.pk, scope.head_seq)
    stages = Stages.of(query, preference(workspace, "pre_rerank_max_per_file"))
    scope, found = newest(scope, partial(_attempt, workspace, query, stages, with_snippets))
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
        degraded=_degraded(ranked, is_whole=not may_lack(scope, found)),
        warnings=tuple(text for text in (legs.vector.mismatch,) if text and query.mode is not Mode.LEXICAL),
        rerank=after.rerank,
        lexical_total=None if query.mode is Mode.VECTOR else legs.lexical.total,
        vector_window=_vector_window(query, stages, ranked),
        hits=hits,
        did_you_mean=_did_you_mean(workspace, scope, query, ranked),
        explain=_explain(workspace, scope, query, legs, ranked, after, hits),
    )
    whole = after.entries if stages.are_any else ranked.fused
    if caller is not None and len(whole) > query.k:
        ranking = _frozen(query, stages, ranked, after)
        frozen = FrozenList(query=query, result=result, space=legs.vector.space, ranking=ranking)
        result = with_cursor(result, frozen, workspace.pk, caller)
    count_search(result, ranked.timings_ms, time.perf_counter() - started)
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """A search that was made once, and what it found."""

    legs: Legs
    ranked: Ranked
    after: AfterFusion
    version: str
    hits: tuple[SearchHit, ...]
    #: The change that its candidates were found at.
    seq: int
    #: Whether a candidate did not stand any more when it was read.
    has_lost: bool


def _attempt(
    workspace: Workspace, query: SearchQuery, stages: Stages, with_snippets: bool, scope: Scope
) -> _Attempt:
    legs = _legs(workspace, scope, query)
    with local_mirrors.legs_beside() as threads:
        executor = threads if query.mode is Mode.HYBRID else None
        ranked, after, all_stood = _rank(workspace, scope, query, legs, stages, executor)
    version = _version(workspace, query.mode, legs.vector.space, legs.lexical.analysis)
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
        has_lost=not all_stood or len(hits) < len(entries),
    )


def milliseconds_since(started: float) -> float:
    """Return the time since `time.perf_counter` said `started`, to the microsecond."""
    return round((time.perf_counter() - started) * 1000, 3)


def _degraded(ranked: Ranked, *, is_whole: bool) -> tuple[LegName, ...]:
    if is_whole or "lexical" in ranked.degraded:
        return ranked.degraded
    return ("lexical", *ranked.degraded)


def _did_you_mean(workspace: Workspace, scope: Scope, query: SearchQuery, ranked: Ranked) -> str | None:
    if query.mode is Mode.VECTOR or ranked.lists.get("lexical") != ():
        return None
    return did_you_mean(mirror_reading(workspace, scope), query.asked.lexical)


def _explain(
    workspace: Workspace,
    scope: Scope,
    query: SearchQuery,
    legs: Legs,
    ranked: Ranked,
    after: AfterFusion,
    hits: Sequence[SearchHit],
) -> dict[str, object] | None:
    explained: dict[str, object] = {}
    if query.explain:
        weights = {leg.name: leg.weight for leg in legs.used(query.mode)}
        k_rrf = preference(workspace, "rrf_k")
        explained |= explanation(legs.lexical.match, ranked, after, weights=weights, k_rrf=k_rrf)
        if "vector" in ranked.degraded and legs.vector.off_because:
            explained["off"] = {"vector": legs.vector.off_because}
    if query.why_not is not None:
        returned = [hit.chunk_id for hit in hits]
        outcome = Outcome(scope=scope, lexical=legs.lexical, ranked=ranked, after=after, returned=returned)
        explained["why_not"] = why_not(query.why_not, outcome).as_json(query.why_not)
    return explained or None


def _vector_window(query: SearchQuery, stages: Stages, ranked: Ranked) -> VectorWindow | None:
    if "vector" not in ranked.lists:
        return None
    return VectorWindow(asked=candidates_wanted(stages.window(query.k)), found=len(ranked.lists["vector"]))


def _frozen(query: SearchQuery, stages: Stages, ranked: Ranked, after: AfterFusion) -> FrozenRanking:
    if stages.are_any:
        return FrozenRanking.of_entries(query.mode, after.entries)
    return FrozenRanking.of_fused(query.mode, ranked.fused, ranked.lists)


def _version(workspace: Workspace, mode: Mode, space: LiveSpace | None, analysis: Analysis) -> str:
    words = vectors = None
    if mode is not Mode.VECTOR:
        words = lexical.index_version(preference(workspace, "breadcrumb_weight"), analysis)
    if mode is not Mode.LEXICAL:
        vectors = NO_VECTORS if space is None else space.index_version
    return str(IndexVersion(lexical=words, vector=vectors))


def lexical_leg(workspace: Workspace, scope: Scope, text: str) -> LexicalLeg:
    """Return the lexical leg of a query that is asked `text` under `scope`."""
    weight = preference(workspace, "breadcrumb_weight")
    return LexicalLeg(mirror_reading(workspace, scope), text, breadcrumb_weight=weight)


def mirror_reading(workspace: Workspace, scope: Scope) -> MirrorReading:
    """Return what the legs of one query read this node's mirror by."""
    limit_s = settings.KEBAB_LEG_LIMIT_MS / 1000
    return MirrorReading(
        local_mirrors.mirror_files(workspace.pk), local_mirrors.reader_pool(), scope, limit_s=limit_s
    )


def _legs(workspace: Workspace, scope: Scope, query: SearchQuery) -> Legs:
    asked = query.asked
    has_vectors = query.mode is not Mode.LEXICAL
    is_fused = query.mode is Mode.HYBRID
    return Legs(
        lexical=lexical_leg(workspace, scope, asked.lexical),
        exact=ExactLeg(mirror_reading(workspace, scope), asked.lexical) if is_fused else None,
        vector=VectorLeg(
            scope.space if has_vectors else None,
            scope,
            asked.vector,
            embedder_for_queries(workspace, scope.space) if has_vectors else None,
            # Who asks for vectors alone gets them, for what they are worth.
            minds_language=is_fused,
            is_compared=is_fused and _fusion(workspace, query) is Fusion.CONVEX,
        ),
    )


def _fusion(workspace: Workspace, query: SearchQuery) -> Fusion:
    return query.fusion or Fusion(preference(workspace, "fusion"))


def _rank(
    workspace: Workspace,
    scope: Scope,
    query: SearchQuery,
    legs: Legs,
    stages: Stages,
    executor: Executor | None,
) -> tuple[Ranked, AfterFusion, bool]:
    """Rank what the legs find; the last says whether all of that stood when it was read back."""
    documents: dict[str, int] = {}
    asked: set[str] = set()

    def remembering_read_back(chunk_ids: Sequence[str]) -> Mapping[str, int]:
        vector = legs.vector
        # Where scores are compared, the mirror is asked for its while PostgreSQL is at work.
        ahead = executor.submit(legs.lexical.score_ahead, chunk_ids) if executor and vector.point else None
        with stage("read_back"):
            standing = read_back(scope, chunk_ids, vector.point, vector.without_place(chunk_ids))
        if ahead is not None:
            ahead.result()
        asked.update(chunk_ids)
        documents.update(standing.documents)
        vector.note(standing.similarities, standing.places)
        return standing.documents

    ranked = rank_candidates(
        query.mode,
        legs.used(query.mode),
        remembering_read_back,
        k=stages.window(query.k),
        executor=executor,
        fusion=_fusion(workspace, query),
        k_rrf=preference(workspace, "rrf_k"),
        vector_share=preference(workspace, "vector_share"),
    )
    after = after_fusion(
        ranked.entries,
        stages,
        query=query.asked.rerank,
        document_of=documents,
        passages_of=partial(_passages, scope),
        reranker=configured_reranker() if stages.rerank else None,
    )
    timed = replace(ranked, timings_ms={**ranked.timings_ms, **after.timings_ms})
    return timed, after, len(documents) == len(asked)


def _passages(scope: Scope, chunk_ids: Sequence[str]) -> dict[str, str]:
    return {
        chunk_id: embedded_text(breadcrumb, text)
        for chunk_id, (breadcrumb, text) in read_passages(scope, chunk_ids).items()
    }
