"""Breadcrumbs of chunks: title and headings, short enough to leave room for text."""

from collections.abc import Sequence
from dataclasses import dataclass

from ingest.chunking.tokens import TokenCounts
from ingest.chunking.types import MAX_BREADCRUMB_TOKENS
from search.retrieval.code.definitions import NAME_SEPARATOR, SEPARATOR

ELLIPSIS = "…"
#: characters of a title or heading in a breadcrumb
PART_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Breadcrumb:
    """A breadcrumb and its number of tokens."""

    text: str
    tokens: int
    #: False when parts were left out, so that the heading lines must be in the chunk's text
    is_complete: bool


def breadcrumb_of(title: str, headings: Sequence[str], counts: TokenCounts) -> Breadcrumb:
    """Return title and headings as a breadcrumb, without a first heading that repeats the title.

    Over MAX_BREADCRUMB_TOKENS the middle is left out first, then the ends of title and last heading.
    """
    if headings and headings[0].startswith(f"{title}{NAME_SEPARATOR}"):
        title, *headings = headings
    below = headings[1:] if headings and headings[0] == title else headings
    parts = [part for part in (title, *below) if part]
    text = SEPARATOR.join(parts)
    tokens = counts.count(text)
    if tokens <= MAX_BREADCRUMB_TOKENS and all(len(part) <= PART_CHARS for part in parts):
        return Breadcrumb(text=text, tokens=tokens, is_complete=True)
    text = _shorten(parts, counts)
    return Breadcrumb(text=text, tokens=counts.count(text), is_complete=False)


def _shorten(parts: Sequence[str], counts: TokenCounts) -> str:
    cut = [part[:PART_CHARS] for part in parts]
    first_kept = 1
    while first_kept < len(cut):
        middle = [] if first_kept == 1 else [ELLIPSIS]
        text = SEPARATOR.join([cut[0], *middle, *cut[first_kept:]])
        if counts.count(text) <= MAX_BREADCRUMB_TOKENS:
            return text
        first_kept += 1
    ends = cut[:1] if len(cut) == 1 else [cut[0], cut[-1]]
    room = (MAX_BREADCRUMB_TOKENS - 4) // len(ends)
    return SEPARATOR.join(_truncate(part, room, counts) for part in ends)


def _truncate(text: str, tokens: int, counts: TokenCounts) -> str:
    """Return the longest of `text` and its prefixes, by steps of a tenth, within `tokens`."""
    while text and counts.count(text + ELLIPSIS) > tokens:
        text = text[: len(text) * 9 // 10]
    return text
