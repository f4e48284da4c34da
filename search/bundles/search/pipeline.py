"""Search pipeline over a bundle in place, without servers and without writing next to the file.

Legs, fusion and hits are those of `search.engine.search`; rows are read from the bundle instead of Postgres.
There are no access rights beyond those of the file.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import apsw

from search.access.scope import SearchScope
from search.bundles.errors import BundleRefused
from search.bundles.format.open_bundle import translate_damage
from search.bundles.format.row_reader import BundleReader
from search.bundles.search.chunk_rows import BundleRows
from search.bundles.search.corpus import BundleCorpus
from search.bundles.search.index import BundleIndex
from search.bundles.search.vector_leg import BundleVectorLeg, BundleVectors
from search.embedders.configured import embedder_for_queries
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
from search.engine.search import milliseconds_since
from search.mirror.query.exact import ExactLeg
from search.mirror.query.lexical import LexicalLeg
from search.mirror.query.reader import MirrorReading
from search.mirror.sync.snapshot import analysis_for
from search.retrieval.fusion.pipeline import Ranking
from search.retrieval.fusion.post_fusion import PostFusionResult, Stages
from search.retrieval.types import Fusion, Mode, SearchQuery, SearchResult
from search.settings.search_settings import SearchSettings

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
                compares_candidates=fusion_of(self.workspace, query) is Fusion.CONVEX,
            ),
        )

    def _search(self, query: SearchQuery) -> SearchResult:
        scope = self._corpus.scope(query.filters)
        legs = self._legs(scope, query)
        stages = Stages.of(query, SearchSettings.of(self.workspace).pre_rerank_max_per_file)
        ranked, after = self._rank(scope, query, legs, stages)
        version = index_version_of(self.workspace, query.mode, self._corpus.space, legs.lexical.analysis)
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
            warnings=legs.warnings(query.mode),
            rerank=after.rerank,
            lexical_total=legs.lexical.total if is_lexical else None,
            vector_window=vector_window(query, stages, ranked),
            hits=hits,
            did_you_mean=self._did_you_mean(scope, query, ranked) if is_lexical else None,
            explain=explain_ranking(self.workspace, query, legs, ranked, after) if query.explain else None,
        )

    def _rank(
        self, scope: SearchScope, query: SearchQuery, legs: Legs, stages: Stages
    ) -> tuple[Ranking, PostFusionResult]:
        reading = self._reading(scope)

        def read_back(chunk_ids: Sequence[str]) -> Mapping[str, int]:
            visible = self._rows.filter_visible(reading, chunk_ids)
            if isinstance(legs.vector, BundleVectorLeg):
                legs.vector.score_candidates(chunk_ids)
            return visible

        read_passages = partial(self._rows.read_passages, reading)
        return rank_and_apply_stages(
            self.workspace, query, legs, stages, read_back=read_back, read_passages=read_passages
        )

    def _did_you_mean(self, scope: SearchScope, query: SearchQuery, ranked: Ranking) -> str | None:
        if ranked.lists.get("lexical") != ():
            return None
        reading = self._reading(scope)
        read = partial(self._rows.read_passages, reading)
        return suggest_query(reading, query.effective_channels.lexical, lambda _, chunk_ids: read(chunk_ids))
