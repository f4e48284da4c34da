"""Building of hits from ranked chunk ids: fields and text from Postgres, snippets around the matches."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from django.utils import timezone

from search.engine.corpus import Corpus
from search.engine.readback import VisibleChunk
from search.mirror.query.lexical import Match
from search.mirror.sync.snapshot import analysis_for
from search.retrieval.citation import citation_of
from search.retrieval.fusion.ranking import RankedEntry
from search.retrieval.query.filters import TrustLevel
from search.retrieval.query.parser import marked_units
from search.retrieval.staleness import stale_before
from search.retrieval.text.snippet import Snippet, SnippetBuilder
from search.retrieval.types import SearchHit, SearchQuery
from search.settings.search_settings import SearchSettings
from search.vectors.spaces import LiveSpace

_TRUST_LEVELS = {level.value: level for level in TrustLevel}
_NO_SNIPPET: Snippet = ("", [])


class HitBuilder:
    """A builder of the hits of one query. Snippets are computed for the hits only."""

    def __init__(
        self,
        corpus: Corpus,
        query: SearchQuery,
        match: Match | None,
        *,
        space: LiveSpace | None,
        index_version: str,
        with_snippets: bool = True,
    ) -> None:
        """`match` is the compiled query; without it snippets are made for the query's words."""
        self._corpus = corpus
        self._query = query
        self._match = match
        self._space = space
        self._index_version = index_version
        self._with_snippets = with_snippets
        self._analysis = analysis_for(corpus.workspace)
        stale_after_days = SearchSettings.of(corpus.workspace).stale_after_days
        #: Documents indexed before are stale.
        self._stale_before = stale_before(timezone.now(), stale_after_days=stale_after_days)

    @cached_property
    def _snippets(self) -> SnippetBuilder:
        if self._match is not None:
            return SnippetBuilder(self._match.marked_units, self._analysis, self._match.language)
        units, language = marked_units(self._query.effective_channels.lexical, self._analysis)
        return SnippetBuilder(units, self._analysis, language)

    def build(self, entries: Sequence[RankedEntry]) -> tuple[SearchHit, ...]:
        """Return a hit for each entry whose chunk is still visible, ranks 1, 2, 3, …"""
        hits = self.build_as_ranked(entries)
        if len(hits) == len(entries):
            return hits
        return tuple(replace(hit, rank=rank) for rank, hit in enumerate(hits, start=1))

    def build_as_ranked(self, entries: Sequence[RankedEntry]) -> tuple[SearchHit, ...]:
        """Return a hit for each entry whose chunk is still visible, with the ranks of the entries."""
        chunk_ids = [entry.chunk_id for entry in entries]
        chunks = self._corpus.read_hits(chunk_ids) if chunk_ids else {}
        return tuple(
            self._hit(entry, chunks[entry.chunk_id]) for entry in entries if entry.chunk_id in chunks
        )

    def _hit(self, entry: RankedEntry, chunk: VisibleChunk) -> SearchHit:
        snippet, highlights = _NO_SNIPPET
        if self._with_snippets:
            snippet, highlights = self._snippets.build(chunk.text, self._query.snippet_chars)
        found_by_vector = entry.retrieval.vector_rank is not None and self._space is not None
        return SearchHit(
            rank=entry.rank,
            score=entry.score,
            chunk_id=entry.chunk_id,
            doc_id=chunk.doc_id,
            doc_path=chunk.path,
            title=chunk.title,
            heading_path=chunk.heading_path,
            section_label=chunk.section_label,
            snippet=snippet,
            highlights=tuple(highlights),
            citation=citation_of(chunk.path, chunk.section_label, chunk.source_spans),
            retrieval=entry.retrieval,
            index_version=self._index_version,
            chunker_version=chunk.chunker_version,
            embedding_model=self._space.model if found_by_vector and self._space else None,
            indexed_at=chunk.indexed_at,
            stale=chunk.indexed_at < self._stale_before,
            source=chunk.source_key,
            version=chunk.version_tag or None,
            lang=chunk.lang,
            tags=chunk.tags,
            trust_level=_TRUST_LEVELS[chunk.trust_level],
            code_lang=chunk.language or None,
        )
