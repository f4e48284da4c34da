"""Answers as their pages show them: plain text, cut at its markers; the templates escape it."""

import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlencode

from django.urls import reverse

from kebab.people.models import Workspace
from search.answers import Answer, AnswerCitation, AnswerHit, AnswerState
from search.answers.citation_check import CheckedCitation, CitationState
from search.answers.markers import MARKER
from search.pages.ask.labels import Verdict, verdict_of
from search.pages.document.cited_range import Cited

#: So much of a cited text stands below an answer; the rest beside it.
QUOTE_CHARS: Final = 320
#: So many of what was found stand below a question that isn't answered.
NEAREST: Final = 5
_SPACE = re.compile(r"\s+")
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPiece:
    """A run of an answer's text, or a marker in it that leads to a citation."""

    text: str
    #: None: it is text.
    citation: "ShownCitation | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPlace:
    """A passage that was found for the question."""

    found: AnswerHit | AnswerCitation
    #: Below the title, outermost first.
    headings: tuple[str, ...]
    #: Of the document's page, at the place.
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCitation(ShownPlace):
    """What a marker leads to."""

    found: AnswerCitation
    #: Of the passage's own page.
    passage_address: str
    quote: str
    is_cut: bool
    #: What has become of it; None where nobody has looked.
    check: "ShownCheck | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCheck:
    """Whether a cited text still stands."""

    label: str
    #: '', 'good' or 'bad', as states are coloured.
    kind: str
    #: Where it stands now, when that is another place.
    uri: str | None


_CHECKS: Final[Mapping[CitationState, tuple[str, str]]] = {
    CitationState.STANDS: ("Still stands", "good"),
    CitationState.CHANGED: ("The document doesn’t say it any more", "bad"),
    CitationState.GONE: ("The document is gone", "bad"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAnswer:
    """An answer with what is made of it for the page."""

    answer: Answer
    verdict: Verdict
    paragraphs: Sequence[Sequence[TextPiece]]
    citations: Sequence[ShownCitation]
    #: What was found for a question that isn't answered.
    nearest: Sequence[ShownPlace]
    #: Where to search for the question.
    search_address: str
    #: Whether the reader asked it.
    is_own: bool
    #: Of its own page.
    address: str


def shown_answer(
    workspace: Workspace, answer: Answer, *, is_own: bool, checked: Sequence[CheckedCitation] = ()
) -> ShownAnswer:
    """Return an answer for its page; with what has become of its citations where that was looked at."""
    checks = {each.cited.n: _check(each) for each in checked}
    citations = [
        replace(shown_citation(workspace, answer, each), check=checks.get(each.n))
        for each in answer.citations
    ]
    by_number = {each.found.n: each for each in citations}
    is_answered = answer.state in (AnswerState.GROUNDED, AnswerState.EXTRACTIVE)
    return ShownAnswer(
        answer=answer,
        verdict=verdict_of(answer),
        paragraphs=[list(_pieces(text, by_number)) for text in _paragraphs(answer.text)],
        citations=citations,
        nearest=[] if is_answered else [_place(workspace, hit) for hit in answer.hits[:NEAREST]],
        search_address=f"{reverse('search', args=[workspace.slug])}?{urlencode({'q': answer.question})}",
        is_own=is_own,
        address=reverse("answer", args=[workspace.slug, answer.answer_id]),
    )


def shown_citation(workspace: Workspace, answer: Answer, cited: AnswerCitation) -> ShownCitation:
    """Return a citation of an answer for its page."""
    quote = _SPACE.sub(" ", cited.quote).strip()
    return ShownCitation(
        found=cited,
        headings=_below_title(cited),
        address=place_address(workspace, cited),
        passage_address=reverse("answer-citation", args=[workspace.slug, answer.answer_id, cited.n]),
        quote=quote[:QUOTE_CHARS],
        is_cut=len(quote) > QUOTE_CHARS,
    )


def place_address(workspace: Workspace, found: AnswerHit | AnswerCitation) -> str:
    """Return the address of the document's page at what was found."""
    page = reverse("document", args=[workspace.slug, uuid.UUID(hex=found.doc_id)])
    lines = found.citation
    cited = Cited(start=lines.start, end=lines.end, chunk_id=found.chunk_id, first=None)
    anchor = f"L{lines.start}" if lines.kind == "line" else f"chunk-{found.chunk_id}"
    return f"{page}?{cited.address()}#{anchor}"


def _check(checked: CheckedCitation) -> ShownCheck:
    label, kind = _CHECKS[checked.state]
    uri = None if checked.citation is None else checked.citation.uri
    return ShownCheck(label=label, kind=kind, uri=None if uri == checked.cited.uri else uri)


def _place(workspace: Workspace, hit: AnswerHit) -> ShownPlace:
    return ShownPlace(found=hit, headings=_below_title(hit), address=place_address(workspace, hit))


def _below_title(found: AnswerHit | AnswerCitation) -> tuple[str, ...]:
    is_repeated = found.heading_path[:1] == (found.title,)
    return found.heading_path[1:] if is_repeated else found.heading_path


def _paragraphs(text: str) -> list[str]:
    return [each for each in _PARAGRAPH_END.split(text.strip()) if each]


def _pieces(text: str, citations: Mapping[int, ShownCitation]) -> Iterator[TextPiece]:
    """Cut a text at the markers that lead somewhere; what else looks like one stays text."""
    at = 0
    for found in MARKER.finditer(text):
        citation = citations.get(int(found[1]))
        if citation is None or found[1] != str(citation.found.n):
            continue
        if at < found.start():
            yield TextPiece(text=text[at : found.start()])
        yield TextPiece(text=found[0], citation=citation)
        at = found.end()
    if at < len(text):
        yield TextPiece(text=text[at:])
