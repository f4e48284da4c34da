"""Snippets: a library's chunks, found by search and read whole."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kebab.people.models import Workspace
from kebab.people.reader import Reader
from search.engine.search import search
from search.libraries.last_word import begun_word
from search.libraries.library import ChosenLibrary
from search.libraries.prefix_match import plain_terms, typed_expression
from search.models import Chunk
from search.retrieval.citation import Citation
from search.retrieval.errors import InvalidQuery
from search.retrieval.query.filters import ChunkKind, SearchFilters
from search.retrieval.types import Mode, SearchHit, SearchQuery, SearchResult

DEFAULT_LIMIT = 20
MAX_LIMIT = 100
#: `offset + limit` stays within the most hits of a search.
MAX_OFFSET = 900
# Chunks that are read in search of a word that begins as typed: some 20 ms more, where nothing else is found.
_LOOKED_THROUGH = 200
_MARKDOWN = frozenset({"text/markdown", "text/mdx"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LibrarySnippet:
    """A chunk as a library shows it."""

    #: Its section's label, '' where it has none; so is the breadcrumb.
    title: str
    breadcrumb: str
    text: str
    kind: ChunkKind
    #: The programming language of code.
    language: str | None
    #: In [0, 1], higher is better.
    score: float
    chunk_id: str
    doc_id: str
    citation: Citation
    #: Whether its text may bring its own fences.
    is_markdown: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSnippets:
    """Snippets, best first, and what the search was missing."""

    snippets: tuple[LibrarySnippet, ...]
    degraded: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SnippetPage:
    """Which part of the list, and of which kinds; no kind is all kinds."""

    kinds: tuple[ChunkKind, ...] = ()
    limit: int = DEFAULT_LIMIT
    offset: int = 0


def search_snippets(
    workspace: Workspace, reader: Reader, library: ChosenLibrary, typed: str, page: SnippetPage
) -> FoundSnippets:
    """Find snippets for what is being typed, by its words alone: the last one may be a beginning.

    What FTS5 refuses, or takes too long over, is asked again with every term quoted. Where nothing is found,
    the chunks that may have a word which begins as the last one are looked through.
    """
    query = SearchQuery(
        text=_raw(typed_expression(typed)),
        mode=Mode.LEXICAL,
        k=page.offset + page.limit,
        filters=filters_of(library, page.kinds),
    )
    try:
        result = search(workspace, query, reader=reader, with_snippets=False)
    except InvalidQuery:
        query = replace(query, text=plain_terms(typed))
        result = search(workspace, query, reader=reader, with_snippets=False)
    hits = [hit for hit in result.hits if has_every_term(hit)]
    found = found_snippets(workspace, result, hits[page.offset :])
    return found if hits else _looked_through(workspace, reader, query, typed, page) or found


def _looked_through(
    workspace: Workspace, reader: Reader, query: SearchQuery, typed: str, page: SnippetPage
) -> FoundSnippets | None:
    """Return what has a word that begins as the last typed one; None where that can't be asked."""
    word = begun_word(typed)
    if word is None:
        return None
    try:
        asked = replace(query, text=_raw(word.expression), k=_LOOKED_THROUGH)
        result = search(workspace, asked, reader=reader, with_snippets=False)
    except InvalidQuery:
        return None
    found = found_snippets(workspace, result, result.hits)
    having = [each for each in found.snippets if word.begins_words_of(f"{each.breadcrumb}\n{each.text}")]
    return replace(found, snippets=tuple(having[page.offset : page.offset + page.limit]))


def _raw(expression: str) -> str:
    return f"'{expression}'"


def has_every_term(hit: SearchHit) -> bool:
    """Return whether the chunk has all that was asked for: a plain query is filled up with those that have
    some.
    """
    return hit.retrieval.tier != "some"


def filters_of(library: ChosenLibrary, kinds: tuple[ChunkKind, ...] = ()) -> SearchFilters:
    """Return the filters that keep to one version of a library; naming none keeps to the default branch."""
    version = (library.version,) if library.version else ()
    return SearchFilters(source=(library.source.key,), version=version, kind=kinds)


def found_snippets(workspace: Workspace, result: SearchResult, hits: Sequence[SearchHit]) -> FoundSnippets:
    """Return the hits' chunks, read whole in one query; one that went meanwhile is left out."""
    chunks = _chunks(workspace, hits)
    return FoundSnippets(
        snippets=tuple(_snippet(hit, chunks[hit.chunk_id]) for hit in hits if hit.chunk_id in chunks),
        degraded=result.degraded,
        warnings=result.warnings,
    )


def _chunks(workspace: Workspace, hits: Sequence[SearchHit]) -> dict[str, Chunk]:
    ids = [uuid.UUID(hex=hit.chunk_id) for hit in hits]
    chunks = Chunk.objects.in_workspace(workspace).filter(chunk_id__in=ids, document__workspace=workspace.pk)
    read = chunks.select_related("document").only("text", "breadcrumb", "kind", "language", "document__mime")
    return {chunk.chunk_id.hex: chunk for chunk in read}


def _snippet(hit: SearchHit, chunk: Chunk) -> LibrarySnippet:
    return LibrarySnippet(
        title=hit.section_label,
        breadcrumb=chunk.breadcrumb,
        text=chunk.text,
        kind=ChunkKind(chunk.kind),
        language=chunk.language or None,
        score=hit.score,
        chunk_id=hit.chunk_id,
        doc_id=hit.doc_id,
        citation=hit.citation,
        is_markdown=chunk.document.mime in _MARKDOWN,
    )
