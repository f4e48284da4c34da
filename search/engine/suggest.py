"""Suggestions while somebody types: titles, headings and words of the corpus that they may see."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import nsmallest
from typing import Final, Literal

import apsw
from django.db.models.functions import Length

from kebab.people.models import Workspace
from kebab.people.reader import Reader
from search.access.scope import Scope, resolve_scope
from search.engine.readback import StandingChunk, read_hits
from search.engine.search import mirror_reading
from search.mirror import local_mirrors
from search.mirror.errors import MirrorError
from search.mirror.query.autocomplete import completions, outlines
from search.mirror.query.reader import MirrorReading
from search.mirror.query.vocabulary import Vocabulary
from search.models import Document
from search.retrieval.query.completion import LAST_CHARACTER, Typed
from search.retrieval.query.filters import SearchFilters
from search.retrieval.text.unicode_scripts import fold

DEFAULT_LIMIT: Final = 10
MAX_LIMIT: Final = 50

# Of so many places one is for words, and so many chunks are read back for one place.
_PLACES_A_WORD = 3
_READ_A_PLACE = 2

Kind = Literal["title", "heading", "word"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """Something that may be meant by what was typed."""

    kind: Kind
    #: What to search for.
    text: str
    #: The document that has the title or heading; None for a word.
    doc_id: str | None = None
    doc_path: str | None = None
    #: A chunk below the heading; None for a title or a word.
    chunk_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestions:
    """Titles, then headings, then words; `degraded` names what was missing."""

    query: str
    suggestions: tuple[Suggestion, ...] = ()
    degraded: tuple[str, ...] = ()


def suggest(workspace: Workspace, text: str, *, reader: Reader, limit: int = DEFAULT_LIMIT) -> Suggestions:
    """Give up to `limit` suggestions for `text` as typed so far, all of them read back from Postgres.

    Titles and headings have words that begin with the typed ones; words complete the last one, and a third of
    the places is theirs. Order: those that begin as typed first, then the shorter, then by letters; of the
    words the commonest first.
    """
    typed = Typed(text)
    if not typed.words:
        return Suggestions(query=text)
    scope = resolve_scope(workspace, SearchFilters(), reader)
    titles = _titles(scope, typed, limit)
    local_mirrors.ensure_mirror(workspace.pk, scope.head_seq)
    reading = mirror_reading(workspace, scope)
    try:
        entitled, completing = _looked_up(reading, typed, limit if len(titles) < limit else 0)
        standing = read_hits(scope, list(dict.fromkeys([*entitled, *completing])))
        words = _words(typed, reading, standing.values() if completing else ())
    except (MirrorError, apsw.InterruptError):
        return Suggestions(query=text, suggestions=tuple(titles[:limit]), degraded=("lexical",))
    headings = _once([*titles, *_headings(typed, standing.values())], typed)
    places = max(limit - len(words), limit - limit // _PLACES_A_WORD)
    return Suggestions(query=text, suggestions=(*headings[:places], *words)[:limit])


def _titles(scope: Scope, typed: Typed, limit: int) -> list[Suggestion]:
    """Return the titles that begin as typed, the shortest of them."""
    visible = Document.objects.in_workspace(scope.workspace_id).filter(scope.document_conditions())
    beginning = " ".join(typed.text.lower().split())
    found = (
        visible.filter(title_folded__gte=beginning, title_folded__lt=beginning + LAST_CHARACTER)
        .order_by(Length("title"), "title_folded", "path", "doc_id")
        .values_list("title", "doc_id", "path")
    )
    return [
        Suggestion(kind="title", text=title, doc_id=id_.hex, doc_path=path)
        for title, id_, path in found[: limit * _READ_A_PLACE]
    ]


def _looked_up(reading: MirrorReading, typed: Typed, limit: int) -> tuple[list[str], list[str]]:
    """Return the chunks whose title or heading fits best, and those to complete from. Raises MirrorError."""
    with reading.connection() as connection:
        vocabulary = Vocabulary(reading, connection)
        found = outlines(vocabulary, typed.words) if limit else []
        completing = completions(vocabulary, typed.words)
    named = {
        one: each.chunk_id for each in reversed(found) for one in _named(each.headings[0], each.headings)
    }
    fitting = (one for one in named if typed.begins_words_of(one[1]))
    best = nsmallest(limit * _READ_A_PLACE, fitting, key=partial(_order, typed))
    return [named[one] for one in best], completing


def _named(title: str, headings: Sequence[str]) -> Iterator[tuple[Kind, str]]:
    yield "title", title
    if headings and headings[-1] != title:
        yield "heading", headings[-1]


def _order(typed: Typed, named: tuple[Kind, str]) -> tuple[bool, bool, int, str, str]:
    kind, text = named
    return (kind == "heading", *typed.order_of(text), text)


def _headings(typed: Typed, chunks: Iterable[StandingChunk]) -> Iterator[Suggestion]:
    for each in chunks:
        for kind, text in _named(each.title, each.heading_path):
            if typed.begins_words_of(text):
                chunk_id = each.chunk_id if kind == "heading" else None
                yield Suggestion(
                    kind=kind, text=text, doc_id=each.doc_id, doc_path=each.path, chunk_id=chunk_id
                )


def _once(found: Iterable[Suggestion], typed: Typed) -> list[Suggestion]:
    """Return each text once however it is written, in order; of equals the one with the first path."""
    once: dict[str, Suggestion] = {}
    for each in sorted(
        found, key=lambda one: (*_order(typed, (one.kind, one.text)), one.doc_path, one.chunk_id or "")
    ):
        once.setdefault(fold(each.text), each)
    return list(once.values())


def _words(typed: Typed, reading: MirrorReading, chunks: Iterable[StandingChunk]) -> list[Suggestion]:
    """Return a completion for each term as most chunks write it, the commonest first. Raises MirrorError."""
    texts = (" ".join((chunk.title, *chunk.heading_path, chunk.text)) for chunk in chunks)
    completing = [word for text in texts for word in typed.completing(text)]
    if not completing:
        return []
    forms: dict[str, Counter[str]] = {}
    with reading.connection() as connection:
        vocabulary = Vocabulary(reading, connection)
        for word in completing:
            forms.setdefault(vocabulary.analysis.query_tokens(word)[0], Counter())[word] += 1
        counts = vocabulary.chunk_counts(forms)
    terms = sorted(forms, key=lambda term: (-counts.get(term, 0), term))
    words = (min(forms[term], key=lambda word: (-forms[term][word], word)) for term in terms)
    return [Suggestion(kind="word", text=typed.completed(word)) for word in words]
