"""Search pipeline over a bundle in place, without servers and without writing next to the file.

Legs, fusion and hits are those of `search.engine.search`; rows are read from the bundle instead of Postgres.
There are no access rights beyond those of the file.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from search.access.scope import SearchScope
from search.bundles.errors import BundleRefused
from search.bundles.format.open_bundle import translate_damage
from search.bundles.format.row_reader import BundleReader
from search.bundles.search.chunk_rows import BundleRows
from search.bundles.search.corpus import BundleCorpus
from search.bundles.search.index import BundleIndex
from search.bundles.search.vector_leg import BundleVectorLeg, BundleVectors
from search.embedders.configured import embedded_text, embedder_for_queries
from search.engine.did_you_mean import suggest_query
from search.engine.explain import build_explanation
from search.engine.hits import HitBuilder
from search.engine.search import Legs, milliseconds_since
from search.mirror.query.exact import ExactLeg
from search.mirror.query.lexical import LexicalLeg, index_version
from search.mirror.query.reader import MirrorReading
from search.mirror.sync.snapshot import analysis_for
from search.rerank import configured_reranker
from search.retrieval.fusion.pipeline import Ranking, rank_candidates
from search.retrieval.fusion.post_fusion import PostFusionResult, Stages, apply_stages
from search.retrieval.fusion.run_legs import candidate_limit
from search.retrieval.index_version import NO_VECTORS, IndexVersion
from search.retrieval.types import Fusion, Mode, SearchQuery, SearchResult, VectorWindow
from search.search_settings import SearchSettings

# A file that was just copied may have to be read from a slow disk.
_LEG_LIMIT_S = 10.0


class SearchableBundle:
    """An open bundle, to be closed with `close`."""

    def __init__(self, path: Path) -> None:
        """Open the bundle. Raises the errors of `BundleReader`, and BundleRefused for unreadable rows."""
        self._reader = BundleReader(path)
        try:
            self._corpus = BundleCorpus(self._reader)
            self.workspace = self._corpus.workspace
            versions = self._corpus.versions
            self._index = BundleIndex(self._reader, analysis_for(self.workspace), versions)
            self._rows = BundleRows(path, self._reader.connection, versions)
        except BaseException:
            self._reader.__exit__()
            raise

    def close(self) -> None:
        """Close the file."""
        self._index.close()
        self._reader.__exit__()

    def search(self, query: SearchQuery) -> SearchResult:
        """Search for `query`. Raises InvalidQuery, InvalidFilter, and the bundle's errors."""
        started = time.perf_counter()
        path = self._reader.path
        try:
            with translate_damage(path):
                result = self._search(query)
        # Code that reads a mirror trusts its content; forged rows may cause arbitrary errors in it.
        except (ValueError, LookupError, TypeError, ArithmeticError, apsw.Error) as error:
            raise BundleRefused(f"{path} is refused: its rows can't be searched ({error}).") from error
        return replace(result, took_ms=milliseconds_since(started))

    def _reading(self, scope: SearchScope) -> MirrorReading:
        return MirrorReading(self._index, self._index.pool, scope, limit_s=_LEG_LIMIT_S)

    def _legs(self, scope: SearchScope, query: SearchQuery) -> Legs:
        channels, is_fused = query.effective_channels, query.mode is Mode.HYBRID
        space = None if query.mode is Mode.LEXICAL else scope.space
        weight = SearchSettings.of(self.workspace).breadcrumb_weight
        return Legs(
            lexical=LexicalLeg(self._reading(scope), channels.lexical, breadcrumb_weight=weight),
            exact=ExactLeg(self._reading(scope), channels.lexical) if is_fused else None,
            vector=BundleVectorLeg(
                None if space is None else BundleVectors(self._reader.connection, space),
                partial(self._rows.filter_visible, self._reading(scope)),
                space,
                scope,
                channels.vector,
                None if query.mode is Mode.LEXICAL else embedder_for_queries(self.workspace, space),
                is_fused=is_fused,
                compares_candidates=self._fusion_of(query) is Fusion.CONVEX,
            ),
        )

    def _fusion_of(self, query: SearchQuery) -> Fusion:
        return query.fusion or SearchSettings.of(self.workspace).fusion

    def _search(self, query: SearchQuery) -> SearchResult:
        scope = self._corpus.scope(query.filters)
        legs = self._legs(scope, query)
        stages = Stages.of(query, SearchSettings.of(self.workspace).pre_rerank_max_per_file)
        ranked, after = self._rank(scope, query, legs, stages)
        version = self._version(query.mode, legs)
        reading = self._reading(scope)
        hits = HitBuilder(
            self.workspace,
            scope,
            query,
            legs.lexical,
            scope.space,
            version,
            read=lambda _, chunk_ids: self._rows.read_hits(reading, chunk_ids),
        ).build(after.entries[: query.k])
        is_lexical = query.mode is not Mode.VECTOR
        return SearchResult(
            query=query.text,
            mode=query.mode,
            index_version=version,
            seq=scope.head_seq,
            lag=0,
            took_ms=0.0,
            degraded=tuple(ranked.degraded),
            warnings=_warnings(query, legs),
            rerank=after.rerank,
            lexical_total=legs.lexical.total if is_lexical else None,
            vector_window=_window(query, stages, ranked),
            hits=hits,
            did_you_mean=self._did_you_mean(scope, query, ranked) if is_lexical else None,
            explain=self._explanation(query, legs, ranked, after) if query.explain else None,
        )

    def _rank(
        self, scope: SearchScope, query: SearchQuery, legs: Legs, stages: Stages
    ) -> tuple[Ranking, PostFusionResult]:
        documents: dict[str, int] = {}
        reading = self._reading(scope)

        def read_back(chunk_ids: Sequence[str]) -> Mapping[str, int]:
            visible = self._rows.filter_visible(reading, chunk_ids)
            documents.update(visible)
            if isinstance(legs.vector, BundleVectorLeg):
                legs.vector.score_candidates(chunk_ids)
            return visible

        ranked = rank_candidates(
            query.mode,
            legs.for_mode(query.mode),
            read_back,
            k=stages.window(query.k),
            fusion=self._fusion_of(query),
            k_rrf=SearchSettings.of(self.workspace).rrf_k,
            vector_share=SearchSettings.of(self.workspace).vector_share,
        )
        after = apply_stages(
            ranked.entries,
            stages,
            query=query.effective_channels.rerank,
            document_of=documents,
            passages_of=partial(self._passages, reading),
            reranker=configured_reranker() if stages.rerank else None,
        )
        return replace(ranked, timings_ms={**ranked.timings_ms, **after.timings_ms}), after

    def _passages(self, reading: MirrorReading, chunk_ids: Sequence[str]) -> dict[str, str]:
        found = self._rows.read_passages(reading, chunk_ids)
        return {id_: embedded_text(breadcrumb, text) for id_, (breadcrumb, text) in found.items()}

    def _version(self, mode: Mode, legs: Legs) -> str:
        weight = SearchSettings.of(self.workspace).breadcrumb_weight
        words = None if mode is Mode.VECTOR else index_version(weight, legs.lexical.analysis)
        vectors = NO_VECTORS if self._corpus.space is None else self._corpus.space.index_version
        return str(IndexVersion(lexical=words, vector=None if mode is Mode.LEXICAL else vectors))

    def _did_you_mean(self, scope: SearchScope, query: SearchQuery, ranked: Ranking) -> str | None:
        if ranked.lists.get("lexical") != ():
            return None
        reading = self._reading(scope)
        read = partial(self._rows.read_passages, reading)
        return suggest_query(reading, query.effective_channels.lexical, lambda _, chunk_ids: read(chunk_ids))

    def _explanation(
        self, query: SearchQuery, legs: Legs, ranked: Ranking, after: PostFusionResult
    ) -> dict[str, Any]:
        weights: dict[str, float] = {leg.name: leg.weight for leg in legs.for_mode(query.mode)}
        k_rrf = SearchSettings.of(self.workspace).rrf_k
        explained = build_explanation(legs.lexical.match, ranked, after, weights=weights, k_rrf=k_rrf)
        if "vector" in ranked.degraded and legs.vector.disabled_reason:
            explained["off"] = {"vector": legs.vector.disabled_reason}
        return explained


def _warnings(query: SearchQuery, legs: Legs) -> tuple[str, ...]:
    mismatch = legs.vector.mismatch
    return (mismatch,) if mismatch and query.mode is not Mode.LEXICAL else ()


def _window(query: SearchQuery, stages: Stages, ranked: Ranking) -> VectorWindow | None:
    if "vector" not in ranked.lists:
        return None
    return VectorWindow(asked=candidate_limit(stages.window(query.k)), found=len(ranked.lists["vector"]))
