"""An answer's text as HTML with numbers that lead to its sources, and as text to copy."""

import re
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from search.answers.prompt import MARKER
from search.pages.markdown.fragments import render_fragment

if TYPE_CHECKING:
    from search.pages.ask.presentation import ShownCitation


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
        ' title="{title}"{current}><span class="visually-hidden">{source} </span>{n}</a>',
        id=answer_id,
        n=cited.found.n,
        address=cited.passage_address,
        title=(cited.found.title or cited.found.citation.path)[:120],
        current=SafeString(' aria-current="true"' if is_opened else ""),
        source=_("Source"),
    )


def text_with_sources(question: str, text: str, citations: Sequence["ShownCitation"]) -> str:
    """Return question, answer and numbered sources as text."""
    answer = re.sub(MARKER, r"[\1]", text)
    sources = "\n".join(f"[{each.found.n}] {each.found.title} ({each.found.uri})" for each in citations)
    return "\n\n".join(filter(None, (question, answer, sources)))
