"""Snippets: plain text and highlights, which are (start, end) code-point offsets into it."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from search.retrieval.text.unicode_scripts import RUN, fold, has_token, is_unspaced, signs_of, words_of

Highlight = tuple[int, int]
Snippet = tuple[str, list[Highlight]]
#: Gives the index's tokens of a text in order: UTF-8 offsets of start and end, then the terms found there.
Analyse = Callable[[str], Sequence[tuple[Any, ...]]]

#: Around what an index marks. Control characters: text that people read has none, and stray ones are dropped.
OPEN_MARK, CLOSE_MARK = "\x02", "\x03"

# FTS5's snippet() takes 64 tokens at most.
_MAX_WORDS = 64
_CHARS_PER_WORD = 4
_LEAD_SHARE = 4


def snippet_words(snippet_chars: int) -> int:
    """Return how many words FTS5 is asked for: a quarter of the characters, 1 to 64."""
    return min(max(snippet_chars // _CHARS_PER_WORD, 1), _MAX_WORDS)


def strip_markers(
    marked_text: str, open_mark: str = OPEN_MARK, close_mark: str = CLOSE_MARK
) -> tuple[str, list[Highlight]]:
    """Take the marks out of `marked_text` and give what they enclosed as highlights; stray marks go."""
    kept: list[str] = []
    highlights: list[Highlight] = []
    length = 0
    opened_at: int | None = None
    for piece in re.split(f"({re.escape(open_mark)}|{re.escape(close_mark)})", marked_text):
        if piece == open_mark:
            opened_at = length if opened_at is None else opened_at
        elif piece == close_mark:
            highlights += _span(opened_at, length)
            opened_at = None
        else:
            kept.append(piece)
            length += len(piece)
    return "".join(kept), highlights + _span(opened_at, length)


def _span(start: int | None, end: int) -> list[Highlight]:
    return [] if start is None or start == end else [(start, end)]


def without_next_sign(
    text: str, highlights: Iterable[Highlight], lone: Set[str], wanted: Set[str]
) -> list[Highlight]:
    """Take the last sign off highlights that the index found by one sign less.

    A lone sign is indexed at the start of a pair: `署` finds `署指`. `lone` are the terms of the query that
    end in one, as their words put together; `wanted` its index terms: what is a pair there stays one.
    """
    return [(start, end - _chars_too_many(text[start:end], lone, wanted)) for start, end in highlights]


def _chars_too_many(marked: str, lone: Set[str], wanted: Set[str]) -> int:
    signs = signs_of((RUN.findall(marked) or [""])[-1])
    if len(signs) < 2 or not is_unspaced(signs[-1][0]) or fold("".join(signs[-2:])) in wanted:
        return 0
    return len(signs[-1]) if "".join(words_of(marked[: -len(signs[-1])])).endswith(tuple(lone)) else 0


def cut(text: str, highlights: Sequence[Highlight], max_chars: int) -> tuple[str, list[Highlight]]:
    """Cut `text` to `max_chars` code points and the highlights with it.

    The start is kept, unless no highlight would begin in it: then the cut begins shortly before the first
    one.
    """
    if len(text) <= max_chars:
        return text, list(highlights)
    if not highlights or highlights[0][0] < max_chars:
        return _slice(text, highlights, 0, max_chars)
    return _slice(text, highlights, _start_before(text, highlights[0], max_chars), max_chars)


def best_window(text: str, wanted: Set[str], analyse: Analyse, max_chars: int) -> tuple[str, list[Highlight]]:
    """Return the piece of `text`, up to `max_chars` code points, with most distinct index terms of `wanted`.

    Without any it is the start. What is found is marked as the index would mark it. The earliest of equally
    good pieces wins; a piece begins at a word's border.
    """
    found = _occurrences(text, wanted, analyse) if wanted else []
    if not found:
        return _slice(text, (), len(text) - len(text.lstrip()), max_chars)
    first, last = _densest(found, max_chars)
    passage = (found[first].start, found[last].end)
    highlights = _merged(text, [(occurrence.start, occurrence.end) for occurrence in found])
    return _slice(text, highlights, _start_before(text, passage, max_chars), max_chars)


@dataclass(frozen=True, slots=True, order=True)
class _Occurrence:
    start: int
    end: int
    term: str


def _occurrences(text: str, wanted: Set[str], analyse: Analyse) -> list[_Occurrence]:
    # A lone sign is found at the start of a pair, as the index finds it.
    signs = tuple(term for term in wanted if len(term) == 1 and is_unspaced(term))
    found = [
        (start, end, term)
        for start, end, *terms in analyse(text)
        for term in terms
        if term in wanted or (signs and term.startswith(signs))
    ]
    if text.isascii():
        return [_Occurrence(*occurrence) for occurrence in found]
    octets = text.encode()
    placed = ((len(octets[:start].decode()), len(octets[:end].decode()), term) for start, end, term in found)
    return [
        _Occurrence(start, end if term in wanted else start + len(signs_of(text[start:end])[0]), term)
        for start, end, term in placed
    ]


def _densest(found: Sequence[_Occurrence], max_chars: int) -> tuple[int, int]:
    """Return the first and last occurrence of the earliest window with most distinct terms."""
    ends = list(accumulate((occurrence.end for occurrence in found), max))
    counts: dict[str, int] = {}
    best, most, after = (0, 0), 0, 0
    for first, occurrence in enumerate(found):
        reach = max(after, first + 1, bisect_right(ends, occurrence.start + max_chars))
        for entering in found[after:reach]:
            counts[entering.term] = counts.get(entering.term, 0) + 1
        after = reach
        if len(counts) > most:
            best, most = (first, reach - 1), len(counts)
        counts[occurrence.term] -= 1
        if not counts[occurrence.term]:
            del counts[occurrence.term]
    return best


def _start_before(text: str, passage: Highlight, max_chars: int) -> int:
    """Return where a window that holds `passage` begins: at a word, a little before it where there
    is room.
    """
    start, end = passage
    room = max(0, max_chars - (end - start))
    earliest = max(0, start - room, min(start - room // _LEAD_SHARE, len(text) - max_chars))
    return next((at for at in range(earliest, start) if _begins_word(text, at)), start)


def _begins_word(text: str, at: int) -> bool:
    if text[at].isspace():
        return False
    return at == 0 or not (text[at - 1].isalnum() and text[at].isalnum())


def _slice(
    text: str, highlights: Iterable[Highlight], start: int, max_chars: int
) -> tuple[str, list[Highlight]]:
    window = text[start : start + max_chars]
    shifted = ((max(0, low - start), min(high - start, len(window))) for low, high in highlights)
    return window, [(low, high) for low, high in shifted if low < high]


def _merged(text: str, highlights: Iterable[Highlight]) -> list[Highlight]:
    """Merge highlights that overlap, or that a single sign separates: next.js is one."""
    merged: list[Highlight] = []
    for start, end in highlights:
        if merged and (start <= merged[-1][1] or _is_joint(text[merged[-1][1] : start])):
            start, end = merged[-1][0], max(merged.pop()[1], end)
        merged.append((start, end))
    return merged


def _is_joint(between: str) -> bool:
    return len(between) == 1 and not between.isspace() and not has_token(between)
