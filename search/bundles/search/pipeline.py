"""Searching a bundle as it lies: no server is asked, and nothing is written beside the file.

The legs, their fusion and the hits are those of `search.engine.search`; what that reads from Postgres is
read here from the bundle. Whoever may read the file reads all of it.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from kebab.people.workspace_settings.registry import preference
from search.access.scope import Scope
from search.bundles.errors import BundleRefused
from search.bundles.format.open_bundle import naming_damage
from search.bundles.format.row_reader import BundleReader
from search.bundles.search.chunk_rows import BundleRows
from search.bundles.search.corpus import BundleCorpus
from search.bundles.search.index import SearchedIndex
from search.bundles.search.vector_leg import BundleVectorLeg, BundleVectors
from search.embedders.configured import embedded_text, embedder_for_queries
from search.engine.did_you_mean import did_you_mean
from search.engine.explain import explanation
from search.engine.hits import HitBuilder
from search.engine.search import Legs, milliseconds_since
from search.mirror.query.exact import ExactLeg
from search.mirror.query.lexical import LexicalLeg, index_version
from search.mirror.query.reader import MirrorReading
from search.mirror.sync.snapshot import analysis_for
from search.rerank import configured_reranker
from search.retrieval.fusion.pipeline import Ranked, rank_candidates
from search.retrieval.fusion.post_fusion import AfterFusion, Stages, after_fusion
from search.retrieval.fusion.run_legs import candidates_wanted
from search.retrieval.index_version import NO_VECTORS, IndexVersion
from search.retrieval.types import Fusion, Mode, SearchQuery, SearchResult, VectorWindow

# A file that was copied just now is read from a disk.
_LEG_LIMIT_S = 10.0


class SearchableBundle:
    """An open bundle. Closed by `close`."""

    def __init__(self, path: Path) -> None:
        """Raises what `BundleReader` raises, and BundleRefused for rows that can't be read."""
        self._reader = BundleReader(path)
        try:
            self._corpus = BundleCorpus(self._reader)
            self.workspace = self._corpus.workspace
            versions = self._corpus.versions
            self._index = SearchedIndex(self._reader, analysis_for(self.workspace), versions)
            self._rows = BundleRows(path, self._reader.connection, versions)
        except BaseException:
            self._reader.__exit__()
            raise

    def close(self) -> None:
        """Let go of the file."""
        self._index.close()
        self._reader.__exit__()

    def search(self, query: SearchQuery) -> SearchResult:
        """Answer `query`. Raises InvalidQuery, InvalidFilter, and what is wrong with the bundle."""
        started = time.perf_counter()
        path = self._reader.path
        try:
            with naming_damage(path):
                result = self._search(query)
        # What reads a mirror trusts it, as its own node's; rows that a forger made may lead it anywhere.
        except (ValueError, LookupError, TypeError, ArithmeticError, apsw.Error) as error:
            raise BundleRefused(f"{path} is refused: its rows can't be searched ({error}).") from error
        return replace(result, took_ms=milliseconds_since(started))

    def _reading(self, scope: Scope) -> MirrorReading:
        return MirrorReading(self._index, self._index.pool, scope, limit_s=_LEG_LIMIT_S)

    def _legs(self, scope: Scope, query: SearchQuery) -> Legs:
        asked, is_fused = query.asked, query.mode is Mode.HYBRID
        space = None if query.mode is Mode.LEXICAL else scope.space
        weight = preference(self.workspace, "breadcrumb_weight")
        return Legs(
            lexical=LexicalLeg(self._reading(scope), asked.lexical, breadcrumb_weight=weight),
            exact=ExactLeg(self._reading(scope), asked.lexical) if is_fused else None,
            vector=BundleVectorLeg(
                None if space is None else BundleVectors(self._reader.connection, space),
                partial(self._rows.standing, self._reading(scope)),
                space,
                scope,
                asked.vector,
                None if query.mode is Mode.LEXICAL else embedder_for_queries(self.workspace, space),
                is_fused=is_fused,
                is_compared=self._fusion(query) is Fusion.CONVEX,
            ),
        )

    def _fusion(self, query: SearchQuery) -> Fusion:
        return query.fusion or Fusion(preference(self.workspace, "fusion"))

    def _search(self, query: SearchQuery) -> SearchResult:
        scope = self._corpus.scope(query.filters)
        legs = self._legs(scope, query)
        stages = Stages.of(query, preference(self.workspace, "pre_rerank_max_per_file"))
        ranked, after = self._ranked(scope, query, legs, stages)
        version = self._version(query.mode, legs)
        reading = self._reading(scope)
        hits = HitBuilder(
            self.workspace,
            scope,
            query,
            legs.lexical,
            scope.space,
            version,
            read=lambda _, chunk_ids: self._rows.hits(reading, chunk_ids),
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

    def _ranked(
        self, scope: Scope, query: SearchQuery, legs: Legs, stages: Stages
    ) -> tuple[Ranked, AfterFusion]:
        documents: dict[str, int] = {}
        reading = self._reading(scope)

        def read_back(chunk_ids: Sequence[str]) -> Mapping[str, int]:
            standing = self._rows.standing(reading, chunk_ids)
            documents.update(standing)
            if isinstance(legs.vector, BundleVectorLeg):
                legs.vector.note_strangers(chunk_ids)
            return standing

        ranked = rank_candidates(
            query.mode,
            legs.used(query.mode),
            read_back,
            k=stages.window(query.k),
            fusion=self._fusion(query),
            k_rrf=preference(self.workspace, "rrf_k"),
            vector_share=preference(self.workspace, "vector_share"),
        )
        after = after_fusion(
            ranked.entries,
            stages,
            query=query.asked.rerank,
            document_of=documents,
            passages_of=partial(self._passages, reading),
            reranker=configured_reranker() if stages.rerank else None,
        )
        return replace(ranked, timings_ms={**ranked.timings_ms, **after.timings_ms}), after

    def _passages(self, reading: MirrorReading, chunk_ids: Sequence[str]) -> dict[str, str]:
        found = self._rows.passages(reading, chunk_ids)
        return {id_: embedded_text(breadcrumb, text) for id_, (breadcrumb, text) in found.items()}

    def _version(self, mode: Mode, legs: Legs) -> str:
        weight = preference(self.workspace, "breadcrumb_weight")
        words = None if mode is Mode.VECTOR else index_version(weight, legs.lexical.analysis)
        vectors = NO_VECTORS if self._corpus.space is None else self._corpus.space.index_version
        return str(IndexVersion(lexical=words, vector=None if mode is Mode.LEXICAL else vectors))

    def _did_you_mean(self, scope: Scope, query: SearchQuery, ranked: Ranked) -> str | None:
        if ranked.lists.get("lexical") != ():
            return None
        reading = self._reading(scope)
        read = partial(self._rows.passages, reading)
        return did_you_mean(reading, query.asked.lexical, lambda _, chunk_ids: read(chunk_ids))

    def _explanation(
        self, query: SearchQuery, legs: Legs, ranked: Ranked, after: AfterFusion
    ) -> dict[str, Any]:
        weights = {leg.name: leg.weight for leg in legs.used(query.mode)}
        k_rrf = preference(self.workspace, "rrf_k")
        explained = explanation(legs.lexical.match, ranked, after, weights=weights, k_rrf=k_rrf)
        if "vector" in ranked.degraded and legs.vector.off_because:
            explained["off"] = {"vector": legs.vector.off_because}
        return explained


def _warnings(query: SearchQuery, legs: Legs) -> tuple[str, ...]:
    mismatch = legs.vector.mismatch
    return (mismatch,) if mismatch and query.mode is not Mode.LEXICAL else ()


def _window(query: SearchQuery, stages: Stages, ranked: Ranked) -> VectorWindow | None:
    if "vector" not in ranked.lists:
        return None
    return VectorWindow(asked=candidates_wanted(stages.window(query.k)), found=len(ranked.lists["vector"]))
