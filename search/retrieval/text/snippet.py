"""Snippets: plain text and highlights, which are (start, end) code-point offsets into it."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from search.retrieval.text.unicode_scripts import RUN, fold, has_token, is_unspaced, split_graphemes, words_of

Highlight = tuple[int, int]
Snippet = tuple[str, list[Highlight]]
#: Returns the index tokens of a text in order: UTF-8 offsets of start and end, then the terms found there.
Analyser = Callable[[str], Sequence[tuple[Any, ...]]]

#: Enclose the matches in a text from the index. They are control characters, which readable text lacks; stray
#: ones are dropped.
OPEN_MARK, CLOSE_MARK = "\x02", "\x03"

# FTS5's snippet() takes 64 tokens at most.
_MAX_WORDS = 64
_CHARS_PER_WORD = 4
_LEAD_SHARE = 4


def snippet_words(snippet_chars: int) -> int:
    """Return the number of words to request from FTS5: a quarter of the characters, 1 to 64."""
    return min(max(snippet_chars // _CHARS_PER_WORD, 1), _MAX_WORDS)


def strip_markers(
    marked_text: str, open_mark: str = OPEN_MARK, close_mark: str = CLOSE_MARK
) -> tuple[str, list[Highlight]]:
    """Remove the marks from `marked_text` and return the ranges they enclosed; stray marks are dropped."""
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


def trim_next_character(
    text: str, highlights: Iterable[Highlight], lone: Set[str], wanted: Set[str]
) -> list[Highlight]:
    """Remove the last character from highlights that cover one character more than the query has.

    A query of a single unspaced character matches the start of an indexed bigram: `署` finds `署指`. `lone`
    are the terms of the query that end in such a character, as their words joined; `wanted` its index terms:
    a bigram of the query stays whole.
    """
    return [(start, end - _excess_chars(text[start:end], lone, wanted)) for start, end in highlights]


def _excess_chars(marked: str, lone: Set[str], wanted: Set[str]) -> int:
    characters = split_graphemes((RUN.findall(marked) or [""])[-1])
    if len(characters) < 2 or not is_unspaced(characters[-1][0]) or fold("".join(characters[-2:])) in wanted:
        return 0
    return (
        len(characters[-1]) if "".join(words_of(marked[: -len(characters[-1])])).endswith(tuple(lone)) else 0
    )


def cut_text(text: str, highlights: Sequence[Highlight], max_chars: int) -> tuple[str, list[Highlight]]:
    """Cut `text` and its highlights to `max_chars` code points.

    The result is the start of the text, or begins shortly before the first highlight if the start has none.
    """
    if len(text) <= max_chars:
        return text, list(highlights)
    if not highlights or highlights[0][0] < max_chars:
        return _slice(text, highlights, 0, max_chars)
    return _slice(text, highlights, _start_before(text, highlights[0], max_chars), max_chars)


def best_window(
    text: str, wanted: Set[str], analyse: Analyser, max_chars: int
) -> tuple[str, list[Highlight]]:
    """Return the window of `text`, up to `max_chars` code points, with most distinct index terms of `wanted`.

    Without any it is the start. Matches are highlighted as the index would highlight them. The earliest of
    equally good windows wins; a window begins at a word boundary.
    """
    found = _find_occurrences(text, wanted, analyse) if wanted else []
    if not found:
        return _slice(text, (), len(text) - len(text.lstrip()), max_chars)
    first, last = _densest_window(found, max_chars)
    passage = (found[first].start, found[last].end)
    highlights = _merge_highlights(text, [(occurrence.start, occurrence.end) for occurrence in found])
    return _slice(text, highlights, _start_before(text, passage, max_chars), max_chars)


@dataclass(frozen=True, slots=True, order=True)
class _Occurrence:
    start: int
    end: int
    term: str


def _find_occurrences(text: str, wanted: Set[str], analyse: Analyser) -> list[_Occurrence]:
    # A single unspaced character matches the start of a bigram, as in the index.
    singles = tuple(term for term in wanted if len(term) == 1 and is_unspaced(term))
    found = [
        (start, end, term)
        for start, end, *terms in analyse(text)
        for term in terms
        if term in wanted or (singles and term.startswith(singles))
    ]
    if text.isascii():
        return [_Occurrence(*occurrence) for occurrence in found]
    octets = text.encode()
    in_code_points = (
        (len(octets[:start].decode()), len(octets[:end].decode()), term) for start, end, term in found
    )
    return [
        _Occurrence(start, end if term in wanted else start + len(split_graphemes(text[start:end])[0]), term)
        for start, end, term in in_code_points
    ]


def _densest_window(found: Sequence[_Occurrence], max_chars: int) -> tuple[int, int]:
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
    """Return the start of a window that holds `passage`: at a word, a little before it if there is room."""
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


def _merge_highlights(text: str, highlights: Iterable[Highlight]) -> list[Highlight]:
    """Merge highlights that overlap or have a single symbol between them: next.js is one."""
    merged: list[Highlight] = []
    for start, end in highlights:
        if merged and (start <= merged[-1][1] or _is_joint(text[merged[-1][1] : start])):
            start, end = merged[-1][0], max(merged.pop()[1], end)
        merged.append((start, end))
    return merged


def _is_joint(between: str) -> bool:
    return len(between) == 1 and not between.isspace() and not has_token(between)
