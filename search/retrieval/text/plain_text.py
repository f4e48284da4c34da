"""Plain text of a chunk as it is stored: without markup, with marks for snippets."""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

Span = tuple[int, int]

#: Stands for `·` until a snippet is cut: texts in ASCII are searched faster.
SEPARATOR = "\x01"
#: Stands before and after an item or a paragraph of nothing but links.
LINKS_MARK = "\x02"


class PlainText(NamedTuple):
    """A text without markup."""

    text: str
    #: The places with nothing but links.
    links: Sequence[Span] = ()


def read_plain_text(stored: str) -> PlainText:
    """Return a stored plain text without the marks around links."""
    if LINKS_MARK not in stored:
        return PlainText(stored)
    parts = stored.split(LINKS_MARK)
    ends = list(accumulate(map(len, parts)))
    return PlainText("".join(parts), tuple(zip(ends[::2], ends[1::2], strict=False)))
