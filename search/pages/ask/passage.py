"""The passage that a citation leads to, as it stands now, with what stands around it."""

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.http import Http404

from kebab.people.access.caller import Access
from search.answers import AnswerCitation
from search.api.querysets import chunk_in_context
from search.models import Chunk
from search.pages.search.hits import Piece, pieces

#: Passages on each side, and the most characters of each that are shown.
NEIGHBOURS: Final = 1
MAX_CHARS: Final = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A cited passage; `is_there` tells whether its document still has it."""

    is_there: bool
    before: Sequence[str] = ()
    #: With what is cited of it marked, where that is less than all.
    pieces: Sequence[Piece] = ()
    after: Sequence[str] = ()


def cited_passage(access: Access, cited: AnswerCitation) -> Passage:
    """Return the passage as it stands now; what is cited alone where it doesn't any more."""
    try:
        chunk: Chunk = chunk_in_context(
            access.workspace, access.reader, uuid.UUID(hex=cited.chunk_id), NEIGHBOURS
        )
    except Http404:
        return Passage(is_there=False, pieces=[Piece(text=cited.quote[:MAX_CHARS], is_marked=False)])
    text = chunk.text[:MAX_CHARS]
    return Passage(
        is_there=True,
        before=[row.text[:MAX_CHARS] for row in chunk.before],  # type: ignore[attr-defined]
        pieces=list(pieces(text, _quoted(text, cited.quote))),
        after=[row.text[:MAX_CHARS] for row in chunk.after],  # type: ignore[attr-defined]
    )


def _quoted(text: str, quote: str) -> list[tuple[int, int]]:
    """Return where the quote stands, white space aside; nowhere when it is as good as all of the text."""
    words = quote.split()
    if not words or words == text.split():
        return []
    found = re.search(r"\s+".join(map(re.escape, words)), text)
    return [] if found is None else [found.span()]
