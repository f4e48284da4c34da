"""Paragraphs of a page, by the gaps and indents of its lines, and hyphenated words."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from ingest.parsers.pdf.page_text import HYPHEN
from ingest.parsers.pdf.types import TextLine

#: pitch of lines relative to the page's usual one, and indent in line heights, that begin a paragraph
WIDE_PITCH, INDENT = 1.25, 0.8
#: pitch in line heights above which it is a gap and no line spacing
MAX_PITCH_HEIGHTS = 2.3
#: ratio of font sizes that begins another paragraph
OTHER_SIZE = 1.2
BULLET = re.compile(r"(?:[•‣◦▪●–*-]|\(?[0-9a-z]{1,2}[.)])\s", re.IGNORECASE)
CLAUSE_END = re.compile(r"[.!?:…。！？][\"'»”’)\]]*$")
LINE_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u00ad\u2010]$")
WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
#: bounded, so that a page of only letters is still read in linear time
SPLIT_WORD = re.compile(
    rf"([^\W\d_]{{1,60}}(?:-[^\W\d_]{{1,60}}){{0,3}})[-\u00ad\u2010]?{HYPHEN}\s*([^\W\d_]{{1,60}})"
)


def paragraphs(lines: Sequence[TextLine]) -> Iterator[list[TextLine]]:
    """Yield the paragraphs of a page, hyphenated words complete in the line where they begin."""
    pitch = _usual_pitch(lines)
    run: list[TextLine] = []
    for line in lines:
        if run and _begins(run[-1], line, pitch):
            yield _join_hyphenated(run)
            run = []
        run.append(line)
    if run:
        yield _join_hyphenated(run)


def _usual_pitch(lines: Sequence[TextLine]) -> float:
    """Return the median distance from a line to the next on the page, in points."""
    pitches = [
        before.bottom - line.bottom
        for before, line in pairwise(lines)
        if 0 < before.bottom - line.bottom <= MAX_PITCH_HEIGHTS * line.height
    ]
    return median(pitches) if pitches else 0.0


def _begins(before: TextLine, line: TextLine, usual_pitch: float) -> bool:
    if line.begins_paragraph is not None:
        return line.begins_paragraph
    pitch = before.bottom - line.bottom
    if pitch > WIDE_PITCH * max(usual_pitch, line.height) or pitch < -line.height:
        return True
    if max(before.height, line.height) > OTHER_SIZE * min(before.height, line.height):
        return True
    is_indented = line.left - before.left > INDENT * line.height
    return (is_indented and bool(CLAUSE_END.search(before.text))) or bool(BULLET.match(line.text))


def _join_hyphenated(lines: list[TextLine]) -> list[TextLine]:
    """Return the lines, the rest of a hyphenated word moved to its beginning and marked with HYPHEN."""
    joined: list[TextLine] = []
    for line in lines:
        text = line.text
        if joined and text[:1].islower() and LINE_HYPHEN.search(joined[-1].text):
            rest, _, text = text.partition(" ")
            joined[-1] = replace(joined[-1], text=f"{joined[-1].text}{HYPHEN}{rest}")
        if text:
            joined.append(replace(line, text=text))
    return joined


def words_of(texts: Iterable[str]) -> set[str]:
    """Return the words of a document that occur in it undivided, for `without_hyphens`."""
    undivided = (SPLIT_WORD.sub(" ", text) if HYPHEN in text else text for text in texts)
    return {word.casefold() for text in undivided for word in WORD.findall(text)}


def without_hyphens(text: str, words: set[str]) -> str:
    """Return the text with divided words joined; a hyphen stays where the word occurs with one elsewhere.

    A word without another occurrence is joined when it continues in lower case.
    """
    if HYPHEN not in text:
        return text

    def join(match: re.Match[str]) -> str:
        joined, hyphenated = match[1] + match[2], f"{match[1]}-{match[2]}"
        is_whole = joined.casefold() in words
        is_compound = hyphenated.casefold() in words or not match[2][0].islower()
        return hyphenated if is_compound and not is_whole else joined

    return SPLIT_WORD.sub(join, text).replace(HYPHEN, "")
