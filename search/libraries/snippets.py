"""Snippet search: a library's chunks, found by search and read whole.

The index has stems and parts: `configuration` is `configur`, so that `configura*` finds nothing, and `next.j`
ends in a prefix too short to search. For an unfinished last word, chunks with a shorter prefix of the word,
or with its parts, are scanned instead for a word with the prefix.

The expression is for the engine's raw form `'…'`. If the engine refuses it, `plain_terms` is used instead.
"""

import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Annotated

from pydantic import Field

from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from search.analysis import is_prefix, query_tokens, relaxed_terms
from search.engine.search import search
from search.engine.time_limit import limited_search
from search.libraries.library import ChosenLibrary, NamedLibrary
from search.models import Chunk
from search.retrieval.citation import Citation
from search.retrieval.deadline import is_over
from search.retrieval.errors import InvalidQuery
from search.retrieval.query.completion import TypedText
from search.retrieval.query.filters import ChunkKind, SearchFilters
from search.retrieval.query.match_units import quote_term
from search.retrieval.query.parser import parse_query
from search.retrieval.text.unicode_scripts import RUN, fold, words_of
from search.retrieval.types import Mode, SearchHit, SearchQuery, SearchResult
from search.retrieval.wire_types import HexId, Keyword, NonEmpty, Score

#: Fewest characters of a last term that is searched as a prefix.
MIN_PREFIX_CHARS = 3
_PARENTHESES = str.maketrans("()", "  ")
_OPERATORS = frozenset({"AND", "OR", "NOT"})
# A phrase is enclosed by white space; any other run of characters is one term.
_PHRASE_OR_RUN = re.compile(r'"(?P<phrase>[^"]*)"(?P<star>\*?)(?!\S)|(?P<run>\S+)')


@dataclass(frozen=True, slots=True, kw_only=True)
class _Word:
    text: str
    is_operator: bool = False


def add_prefix_star(text: str) -> str:
    """Return the query with parentheses and runs of white space as one space, and `*` after a long last term.

    `how to use hooks` → `how to use hooks*`; `ab` → `ab`; `react*` → `react*`; `foo (bar)` → `foo bar*`.
    """
    terms = text.translate(_PARENTHESES).split()
    if terms and len(terms[-1]) >= MIN_PREFIX_CHARS and not terms[-1].endswith("*"):
        terms[-1] += "*"
    return " ".join(terms)


def prefix_expression(text: str) -> str:
    """Return the FTS5 expression of an unfinished query; '' when it has no terms.

    Balanced "phrases", well-placed AND, OR and NOT, and a trailing `*` have their FTS5 meaning; every other
    term is quoted: `how to use hooks` → `"how" "to" "use" "hooks"*`. A single character of a script without
    spaces is a prefix at any position, because the index has such characters in pairs.
    """
    words = [
        word for match in _PHRASE_OR_RUN.finditer(add_prefix_star(text)) if (word := _word(match)) is not None
    ]
    return " ".join(_place_operators(words))


def is_operator(term: str) -> bool:
    """Return whether `term` is an FTS5 operator when well-placed."""
    return term in _OPERATORS


def plain_terms(text: str) -> str:
    """Return the terms without any syntax; in a plain query the engine quotes each of them."""
    terms = " ".join(text.translate(_PARENTHESES).replace("*", " ").split())
    return terms if parse_query(terms).raw is None else terms.replace("'", " ")


def _word(match: re.Match[str]) -> _Word | None:
    run = match["run"]
    if run is None:
        phrase = match["phrase"].strip()
        return _Word(text=_match_term(phrase, is_partial=bool(match["star"]))) if phrase else None
    if is_operator(run):
        return _Word(text=run, is_operator=True)
    term = run.rstrip("*")
    if not term:
        return None
    return _Word(text=_match_term(term, is_partial=run.endswith("*")))


def _match_term(term: str, *, is_partial: bool) -> str:
    return _quote(term) + ("*" if is_partial or is_prefix(term) else "")


def _place_operators(words: Sequence[_Word]) -> list[str]:
    """Return the words in order, with operators that aren't between two terms quoted as terms."""
    placed: list[str] = []
    follows_term = False
    for nth, word in enumerate(words):
        is_before_term = nth + 1 < len(words) and not words[nth + 1].is_operator
        is_operator = word.is_operator and follows_term and is_before_term
        placed.append(_quote(word.text) if word.is_operator and not is_operator else word.text)
        follows_term = not is_operator
    return placed


def _quote(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'


# The longest suffixes that stemming removes have this many letters: `-ization`, `-fulness`.
_STEMMED_CHARS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfinishedWord:
    """An unfinished word and the expression of the chunks that may contain it."""

    #: FTS5 expression of the chunks to scan.
    expression: str
    #: As typed: one word, or the distinct parts of a compound.
    words: tuple[str, ...]

    def begins_words_of(self, text: str) -> bool:
        """Return whether each of the words is a prefix of a word of `text` or of a part of an identifier."""
        runs = set(RUN.findall(text))
        return all(
            any(word in fold(run) and TypedText(word).begins_words_of(run) for run in runs)
            for word in self.words
        )


def parse_unfinished_word(text: str) -> UnfinishedWord | None:
    """Return the last word of plain terms; None when it is too short or the text contains query syntax."""
    *before, last = add_prefix_star(text).split() or [""]
    word = last.removesuffix("*")
    if last == word or any(is_operator(term) or '"' in term or "*" in term for term in (*before, word)):
        return None
    words = tuple(dict.fromkeys(words_of(word)))  # each is compared with every word of 200 chunks
    if not words:
        return None
    either = " OR ".join(dict.fromkeys(_alternatives(word)))
    expression = " AND ".join([*map(quote_term, before), f"({either})"])
    return UnfinishedWord(expression=expression, words=words)


def _alternatives(word: str) -> Iterator[str]:
    yield from map(quote_term, relaxed_terms(word))
    if len(words_of(word)) > 1:
        return  # the parts before the last find it
    shortest = max(MIN_PREFIX_CHARS, len(word) - _STEMMED_CHARS)
    for end in range(len(word) - 1, shortest - 1, -1):
        beginning = word[:end]
        # A stem may end in a letter that the word lacks: `organis` is `organi`, `getUserBy` `getuserbi`.
        is_open = end == len(word) - 1 or query_tokens(beginning) != tuple(words_of(beginning))
        yield quote_term(beginning) + ("*" if is_open else "")


DEFAULT_LIMIT = 20
MAX_LIMIT = 100
#: `offset + limit` stays within the most hits of a search.
MAX_OFFSET = 900
# Most chunks that are scanned for an unfinished last word: some 20 ms more, only when nothing else is found.
_MAX_CHUNKS_SCANNED = 200
_MARKDOWN = frozenset({"text/markdown", "text/mdx"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LibrarySnippet:
    """A chunk in the form in which a library shows it."""

    #: Label of its section; '' when it has none, like the breadcrumb.
    title: str
    breadcrumb: str
    #: All of it.
    text: NonEmpty
    kind: ChunkKind
    #: The programming language of code.
    language: NonEmpty | None
    #: Higher is better.
    score: Score
    chunk_id: HexId
    doc_id: HexId
    citation: Citation
    #: Whether its text may contain its own fences.
    is_markdown: Annotated[bool, Field(exclude=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SnippetResults:
    """Snippets, best first, with the degradations and warnings of the search."""

    snippets: tuple[LibrarySnippet, ...]
    degraded: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SnippetSearch:
    """A library's snippets for a query that is being typed, best first."""

    library: NamedLibrary
    query: str
    snippets: Annotated[tuple[LibrarySnippet, ...], Keyword("maxItems", MAX_LIMIT)]
    #: Legs that took no part or were stopped.
    degraded: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SnippetPage:
    """Page of the list of snippets and the kinds in it; no kind means all kinds."""

    kinds: tuple[ChunkKind, ...] = ()
    limit: int = DEFAULT_LIMIT
    offset: int = 0


@limited_search
def search_snippets(
    workspace: Workspace, reader: Reader, library: ChosenLibrary, typed: str, page: SnippetPage
) -> SnippetSearch:
    """Search snippets for a query that is being typed, by words only; the last word may be a prefix.

    A query that FTS5 refuses, or that takes too long, is repeated with every term quoted. If nothing is
    found, the chunks that may contain a word with the last one as prefix are scanned.
    """
    query = SearchQuery(
        text=_raw(prefix_expression(typed)),
        mode=Mode.LEXICAL,
        k=page.offset + page.limit,
        filters=library_filters(library, page.kinds),
    )
    try:
        result = search(workspace, query, reader=reader, with_snippets=False)
    except InvalidQuery:
        query = replace(query, text=plain_terms(typed))
        result = search(workspace, query, reader=reader, with_snippets=False)
    hits = [hit for hit in result.hits if has_every_term(hit)]
    found = read_snippets(workspace, result, hits[page.offset :])
    if not hits:
        found = _scan_for_last_word(workspace, reader, query, typed, page) or found
    return SnippetSearch(
        library=library.identify(),
        query=typed,
        snippets=found.snippets,
        degraded=found.degraded,
        warnings=found.warnings,
    )


def _scan_for_last_word(
    workspace: Workspace, reader: Reader, query: SearchQuery, typed: str, page: SnippetPage
) -> SnippetResults | None:
    """Return snippets with a word that starts with the last typed one; None when it can't be searched."""
    word = parse_unfinished_word(typed)
    if word is None:
        return None
    try:
        scan = replace(query, text=_raw(word.expression), k=_MAX_CHUNKS_SCANNED)
        result = search(workspace, scan, reader=reader, with_snippets=False)
    except InvalidQuery:
        return None
    found = read_snippets(workspace, result, result.hits)
    # A search that is out of time shows what it has compared.
    in_time = takewhile(lambda _: not is_over(), found.snippets)
    matching = [each for each in in_time if word.begins_words_of(f"{each.breadcrumb}\n{each.text}")]
    return replace(found, snippets=tuple(matching[page.offset : page.offset + page.limit]))


def _raw(expression: str) -> str:
    return f"'{expression}'"


def has_every_term(hit: SearchHit) -> bool:
    """Return whether the chunk has all terms; plain queries are filled up with chunks that have only some."""
    return hit.retrieval.tier != "some"


def library_filters(library: ChosenLibrary, kinds: tuple[ChunkKind, ...] = ()) -> SearchFilters:
    """Return the filters of one version of a library; without a version, search uses the default branch."""
    version = (library.version,) if library.version else ()
    return SearchFilters(source=(library.source.key,), version=version, kind=kinds)


def read_snippets(workspace: Workspace, result: SearchResult, hits: Sequence[SearchHit]) -> SnippetResults:
    """Return the hits' chunks that have text, read whole in one query, without those deleted meanwhile."""
    chunks = _chunks(workspace, hits)
    return SnippetResults(
        snippets=tuple(_snippet(hit, chunks[hit.chunk_id]) for hit in hits if hit.chunk_id in chunks),
        degraded=result.degraded,
        warnings=result.warnings,
    )


def _chunks(workspace: Workspace, hits: Sequence[SearchHit]) -> dict[str, Chunk]:
    ids = [uuid.UUID(hex=hit.chunk_id) for hit in hits]
    chunks = Chunk.objects.in_workspace(workspace).filter(chunk_id__in=ids, document__workspace=workspace.pk)
    rows = (
        chunks.exclude(text="")
        .select_related("document")
        .only("text", "breadcrumb", "kind", "language", "document__mime")
    )
    return {chunk.chunk_id.hex: chunk for chunk in rows}


def _snippet(hit: SearchHit, chunk: Chunk) -> LibrarySnippet:
    return LibrarySnippet(
        title=hit.section_label,
        breadcrumb=chunk.breadcrumb,
        text=chunk.text,
        kind=ChunkKind(chunk.kind),
        language=chunk.language or None,
        score=hit.retrieval.fusion_score if hit.retrieval.method is Mode.LEXICAL else hit.score,
        chunk_id=hit.chunk_id,
        doc_id=hit.doc_id,
        citation=hit.citation,
        is_markdown=chunk.document.mime in _MARKDOWN,
    )
