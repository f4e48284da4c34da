"""Building of hits from ranked chunk ids: fields and text from Postgres, snippets around the matches."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from django.utils import timezone

from search.engine.corpus import Corpus
from search.engine.readback import VisibleChunk
from search.mirror.query.lexical import Match, make_snippets
from search.mirror.query.view import MirrorView
from search.mirror.sync.snapshot import analysis_for
from search.retrieval.citation import citation_of
from search.retrieval.fusion.ranking import RankedEntry
from search.retrieval.query.filters import TrustLevel
from search.retrieval.query.parser import index_terms, parse_query
from search.retrieval.staleness import stale_before
from search.retrieval.text.snippet import Snippet, best_window, cut_text, trim_next_character
from search.retrieval.text.unicode_scripts import words_of
from search.retrieval.types import SearchHit, SearchQuery
from search.settings.search_settings import SearchSettings
from search.vectors.spaces import LiveSpace

_TRUST_LEVELS = {level.value: level for level in TrustLevel}
# Number of terms, for example of a pasted page, that are checked for single unspaced characters.
_MAX_TERMS = 512


class HitBuilder:
    """A builder of the hits of one query. Snippets are computed for the hits only."""

    def __init__(
        self,
        corpus: Corpus,
        query: SearchQuery,
        view: MirrorView | None,
        match: Match | None,
        *,
        space: LiveSpace | None,
        index_version: str,
        with_snippets: bool = True,
    ) -> None:
        """`match` is the compiled query; without it, or a mirror, snippets are made of the texts alone."""
        self._corpus = corpus
        self._query = query
        self._view = view
        self._match = match
        self._space = space
        self._index_version = index_version
        self._with_snippets = with_snippets
        self._analysis = analysis_for(corpus.workspace)
        stale_after_days = SearchSettings.of(corpus.workspace).stale_after_days
        #: Documents indexed before are stale.
        self._stale_before = stale_before(timezone.now(), stale_after_days=stale_after_days)

    @cached_property
    def _terms(self) -> tuple[str, ...]:
        return parse_query(self._query.effective_channels.lexical).terms

    @cached_property
    def _index_terms(self) -> frozenset[str]:
        return index_terms(self._terms, self._analysis)

    @cached_property
    def _lone_terms(self) -> frozenset[str]:
        ends = (term for term in self._terms[:_MAX_TERMS] if self._analysis.is_prefix(term))
        return frozenset("".join(words_of(term)) for term in ends)

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
        visible = [entry for entry in entries if entry.chunk_id in chunks]
        snippets = self._lexical_snippets(visible, chunks)
        return tuple(self._hit(entry, chunks[entry.chunk_id], snippets) for entry in visible)

    def _lexical_snippets(
        self, entries: Sequence[RankedEntry], chunks: Mapping[str, VisibleChunk]
    ) -> Mapping[str, Snippet]:
        found = [entry.chunk_id for entry in entries if entry.retrieval.lexical_rank is not None]
        if not found or not self._with_snippets or self._view is None or self._match is None:
            return {}
        texts = {id_: chunks[id_].text for id_ in found}
        return make_snippets(self._view, self._match, texts, self._query.snippet_chars)

    def _hit(self, entry: RankedEntry, chunk: VisibleChunk, snippets: Mapping[str, Snippet]) -> SearchHit:
        snippet, highlights = self._snippet(chunk, snippets.get(entry.chunk_id))
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

    def _snippet(self, chunk: VisibleChunk, lexical: Snippet | None) -> Snippet:
        if not self._with_snippets:
            return "", []
        chars = self._query.snippet_chars
        text, highlights = lexical or ("", [])
        if highlights:
            if self._lone_terms:
                highlights = trim_next_character(text, highlights, self._lone_terms, self._index_terms)
            return cut_text(text, highlights, chars)
        return best_window(chunk.text, self._index_terms, self._analysis.analyse, chars)
