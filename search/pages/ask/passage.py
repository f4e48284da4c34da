"""The current passage of a citation, with its neighbours, rendered by its kind."""

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.http import Http404
from django.utils.html import format_html
from django.utils.safestring import SafeString

from kebab.identity.caller import Access
from search.answers import AnswerCitation
from search.api.querysets import chunk_in_context
from search.models import Chunk
from search.pages.document.highlighted_code import Code, highlight_lines, language_of_path
from search.pages.markdown.fragments import render_code, render_fragment
from search.pages.markdown.tokens import is_markdown

#: Passages on each side, and the most characters shown of each.
NEIGHBOURS: Final = 1
MAX_CHARS: Final = 8_000

Span = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedPassage:
    """A cited passage; `is_there` is false if its document no longer has it."""

    is_there: bool
    before: Sequence[SafeString] = ()
    #: The passage, with the quote marked unless it is all of the passage.
    here: SafeString
    after: Sequence[SafeString] = ()


def load_cited_passage(access: Access, cited: AnswerCitation) -> CitedPassage:
    """Return the current passage, or only the stored quote if the passage is gone."""
    try:
        chunk = chunk_in_context(access.workspace, access.reader, uuid.UUID(hex=cited.chunk_id), NEIGHBOURS)
    except Http404:
        return CitedPassage(is_there=False, here=_render_plain(cited.quote[:MAX_CHARS], None))
    return CitedPassage(
        is_there=True,
        before=[_render(row) for row in chunk.before],
        here=_render(chunk, cited.quote),
        after=[_render(row) for row in chunk.after],
    )


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
