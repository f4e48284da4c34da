"""View models of answers: plain text, split at citation markers; the templates escape it."""

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
from search.pages.ask.labels import OutcomeLabel, outcome_label
from search.pages.document.cited_range import CitedRange

#: Characters of a cited text shown below an answer; the rest is in the passage's panel.
QUOTE_CHARS: Final = 320
#: Passages shown below a question that isn't answered.
NEAREST: Final = 5
_SPACE = re.compile(r"\s+")
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPiece:
    """A run of an answer's text, or a marker in it that links to a citation."""

    text: str
    #: None for plain text.
    citation: "ShownCitation | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPlace:
    """A passage found for the question."""

    found: AnswerHit | AnswerCitation
    #: Below the title, outermost first.
    headings: tuple[str, ...]
    #: The document's page at the passage.
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCitation(ShownPlace):
    """The citation behind a marker."""

    found: AnswerCitation
    #: The passage's own page.
    passage_address: str
    quote: str
    is_cut: bool
    #: Its present state; None if it wasn't checked.
    check: "ShownCheck | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCheck:
    """The present state of a cited text."""

    label: str
    #: '', 'good' or 'bad': the CSS class that colours the state.
    kind: str
    #: Its new citation, if it has moved.
    uri: str | None


_CHECKS: Final[Mapping[CitationState, tuple[str, str]]] = {
    CitationState.STANDS: ("Still stands", "good"),
    CitationState.CHANGED: ("The document doesn’t say it any more", "bad"),
    CitationState.GONE: ("The document is gone", "bad"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAnswer:
    """An answer prepared for its page."""

    answer: Answer
    verdict: OutcomeLabel
    paragraphs: Sequence[Sequence[TextPiece]]
    citations: Sequence[ShownCitation]
    #: The best passages for a question that isn't answered.
    nearest: Sequence[ShownPlace]
    #: The search page with the question as its query.
    search_address: str
    #: Whether the reader asked the question.
    is_own: bool
    #: The answer's own page.
    address: str


def present_answer(
    workspace: Workspace, answer: Answer, *, is_own: bool, checked: Sequence[CheckedCitation] = ()
) -> ShownAnswer:
    """Return the view model of an answer, with the present state of its citations if they were checked."""
    checks = {each.cited.n: _present_check(each) for each in checked}
    citations = [
        replace(present_citation(workspace, answer, each), check=checks.get(each.n))
        for each in answer.citations
    ]
    by_number = {each.found.n: each for each in citations}
    is_answered = answer.state in (AnswerState.GROUNDED, AnswerState.EXTRACTIVE)
    return ShownAnswer(
        answer=answer,
        verdict=outcome_label(answer),
        paragraphs=[list(_split_at_markers(text, by_number)) for text in _split_paragraphs(answer.text)],
        citations=citations,
        nearest=[] if is_answered else [_present_place(workspace, hit) for hit in answer.hits[:NEAREST]],
        search_address=f"{reverse('search', args=[workspace.slug])}?{urlencode({'q': answer.question})}",
        is_own=is_own,
        address=reverse("answer", args=[workspace.slug, answer.answer_id]),
    )


def present_citation(workspace: Workspace, answer: Answer, cited: AnswerCitation) -> ShownCitation:
    """Return the view model of an answer's citation."""
    quote = _SPACE.sub(" ", cited.quote).strip()
    return ShownCitation(
        found=cited,
        headings=_subheadings(cited),
        address=place_address(workspace, cited),
        passage_address=reverse("answer-citation", args=[workspace.slug, answer.answer_id, cited.n]),
        quote=quote[:QUOTE_CHARS],
        is_cut=len(quote) > QUOTE_CHARS,
    )


def place_address(workspace: Workspace, found: AnswerHit | AnswerCitation) -> str:
    """Return the address of the document's page at the found passage."""
    page = reverse("document", args=[workspace.slug, uuid.UUID(hex=found.doc_id)])
    lines = found.citation
    cited = CitedRange(start=lines.start, end=lines.end, chunk_id=found.chunk_id, first=None)
    anchor = f"L{lines.start}" if lines.kind == "line" else f"chunk-{found.chunk_id}"
    return f"{page}?{cited.address()}#{anchor}"


def _present_check(checked: CheckedCitation) -> ShownCheck:
    label, kind = _CHECKS[checked.state]
    uri = None if checked.citation is None else checked.citation.uri
    return ShownCheck(label=label, kind=kind, uri=None if uri == checked.cited.uri else uri)


def _present_place(workspace: Workspace, hit: AnswerHit) -> ShownPlace:
    return ShownPlace(found=hit, headings=_subheadings(hit), address=place_address(workspace, hit))


def _subheadings(found: AnswerHit | AnswerCitation) -> tuple[str, ...]:
    is_repeated = found.heading_path[:1] == (found.title,)
    return found.heading_path[1:] if is_repeated else found.heading_path


def _split_paragraphs(text: str) -> list[str]:
    return [each for each in _PARAGRAPH_END.split(text.strip()) if each]


def _split_at_markers(text: str, citations: Mapping[int, ShownCitation]) -> Iterator[TextPiece]:
    """Split a text at the markers that have a citation; other marker-like text stays text."""
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
