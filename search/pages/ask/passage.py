"""The current passage of a citation, with its neighbours."""

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.http import Http404

from kebab.people.access.caller import Access
from search.answers import AnswerCitation
from search.api.querysets import chunk_in_context
from search.pages.search.hits import Piece, pieces

#: Passages on each side, and the most characters shown of each.
NEIGHBOURS: Final = 1
MAX_CHARS: Final = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedPassage:
    """A cited passage; `is_there` is false if its document no longer has it."""

    is_there: bool
    before: Sequence[str] = ()
    #: The passage, with the quote marked unless it is all of the passage.
    pieces: Sequence[Piece] = ()
    after: Sequence[str] = ()


def load_cited_passage(access: Access, cited: AnswerCitation) -> CitedPassage:
    """Return the current passage, or only the stored quote if the passage is gone."""
    try:
        chunk = chunk_in_context(access.workspace, access.reader, uuid.UUID(hex=cited.chunk_id), NEIGHBOURS)
    except Http404:
        return CitedPassage(is_there=False, pieces=[Piece(text=cited.quote[:MAX_CHARS], is_marked=False)])
    text = chunk.text[:MAX_CHARS]
    return CitedPassage(
        is_there=True,
        before=[row.text[:MAX_CHARS] for row in chunk.before],
        pieces=list(pieces(text, _find_quote(text, cited.quote))),
        after=[row.text[:MAX_CHARS] for row in chunk.after],
    )


def _find_quote(text: str, quote: str) -> list[tuple[int, int]]:
    """Return the span of the quote in `text`, ignoring white space; empty if it is all of the text."""
    words = quote.split()
    if not words or words == text.split():
        return []
    found = re.search(r"\s+".join(map(re.escape, words)), text)
    return [] if found is None else [found.span()]
