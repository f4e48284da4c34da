"""Building of hits from ranked chunk ids: fields and text from Postgres, snippets around the matches."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import accumulate
from operator import attrgetter

from django.utils import timezone

from kebab.identity.models import Workspace
from search.access.scope import SearchScope
from search.embedders.configured import embedder_for_queries
from search.embedders.query_language import guess_language
from search.engine.nearest_sentences import NearestSentences
from search.engine.outdated_pages import find_outdated
from search.engine.readback import VisibleChunk, read_hits, read_metadata
from search.mirror.query.match import Match
from search.mirror.sync.snapshot import analysis_for
from search.retrieval.citation import citation_of
from search.retrieval.deadline import deadline
from search.retrieval.fusion.ranking import RankedEntry
from search.retrieval.outdated import family_and_edition
from search.retrieval.query.filters import TrustLevel
from search.retrieval.query.plain_match import marked_units
from search.retrieval.staleness import stale_before
from search.retrieval.text.plain_text import Span
from search.retrieval.text.snippet import Highlight, Snippet, SnippetBuilder
from search.retrieval.types import MAX_SECTIONS, HitSection, Include, PageLink, SearchHit, SearchQuery, Sort
from search.settings.search_settings import SearchSettings
from search.vectors.spaces import LiveSpace

# Chunks with this share of their words in common, and some words, are near-copies; a page shows two of them.
_NEAR_SHARE = 0.9
_LEAST_WORDS = 20
_MAX_NEAR = 2
# Hits before it that a hit is compared with.
_COMPARED = 20
# Statements for a page, each for as many entries as it has near-copies too many.
_MAX_READS = 4
# Copies whose paths a hit lists.
_MAX_COPIES = 50
# Sentences of a page's passages without a word of the query that are compared with it.
_MOST_SENTENCES = 16
_TRUST_LEVELS = {level.value: level for level in TrustLevel}
_NO_SNIPPET: Snippet = ("", [])
_is_related = attrgetter("entry.retrieval.related")

#: Returns the ranked entries from one position to another; fewer at the end of the list.
ReadEntries = Callable[[int, int], Sequence[RankedEntry]]
#: By chunk id, what adds the snippets to a hit that was built without.
LateSnippets = dict[str, Callable[[SearchHit], None]]


@dataclass(kw_only=True)
class _Place:
    """A hit to be."""

    position: int
    entry: RankedEntry
    chunk: VisibleChunk
    #: Further passages of a document.
    sections: Sequence[VisibleChunk] = ()
    #: Chunks of the same text.
    copies: Sequence[VisibleChunk] = ()
    #: Chunks of older versions of its page.
    older: Sequence[VisibleChunk] = ()
    #: Characters of its text.
    size: int

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of its text."""
        return frozenset(self.chunk.text.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class HitPage:
    """The hits of a page, and the entries that were read for it."""

    hits: tuple[SearchHit, ...]
    #: Positions of the hits, and of near-copies that are left for later pages.
    positions: tuple[int, ...]
    near_copies: tuple[int, ...]
    #: Position after the last entry that was read.
    stop: int
    #: Whether all entries that were read are visible.
    is_whole: bool
    #: Whether all snippets were made in time; others are the beginnings of their passages.
    has_snippets: bool

    def order(self, size: int) -> tuple[int, ...]:
        """Return the positions in a list of `size` in the order of its pages."""
        return (*self.positions, *self.near_copies, *range(self.stop, size))


class HitBuilder:
    """A builder of the hits of one query. Snippets are computed for the hits only."""

    def __init__(
        self,
        workspace: Workspace,
        scope: SearchScope,
        query: SearchQuery,
        match: Match | None,
        *,
        space: LiveSpace | None,
        index_version: str,
        with_snippets: bool | LateSnippets = True,
        copies: Mapping[str, Sequence[str]],
        older: Mapping[str, Sequence[str]],
    ) -> None:
        """`match` is the compiled query; without it snippets are made for the query's words.

        `copies` are the ids of chunks of the same text, by the id of the one in the list, `older`
        those of older versions of a page, by the ids of its chunks.
        """
        self._workspace = workspace
        self._copies = copies
        self._older = older
        self._scope = scope
        self._query = query
        self._match = match
        self._space = space
        self._crosses_languages = space is not None and space.crosses_languages
        self._asked = query.effective_channels.vector
        self._index_version = index_version
        self._with_snippets = with_snippets
        self._analysis = analysis_for(workspace)
        self._deadline = deadline()
        self._has_time = True
        stale_after_days = SearchSettings.of(workspace).stale_after_days
        #: Documents indexed before are stale.
        self._stale_before = stale_before(timezone.now(), stale_after_days=stale_after_days)

    @cached_property
    def _snippets(self) -> SnippetBuilder:
        if self._match is not None:
            return SnippetBuilder(self._match.marked_units, self._analysis, self._match.language)
        text, rules = self._query.effective_channels.lexical, self._scope.rules
        units, language = marked_units(text, self._analysis, rules)
        return SnippetBuilder(units, self._analysis, language)

    def build(self, read_entries: ReadEntries, k: int, *, is_first: bool = True) -> HitPage:
        """Return a page of `k` hits from the visible entries: with the ranks 1, 2, 3, … if it is the first.

        On the first page the third of some near-copies and further ones are left for later pages; their
        places go to the entries that follow. Pinned ones are not, and none in another order than that of
        relevance.
        """
        places, near = list[_Place](), list[_Place]()
        may_defer = is_first and self._query.sort is Sort.RELEVANCE
        stop, is_whole = 0, True
        for _ in range(_MAX_READS):
            wanted = k - len(places)
            entries = read_entries(stop, stop + wanted)
            chunks = self._read(entries) if entries else {}
            for position, entry in enumerate(entries, start=stop):
                if entry.chunk_id not in chunks:
                    is_whole = False
                    continue
                chunk = chunks[entry.chunk_id]
                place = _Place(position=position, entry=entry, chunk=chunk, size=len(chunk.text))
                if entry.sections:
                    place.sections = [chunks[id_] for id_ in _section_ids(entry) if id_ in chunks]
                if entry.chunk_id in self._copies:
                    place.copies = [chunks[id_] for id_ in self._copy_ids(entry) if id_ in chunks]
                if self._older:
                    place.older = [chunks[id_] for id_ in self._older_ids(entry) if id_ in chunks]
                is_near = may_defer and not entry.retrieval.pinned and _is_near(place, places)
                (near if is_near else places).append(place)
            stop += len(entries)
            if len(entries) < wanted or len(places) == k or not near:
                break
        # Without enough others, near-copies fill the page after all, before hits that are only related.
        found = sorted([*places, *near], key=_is_related)
        places, near = found[:k], found[k:]
        scores = [each.entry.retrieval.score if is_first else each.entry.score for each in places]
        if self._query.sort is Sort.RELEVANCE:
            scores = list(accumulate(scores, min))
        hits = [
            self._hit(rank if is_first else place.entry.rank, score, place)
            for rank, (score, place) in enumerate(zip(scores, places, strict=True), start=1)
        ]
        if isinstance(self._with_snippets, dict):
            self._with_snippets |= {
                hit.chunk_id: partial(self._add_snippets, place)
                for hit, place in zip(hits, places, strict=True)
            }
        if hits and Include.METADATA in self._query.include:
            self._add_metadata(hits)
        if outdated := [hit for hit in hits if hit.outdated]:
            self._add_newer(outdated)
        return HitPage(
            hits=tuple(hits),
            positions=tuple([place.position for place in places]),
            near_copies=tuple([place.position for place in near]),
            stop=stop,
            is_whole=is_whole,
            has_snippets=self._has_time,
        )

    def _add_metadata(self, hits: Sequence[SearchHit]) -> None:
        metadata = read_metadata(self._scope, [hit.doc_id for hit in hits])
        for hit in hits:
            hit.metadata = metadata.get(hit.doc_id, {})

    def _add_newer(self, outdated: Sequence[SearchHit]) -> None:
        newer = find_outdated(self._workspace, self._scope, [hit.doc_id for hit in outdated])
        for hit in outdated:
            hit.replaced_by = newer.get(hit.doc_id)

    def _read(self, entries: Sequence[RankedEntry]) -> Mapping[str, VisibleChunk]:
        chunk_ids = [entry.chunk_id for entry in entries]
        chunk_ids += [id_ for entry in entries if entry.sections for id_ in _section_ids(entry)]
        if self._copies:
            chunk_ids += [id_ for entry in entries for id_ in self._copy_ids(entry)]
        if self._older:
            chunk_ids += [id_ for entry in entries for id_ in self._older_ids(entry)]
        return read_hits(self._scope, chunk_ids)

    def _copy_ids(self, entry: RankedEntry) -> Sequence[str]:
        return self._copies.get(entry.chunk_id, ())[:_MAX_COPIES]

    def _older_ids(self, entry: RankedEntry) -> Sequence[str]:
        return self._older.get(entry.chunk_id, ())[:_MAX_COPIES]

    def _hit(self, rank: int, score: float, place: _Place) -> SearchHit:
        entry, chunk = place.entry, place.chunk
        snippet, highlights = self._snippet(chunk)
        found_by_vector = entry.retrieval.vector_rank is not None and self._space is not None
        hit = SearchHit(
            rank=rank,
            score=score,
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
            date=chunk.dated_at,
            author=chunk.author or None,
            related=entry.retrieval.related,
            outdated=entry.retrieval.outdated,
            other_language=found_by_vector
            and self._crosses_languages
            and _is_in_other_language(chunk.lang, self._asked, bool(highlights)),
        )
        if Include.TEXT in self._query.include:
            hit.text = chunk.text[: self._query.max_text_chars]
        if place.copies:
            paths = dict.fromkeys(copy.path for copy in place.copies)
            hit.also_in = tuple(path for path in paths if path != chunk.path)
        if place.older:
            hit.older = tuple(map(_link_page, place.older))
        if entry.sections is not None:
            hit.sections = (
                self._section(chunk, snippet, highlights),
                *(self._section(each, *self._snippet(each)) for each in place.sections),
            )
            hit.section_count = 1 + len(entry.sections)
        return hit

    def _add_snippets(self, place: _Place, hit: SearchHit) -> None:
        self._with_snippets = True
        whole = self._hit(hit.rank, hit.score, place)
        hit.snippet, hit.highlights, hit.sections = whole.snippet, whole.highlights, whole.sections
        hit.other_language = whole.other_language

    def _snippet(self, chunk: VisibleChunk) -> Snippet:
        if self._with_snippets is not True:
            return _NO_SNIPPET
        self._has_time = self._has_time and time.monotonic() < self._deadline
        if not self._has_time:
            return SnippetBuilder((), self._analysis, None).build(chunk.plain, self._query.snippet_chars)
        crosses = self._crosses_languages and _is_in_other_language(chunk.lang, self._asked, False)
        find = self._nearest_span if crosses else None
        return self._snippets.build(chunk.plain, self._query.snippet_chars, find)

    @cached_property
    def _nearest_span(self) -> Callable[[str], Span | None] | None:
        embedder = embedder_for_queries(self._workspace, self._space)
        if embedder is None:
            return None
        return NearestSentences(embedder, self._asked, budget=_MOST_SENTENCES).nearest_span

    def _section(self, chunk: VisibleChunk, snippet: str, highlights: Sequence[Highlight]) -> HitSection:
        return HitSection(
            chunk_id=chunk.chunk_id,
            heading_path=chunk.heading_path,
            section_label=chunk.section_label,
            snippet=snippet,
            highlights=tuple(highlights),
            citation=citation_of(chunk.path, chunk.section_label, chunk.source_spans),
        )


@lru_cache
def _is_in_other_language(lang: str, query: str, is_certain: bool) -> bool:
    """Return whether a passage is in another language than the query."""
    language = lang.partition("-")[0]
    asked = guess_language(query, is_certain=is_certain)
    return language not in ("und", asked or language)


def _link_page(chunk: VisibleChunk) -> PageLink:
    edition = family_and_edition(chunk.title, chunk.path)[1]
    return PageLink(doc_id=chunk.doc_id, title=chunk.title, path=chunk.path, edition=edition)


def _section_ids(entry: RankedEntry) -> list[str]:
    return [section.chunk_id for section in (entry.sections or ())[: MAX_SECTIONS - 1]]


def _is_near(place: _Place, places: Sequence[_Place]) -> bool:
    """Return whether a place is a near-copy of enough of the last of `places`."""
    # Copies have about the same score, and so about the same rank.
    slack = (1 - _NEAR_SHARE) * place.size
    similar = [each for each in places[-_COMPARED:] if -slack <= each.size - place.size <= slack]
    if len(similar) < _MAX_NEAR or len(place.words) < _LEAST_WORDS:
        return False
    shares = [len(place.words & each.words) / len(place.words | each.words) for each in similar]
    return sum([share >= _NEAR_SHARE for share in shares]) >= _MAX_NEAR
