"""The legs of a query, and the ranking of their candidates, wherever rows are read."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

from kebab.people.models import Workspace
from search.analysis import Analysis
from search.embedders.configured import embedded_text
from search.engine.explain import build_explanation
from search.metrics import measure_leg
from search.mirror.query import lexical
from search.mirror.query.exact import ExactLeg
from search.mirror.query.lexical import LexicalLeg
from search.retrieval.fusion.pipeline import Ranking, rank_candidates
from search.retrieval.fusion.post_fusion import PostFusionResult, Stages, apply_stages
from search.retrieval.fusion.run_legs import Leg, candidate_limit
from search.retrieval.index_version import NO_VECTORS, IndexVersion
from search.retrieval.types import Fusion, Mode, SearchQuery, VectorWindow
from search.runtime import runtime
from search.settings.search_settings import SearchSettings
from search.vectors.leg import VectorLeg
from search.vectors.spaces import LiveSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class Legs:
    """The legs of one query; the mode decides which of them run."""

    lexical: LexicalLeg
    vector: VectorLeg
    #: None in a single mode.
    exact: ExactLeg | None

    def for_mode(self, mode: Mode) -> list[Leg]:
        """Return the legs that run in `mode`: the vector leg in the calling thread, others concurrently."""
        legs = {
            Mode.LEXICAL: Leg(
                name="lexical",
                search=measure_leg("lexical", self.lexical.search),
                score=self.lexical.score,
            ),
            Mode.VECTOR: Leg(
                name="vector",
                search=measure_leg("vector", self.vector.search, lambda: bool(self.vector.disabled_reason)),
                score=self.vector.score,
                vectors=self.vector.vectors,
                in_calling_thread=True,
            ),
        }
        if mode is not Mode.HYBRID:
            return [legs[mode]]
        if self.exact is None or not self.exact.has_names:
            return list(legs.values())
        exact = measure_leg("exact", self.exact.search)
        weight = self.exact.weight
        return [*legs.values(), Leg(name="exact", search=exact, weight=weight, is_skipped_when_empty=True)]

    def warnings(self, mode: Mode) -> tuple[str, ...]:
        """Return what is wrong with the legs that run in `mode`, though they answer."""
        return tuple(text for text in (self.vector.mismatch,) if text and mode is not Mode.LEXICAL)


def rank_and_apply_stages(
    workspace: Workspace,
    query: SearchQuery,
    legs: Legs,
    stages: Stages,
    *,
    read_back: Callable[[Sequence[str]], Mapping[str, int]],
    read_passages: Callable[[Sequence[str]], Mapping[str, tuple[str, str]]],
    executor: Executor | None = None,
) -> tuple[Ranking, PostFusionResult]:
    """Rank the candidates of the legs, and apply the stages.

    `read_back` returns the documents of the chunks that are visible, `read_passages` breadcrumb and text of
    chunks for the reranker, both by chunk id.
    """
    documents: dict[str, int] = {}

    def read_back_and_record(chunk_ids: Sequence[str]) -> Mapping[str, int]:
        visible = read_back(chunk_ids)
        documents.update(visible)
        return visible

    def embedded_passages(chunk_ids: Sequence[str]) -> dict[str, str]:
        return {id_: embedded_text(*passage) for id_, passage in read_passages(chunk_ids).items()}

    search_settings = SearchSettings.of(workspace)
    ranked = rank_candidates(
        query.mode,
        legs.for_mode(query.mode),
        read_back_and_record,
        k=stages.window(query.k),
        executor=executor,
        fusion=fusion_of(workspace, query),
        k_rrf=search_settings.rrf_k,
        vector_share=search_settings.vector_share,
    )
    after = apply_stages(
        ranked.entries,
        stages,
        query=query.effective_channels.rerank,
        document_of=documents,
        passages_of=embedded_passages,
        reranker=runtime().reranker if stages.rerank else None,
    )
    return replace(ranked, timings_ms={**ranked.timings_ms, **after.timings_ms}), after


def fusion_of(workspace: Workspace, query: SearchQuery) -> Fusion:
    """Return the fusion of a hybrid query: its own, else the workspace's."""
    return query.fusion or SearchSettings.of(workspace).fusion


def index_version_of(workspace: Workspace, mode: Mode, space: LiveSpace | None, analysis: Analysis) -> str:
    """Return the version of the indexes that answer in `mode`."""
    words = vectors = None
    if mode is not Mode.VECTOR:
        words = lexical.index_version(SearchSettings.of(workspace).breadcrumb_weight, analysis)
    if mode is not Mode.LEXICAL:
        vectors = NO_VECTORS if space is None else space.index_version
    return str(IndexVersion(lexical=words, vector=vectors))


def vector_window(query: SearchQuery, stages: Stages, ranked: Ranking) -> VectorWindow | None:
    """Return the numbers of vector candidates that were asked for and found; None if the leg did not run."""
    if "vector" not in ranked.lists:
        return None
    return VectorWindow(asked=candidate_limit(stages.window(query.k)), found=len(ranked.lists["vector"]))


def explain_ranking(
    workspace: Workspace, query: SearchQuery, legs: Legs, ranked: Ranking, after: PostFusionResult
) -> dict[str, object]:
    """Return how each candidate got its place, and why a leg did not run."""
    weights: dict[str, float] = {leg.name: leg.weight for leg in legs.for_mode(query.mode)}
    k_rrf = SearchSettings.of(workspace).rrf_k
    explained = dict(build_explanation(legs.lexical.match, ranked, after, weights=weights, k_rrf=k_rrf))
    if "vector" in ranked.degraded and legs.vector.disabled_reason:
        explained["off"] = {"vector": legs.vector.disabled_reason}
    return explained
