"""Suggestions during typing: titles, headings and words of the corpus that the reader may see."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import nsmallest
from typing import Annotated, Final, Literal

import apsw
from django.db.models.functions import Length

from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from search.access.predicate import documents_in_scope
from search.access.scope import SearchScope, resolve_scope
from search.engine.corpus import mirror_source
from search.engine.readback import VisibleChunk, read_hits
from search.engine.time_limit import limited_search
from search.mirror import local_mirrors
from search.mirror.files import MirrorError
from search.mirror.query.autocomplete import completions, outlines
from search.mirror.query.spelling import Vocabulary
from search.mirror.query.view import MirrorSource
from search.retrieval.query.completion import LAST_CHARACTER, TypedText
from search.retrieval.query.filters import SearchFilters
from search.retrieval.text.unicode_scripts import fold
from search.retrieval.wire_types import HexId, Keyword, NonEmpty

DEFAULT_LIMIT: Final = 10
MAX_LIMIT: Final = 50

# One of this many suggestions is a word; and this many chunks are read back per suggestion.
_SUGGESTIONS_PER_WORD = 3
_CHUNKS_PER_SUGGESTION = 2

Kind = Literal["title", "heading", "word"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A possible completion of the typed text."""

    kind: Kind
    #: The text to search for; of a word the query with its last word completed.
    text: NonEmpty
    #: The document that has the title or heading; None for a word.
    doc_id: HexId | None = None
    doc_path: NonEmpty | None = None
    #: A chunk below the heading; None for a title or a word.
    chunk_id: HexId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestions:
    """Completions of what was typed so far: titles, then headings, then words."""

    #: As typed.
    query: str
    suggestions: Annotated[tuple[Suggestion, ...], Keyword("maxItems", MAX_LIMIT)] = ()
    #: `lexical` while this node's mirror can't be read; titles are there all the same.
    degraded: tuple[Annotated[str, Keyword("enum", ["lexical"])], ...] = ()


@limited_search
def suggest(workspace: Workspace, text: str, *, reader: Reader, limit: int = DEFAULT_LIMIT) -> Suggestions:
    """Return up to `limit` suggestions for `text`, not yet fully typed, all of them read back from Postgres.

    Titles and headings have words that begin with the typed ones; words complete the last one and make up a
    third of the suggestions. Order: those with the typed prefix first, then by length, then by text; words by
    frequency.
    """
    typed = TypedText(text)
    if not typed.words:
        return Suggestions(query=text)
    scope = resolve_scope(workspace, SearchFilters(), reader)
    titles = _find_titles(scope, typed, limit)
    local_mirrors.ensure_mirror(workspace.pk, scope.head_seq)
    mirror = mirror_source(workspace, scope)
    try:
        heading_chunks, word_chunks = _find_chunks(mirror, typed, limit if len(titles) < limit else 0)
        visible = read_hits(scope, list(dict.fromkeys([*heading_chunks, *word_chunks])))
        words = _complete_words(typed, mirror, visible.values() if word_chunks else ())
    except (MirrorError, apsw.InterruptError):
        return Suggestions(query=text, suggestions=tuple(titles[:limit]), degraded=("lexical",))
    headings = _drop_duplicates([*titles, *_matching_titles_and_headings(typed, visible.values())], typed)
    n_headings = max(limit - len(words), limit - limit // _SUGGESTIONS_PER_WORD)
    return Suggestions(query=text, suggestions=(*headings[:n_headings], *words)[:limit])


def _find_titles(scope: SearchScope, typed: TypedText, limit: int) -> list[Suggestion]:
    """Return the shortest titles with the typed prefix."""
    prefix = " ".join(typed.text.lower().split())
    found = (
        documents_in_scope(scope)
        .filter(title_folded__gte=prefix, title_folded__lt=prefix + LAST_CHARACTER)
        .order_by(Length("title"), "title_folded", "path", "doc_id")
        .values_list("title", "doc_id", "path")
    )
    return [
        Suggestion(kind="title", text=title, doc_id=id_.hex, doc_path=path)
        for title, id_, path in found[: limit * _CHUNKS_PER_SUGGESTION]
    ]


def _find_chunks(mirror: MirrorSource, typed: TypedText, limit: int) -> tuple[list[str], list[str]]:
    """Return the chunks with the best titles or headings, and those for words. Raises MirrorError."""
    with mirror.open_for_leg() as view:
        vocabulary = Vocabulary(view)
        found = outlines(vocabulary, typed.words) if limit else []
        word_chunks = completions(vocabulary, typed.words)
    chunk_by_text = {
        one: each.chunk_id
        for each in reversed(found)
        for one in _title_and_heading(each.headings[0], each.headings)
    }
    fitting = (one for one in chunk_by_text if typed.begins_words_of(one[1]))
    best = nsmallest(limit * _CHUNKS_PER_SUGGESTION, fitting, key=partial(_sort_key, typed))
    return [chunk_by_text[one] for one in best], word_chunks


def _title_and_heading(title: str, headings: Sequence[str]) -> Iterator[tuple[Kind, str]]:
    yield "title", title
    if headings and headings[-1] != title:
        yield "heading", headings[-1]


def _sort_key(typed: TypedText, kind_and_text: tuple[Kind, str]) -> tuple[bool, bool, int, str, str]:
    kind, text = kind_and_text
    return (kind == "heading", *typed.sort_key(text), text)


def _matching_titles_and_headings(typed: TypedText, chunks: Iterable[VisibleChunk]) -> Iterator[Suggestion]:
    for each in chunks:
        for kind, text in _title_and_heading(each.title, each.heading_path):
            if typed.begins_words_of(text):
                chunk_id = each.chunk_id if kind == "heading" else None
                yield Suggestion(
                    kind=kind, text=text, doc_id=each.doc_id, doc_path=each.path, chunk_id=chunk_id
                )


def _drop_duplicates(found: Iterable[Suggestion], typed: TypedText) -> list[Suggestion]:
    """Return the sorted suggestions with each folded text once, the one with the first path."""
    by_text: dict[str, Suggestion] = {}
    for each in sorted(
        found, key=lambda one: (*_sort_key(typed, (one.kind, one.text)), one.doc_path, one.chunk_id or "")
    ):
        by_text.setdefault(fold(each.text), each)
    return list(by_text.values())


def _complete_words(
    typed: TypedText, mirror: MirrorSource, chunks: Iterable[VisibleChunk]
) -> list[Suggestion]:
    """Return the most frequent form of each index term, sorted by frequency. Raises MirrorError."""
    texts = (" ".join((chunk.title, *chunk.heading_path, chunk.text)) for chunk in chunks)
    found = [word for text in texts for word in typed.find_completions(text)]
    if not found:
        return []
    forms: dict[str, Counter[str]] = {}
    with mirror.open_for_leg() as view:
        vocabulary = Vocabulary(view)
        for word in found:
            forms.setdefault(vocabulary.analysis.query_tokens(word)[0], Counter())[word] += 1
        counts = vocabulary.chunk_counts(forms)
    terms = sorted(forms, key=lambda term: (-counts.get(term, 0), term))
    words = (min(forms[term], key=lambda word: (-forms[term][word], word)) for term in terms)
    return [Suggestion(kind="word", text=typed.complete(word)) for word in words]
