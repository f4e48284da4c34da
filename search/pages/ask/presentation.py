"""View models of answers and their sources: outcomes in words, text with numbers, cited passages."""

import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlencode

from django.http import Http404
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kebab.identity.caller import Access
from kebab.identity.models import Workspace
from search.access.restrictions import visible_documents
from search.answers import Answer, AnswerCitation, AnswerHit, AnswerReason, AnswerState
from search.answers.blocks import BlockKind, read_blocks
from search.answers.citation_check import CheckedCitation, CitationState
from search.answers.prompt import MARKER
from search.api.querysets import chunk_in_context
from search.documents.addresses import place_path
from search.models import Chunk
from search.pages.document.highlighted_code import Code, highlight_lines, language_of_path
from search.pages.markdown.fragments import render_code, render_fragment
from search.pages.markdown.tokens import is_markdown
from search.pages.search.hits import subheadings


def render_answer(
    text: str, answer_id: uuid.UUID, citations: Mapping[int, "ShownCitation"], *, opened: int | None = None
) -> SafeString:
    """Return the text as HTML; markers without a citation stay text. `opened` is open beside it."""

    def link(marker: str) -> SafeString | None:
        number = marker[2:-1]
        cited = citations.get(int(number))
        if cited is None or number != str(cited.found.n):
            return None
        return _link(answer_id, cited, is_opened=cited.found.n == opened)

    return render_fragment(text, pattern=MARKER, replace=link)


def _link(answer_id: uuid.UUID, cited: "ShownCitation", *, is_opened: bool) -> SafeString:
    return format_html(
        '<a class="marker" href="#cited-{id}-{n}" hx-get="{address}" hx-target="#beside-{id}"'
        ' title="{title}"{current}><span class="visually-hidden">{source} </span>{number}</a>',
        id=answer_id,
        n=cited.found.n,
        number=cited.number,
        address=cited.passage_address,
        title=(cited.found.title or cited.found.citation.path)[:120],
        current=SafeString(' aria-current="true"' if is_opened else ""),
        source=gettext("Source"),
    )


def text_with_sources(question: str, text: str, citations: Sequence["ShownCitation"]) -> str:
    """Return question, answer and numbered sources as Markdown."""
    numbers = {str(each.found.n): each.number for each in citations}
    answer = MARKER.sub(lambda found: f"[{numbers.get(found[1], found[1])}]", text)
    sources = "\n".join(f"{each.number}. {each.found.title} ({each.found.uri})" for each in citations)
    return "\n\n".join(filter(None, (" ".join(question.split()), answer, sources)))


_UNANSWERED: Final = _("Nothing in your documents answers this.")
_REASONS: Final[Mapping[AnswerReason, Promise]] = {
    AnswerReason.NO_CHUNKS: _("No document that you can access matches this question."),
    AnswerReason.SCORE_GATE: _UNANSWERED,
    AnswerReason.NOT_COVERED: _UNANSWERED,
    AnswerReason.EMPTY: _("The model returned no text."),
    AnswerReason.NO_MARKER: _("It names no source."),
    AnswerReason.UNKNOWN_MARKER: _("It names a source that doesn’t exist."),
    AnswerReason.MODEL_TIMEOUT: _("The model took too long."),
    AnswerReason.MODEL_DIED: _("The model stopped before the end."),
    AnswerReason.RATE_LIMITED: _("The model has too many requests right now."),
    AnswerReason.MODEL_REFUSED: _("The model refused to answer."),
    AnswerReason.MODEL_UNAVAILABLE: _("The model can’t be reached right now."),
    AnswerReason.STOPPED: _("You stopped it before the end."),
}


#: Label, the CSS class that colours it, and meaning of each state; None: that of the reason.
_OUTCOMES: Final = {
    AnswerState.GROUNDED: (_("Answer with sources"), "good", _("Each number opens its source.")),
    AnswerState.EXTRACTIVE: (_("Quoted from your documents"), "good", _("AI answers are off.")),
    AnswerState.REFUSED: (_("No answer"), "", None),
    AnswerState.UNGROUNDED: (_("Don’t rely on this"), "bad", None),
    AnswerState.FAILED: (_("Incomplete"), "bad", None),
}


def outcome_label(answer: Answer) -> dict[str, Any]:
    """Return the outcome of an answer in words: `label`, CSS class `kind` and `meaning` for readers."""
    label, kind, meaning = _OUTCOMES[answer.state]
    meanings = [meaning] if meaning else [_REASONS[answer.reason]] if answer.reason else []
    if answer.state is AnswerState.FAILED:
        if answer.text:
            meanings.append(_("The part received so far is below."))
        if answer.reason is not AnswerReason.STOPPED:
            meanings.append(_("Try again in a moment."))
    return {"label": label, "kind": kind, "meaning": " ".join(map(str, meanings))}


#: Passages on each side, and the most characters shown of each.
NEIGHBOURS: Final = 1
MAX_CHARS: Final = 8_000

Span = tuple[int, int]


def load_passage(access: Access, chunk_id: str, quote: str = "") -> dict[str, Any]:
    """Return the passage `here`, with the quote marked unless it is all of it, and those around it.

    Only the quote, as it was stored, if the passage is gone: then it isn't `is_there`.
    """
    try:
        chunk = chunk_in_context(access.workspace, access.reader, uuid.UUID(hex=chunk_id), NEIGHBOURS)
    except Http404:
        return {"is_there": False, "here": _render_plain(quote[:MAX_CHARS], None)}
    return {
        "is_there": True,
        "before": [_render(row) for row in chunk.before],
        "here": _render(chunk, quote),
        "after": [_render(row) for row in chunk.after],
    }


def _render(chunk: Chunk, quote: str = "") -> SafeString:
    text = chunk.text[:MAX_CHARS]
    marked = _find_quote(text, quote)
    if is_markdown(chunk.document.mime):
        return render_fragment(text, marked=marked)
    if chunk.language:
        return _render_code(text, chunk.document.path, marked)
    return _render_plain(text, marked)


def _render_code(text: str, path: str, marked: Span | None) -> SafeString:
    lines = text.rstrip().split("\n")
    first, last = (text.count("\n", 0, at) for at in marked or (0, 0))
    cited = frozenset(range(first, last + 1)) if marked else frozenset[int]()
    [highlighted] = highlight_lines([Code(lines=lines, language=language_of_path(path))])
    return render_code(highlighted, cited)


def _render_plain(text: str, marked: Span | None) -> SafeString:
    start, end = marked or (len(text), len(text))
    pieces = (text[:start], format_html("<mark>{}</mark>", text[start:end]) if marked else "", text[end:])
    return format_html('<p class="plain">{}{}{}</p>', *pieces)


def _find_quote(text: str, quote: str) -> Span | None:
    """Return the span of the quote in `text`, ignoring white space; None if it is all of the text."""
    words = quote.split()
    if not words or words == text.split():
        return None
    found = re.search(r"\s+".join(map(re.escape, words)), text)
    return None if found is None else found.span()


#: Characters of a cited text shown below a model's answer; the rest is in the passage's panel.
QUOTE_CHARS: Final = 320
#: Passages shown below an answer that can't be relied on.
NEAREST: Final = 5
#: Sections to ask about next, and how many passages of the cited documents are read for them.
FOLLOW_UPS: Final = 4
_PASSAGES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCitation:
    """The citation behind a marker."""

    found: AnswerCitation
    #: Its place among the citations of the answer, from 1; a marker has that of the passage.
    number: int
    #: Below the title, outermost first.
    headings: tuple[str, ...]
    #: The document's page at the passage, and the passage's own page.
    address: str
    passage_address: str
    #: The beginning of the cited text; '' where the answer itself quotes it.
    quote: SafeString
    #: Its present state, and its new citation, if it has moved; None if it wasn't checked.
    check: Mapping[str, Any] | None = None


_CHECKS: Final[Mapping[CitationState, tuple[Promise, str]]] = {
    CitationState.STANDS: (_("Unchanged"), "good"),
    CitationState.CHANGED: (_("No longer in the document"), "bad"),
    CitationState.GONE: (_("Document deleted"), "bad"),
}


def present_answer(
    access: Access,
    answer: Answer,
    *,
    is_own: bool,
    checked: Sequence[CheckedCitation] = (),
    is_opened: bool = False,
) -> dict[str, Any]:
    """Return an answer as its page shows it, with the present state of its citations if they were checked.

    `is_opened`: the passage of the first citation is shown beside the answer.
    """
    workspace = access.workspace
    checks = {each.n: _present_check(each) for each in checked}
    citations = [
        replace(present_citation(workspace, answer, number), check=checks.get(each.n))
        for number, each in enumerate(answer.citations, start=1)
    ]
    is_doubtful = answer.state in (AnswerState.UNGROUNDED, AnswerState.FAILED)
    opened = answer.citations[0] if is_opened and answer.citations else None
    by_number = {each.found.n: each for each in citations}
    return {
        "answer": answer,
        "verdict": outcome_label(answer),
        "html": render_answer(answer.text, answer.answer_id, by_number, opened=opened.n if opened else None),
        "text_to_copy": text_with_sources(answer.question, answer.text, citations),
        "citations": citations,
        "opened": load_passage(access, opened.chunk_id, opened.quote) if opened else None,
        "follow_ups": list(_follow_ups(access, answer)) if opened and is_own else [],
        # The best passages for a question whose answer can't be relied on.
        "nearest": [
            {
                "found": hit,
                "headings": subheadings(hit.heading_path, hit.title),
                "address": place_address(workspace, hit),
            }
            for hit in answer.hits[:NEAREST]
            if is_doubtful
        ],
        # The search page with the question as its query.
        "search_address": f"{reverse('search', args=[workspace.slug])}?{urlencode({'q': answer.question})}",
        "is_own": is_own,
        "address": reverse("answer", args=[workspace.slug, answer.answer_id]),
    }


def _follow_ups(access: Access, answer: Answer) -> Iterator[dict[str, str]]:
    """Yield sections of the cited documents that the answer doesn't cite: label, and address of the form."""
    cited = [uuid.UUID(hex=each.doc_id) for each in answer.citations]
    readable = visible_documents(access.workspace, access.reader).filter(doc_id__in=cited)
    chunks = Chunk.objects.in_workspace(access.workspace).filter(document__in=readable.values("pk"))
    prose = chunks.filter(document__workspace=access.workspace.pk, language="").order_by(
        "document", "ordinal"
    )
    used = {heading for each in answer.citations for heading in (each.title, *each.heading_path)}
    sections = {
        heading: title
        for title, path, text in prose.values_list("document__title", "heading_path", "text")[:_PASSAGES]
        for heading in (
            *path[-1:],
            *(each.text for each in read_blocks(text) if each.kind is BlockKind.HEADING),
        )
        if heading not in used and " · " not in heading
    }
    page = reverse("ask", args=[access.workspace.slug])
    for heading, title in list(sections.items())[:FOLLOW_UPS]:
        question = heading if heading.endswith("?") else f"{title}: {heading}"
        query = urlencode({"question": question, "conversation_id": answer.conversation_id})
        yield {"label": heading, "question": question, "address": f"{page}?{query}"}


def present_citation(workspace: Workspace, answer: Answer, number: int) -> ShownCitation:
    """Return the view model of an answer's citation; they are numbered from 1."""
    cited = answer.citations[number - 1]
    is_quoted = answer.state is AnswerState.EXTRACTIVE
    return ShownCitation(
        found=cited,
        number=number,
        headings=subheadings(cited.heading_path, cited.title),
        address=place_address(workspace, cited),
        passage_address=reverse("answer-citation", args=[workspace.slug, answer.answer_id, cited.n]),
        quote=SafeString("") if is_quoted else render_fragment(_shorten(cited.quote)),
    )


def _shorten(text: str) -> str:
    """Return the beginning of a text, up to the end of a word."""
    if len(text) <= QUOTE_CHARS:
        return text
    words = text[:QUOTE_CHARS].rsplit(maxsplit=1)
    return f"{words[0]} …"


def place_address(workspace: Workspace, found: AnswerHit | AnswerCitation) -> str:
    """Return the address of the document's page at the found passage."""
    return place_path(workspace, uuid.UUID(hex=found.doc_id), found.citation, found.chunk_id)


def _present_check(checked: CheckedCitation) -> dict[str, Any]:
    label, kind = _CHECKS[checked.state]
    uri = None if checked.citation is None else checked.citation.uri
    return {"label": label, "kind": kind, "uri": None if uri == checked.cited_uri else uri}
