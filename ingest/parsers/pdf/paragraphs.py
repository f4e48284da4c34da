"""Paragraphs of a page, by the gaps and indents of its lines, and hyphenated words."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from ingest.parsers.pdf.types import HYPHEN, TextLine

#: pitch of lines relative to the page's usual one, and indent in line heights, that begin a paragraph
WIDE_PITCH, INDENT = 1.25, 0.8
#: pitch in line heights above which it is a gap and no line spacing
MAX_PITCH_HEIGHTS = 2.3
#: ratio of font sizes that begins another paragraph
OTHER_SIZE = 1.2
BULLET = re.compile(r"(?:[•‣◦▪●–*-]|\(?[0-9a-z]{1,2}[.)])\s", re.IGNORECASE)
#: lines over which a sentence may go on from another page, and its end
MAX_REST = 8
SENTENCE_END = re.compile(r"[.!?…](?:[\"'»”’)\]]*)(?=\s|$)|[。！？][」』）]?")
CLAUSE_END = re.compile(r"[.!?:…。！？][\"'»”’)\]]*$")
LINE_HYPHEN = re.compile(rf"(?<=[^\W_])(?:[-\u00ad\u2010]{HYPHEN}?|{HYPHEN})$")
#: words after a hyphen that stands for the rest of a word: "Haupt- und Nebeneingang", "pre- and post-war"
SUSPENDED = frozenset(
    {"und", "oder", "bzw", "sowie", "and", "or", "to", "et", "ou", "y", "o", "e", "och", "og", "en"}
)
#: first halves that keep their hyphen before a word of at least MIN_SECOND letters, in any document
COMPOUND = frozenset({"well", "self", "long", "short", "high", "low", "full", "half"}) | {
    *("real", "second", "two", "three", "cross")
}
MIN_SECOND = 4
#: words within compounds of several parts: "state-of-the-art"
INNER = frozenset({"of", "the", "to", "in", "on", "and", "up", "by", "a", "for", "de", "la"})
URL_END = re.compile(r"(?:\w://|\bwww\.)\S*[-/_=&?#%.]$")
URL_CHARACTER = re.compile(r"[a-z0-9/_%~?&=#-]")
ADDRESS = re.compile(r"://|^www\.|@")
#: characters that are set without blanks, and those that end a sentence
CJK = re.compile(r"[\u3001-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff9f\U00020000-\U0003ffff]")
CJK_END = ("。", "！", "？")
#: characters, in heights of a line, by which one may be shorter: some characters begin no line
KINSOKU = 2.5
#: characters of a line that is not full by chance, like those of a list
MIN_FULL_CHARS = 10
#: end of a line in which an address is searched, and divisions of one word
TAIL_CHARS, MAX_DIVISIONS = 300, 20
LONE_HYPHEN = re.compile(rf"(?<=[^\W_]){HYPHEN}$")
WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
#: bounded, so that a page of only letters is still read in linear time
SPLIT_WORD = re.compile(
    rf"(?<!\S)(\S{{0,300}}?)((?:[^\W\d_]{{1,60}}-){{0,3}}[^\W\d_]{{1,60}}|\d{{1,20}})?"
    rf"[-\u00ad\u2010]?{HYPHEN}\s*([^\W_]{{1,60}})(\S{{0,300}})"
)


def paragraphs(lines: Sequence[TextLine]) -> Iterator[list[TextLine]]:
    """Yield the paragraphs of a page, hyphenated words complete in the line where they begin."""
    pitches = [
        before.bottom - line.bottom
        for before, line in pairwise(lines)
        if 0 < before.bottom - line.bottom <= MAX_PITCH_HEIGHTS * line.height
    ]
    pitch = median(pitches) if pitches else 0.0
    run: list[TextLine] = []
    for line in lines:
        if run and _begins(run[-1], line, pitch):
            yield join_lines(run)
            run = []
        run.append(line)
    if run:
        yield join_lines(run)


def _begins(before: TextLine, line: TextLine, usual_pitch: float) -> bool:
    if line.begins_paragraph is not None:
        return line.begins_paragraph
    pitch = before.bottom - line.bottom
    if pitch > WIDE_PITCH * max(usual_pitch, line.height):
        return True
    if pitch < -line.height and not (line.text[:1].islower() and not CLAUSE_END.search(before.text)):
        return True
    if not _is_alike(before, line):
        return True
    is_indented = line.left - before.left > INDENT * line.height
    return (is_indented and bool(CLAUSE_END.search(before.text))) or bool(BULLET.match(line.text))


def join_lines(lines: Sequence[TextLine]) -> list[TextLine]:
    """Return the lines with each word in the line where it begins, and Chinese and Japanese lines joined.

    A joined word has HYPHEN where it was divided at a hyphen.
    """
    joined: list[TextLine] = []
    edge = max(line.right for line in lines)
    for line in lines:
        text = line.text
        if joined:
            before = joined[-1]
            rest = _continuation(before, text, edge)
            if rest:
                mark = HYPHEN if LINE_HYPHEN.search(before.text[-TAIL_CHARS:]) else ""
                joined[-1] = replace(
                    before, text=f"{before.text.removesuffix(HYPHEN)}{mark}{rest}", right=line.right
                )
                text = text[len(rest) :].lstrip()
        if text:
            joined.append(replace(line, text=text))
    return joined


def goes_on(lines: Sequence[TextLine], following: Sequence[TextLine]) -> bool:
    """Return whether a paragraph goes on in the first one of another page.

    Before a capital letter it does where its last line is full and both have several lines.
    """
    last, first = lines[-1], following[0]
    text = last.text[-TAIL_CHARS:]
    if CLAUSE_END.search(text) or BULLET.match(first.text) or not _is_alike(last, first):
        return False
    if first.text[:1].islower() or (CJK.match(text[-1:]) and CJK.match(first.text)):
        return True
    is_full = last.right + KINSOKU * last.height > max(line.right for line in lines)
    return is_full and min(len(lines), len(following)) > 1 and first.text[:1].isalpha()


def _is_alike(one: TextLine, other: TextLine) -> bool:
    return max(one.height, other.height) <= OTHER_SIZE * min(one.height, other.height)


def split_sentence(lines: Sequence[TextLine]) -> tuple[list[TextLine], list[TextLine]]:
    """Return the lines up to the end of the first sentence, and the others; no lines if its end is far."""
    for index, line in enumerate(lines[:MAX_REST]):
        if end := SENTENCE_END.search(line.text):
            rest = line.text[end.end() :].lstrip()
            kept = [replace(line, text=rest)] if rest else []
            return [*lines[:index], replace(line, text=line.text[: end.end()])], [*kept, *lines[index + 1 :]]
    return [], list(lines)


def _continuation(before: TextLine, text: str, edge: float) -> str:
    """Return the part of the next line's `text` that belongs to the line before without a blank."""
    word = text.partition(" ")[0]
    tail = before.text[-TAIL_CHARS:]
    if LINE_HYPHEN.search(tail) and text[:1].isalnum():
        return "" if word.strip(".,;:").casefold() in SUSPENDED else word
    if URL_END.search(tail.rpartition(" ")[2]) and URL_CHARACTER.match(text):
        return word
    is_full = before.right + KINSOKU * before.height > edge and len(before.text) >= MIN_FULL_CHARS
    is_cjk = CJK.match(tail[-1:]) and CJK.match(text) and not tail.endswith(CJK_END)
    return text if is_full and is_cjk else ""


def words_of(texts: Iterable[str]) -> set[str]:
    """Return the words of a document's lines that occur in it undivided, for `without_hyphens`."""
    words: set[str] = set()
    is_divided = False
    for text in texts:
        undivided = SPLIT_WORD.sub(" ", text) if HYPHEN in text else text
        if is_divided:
            undivided = undivided.partition(" ")[2]
        is_divided = bool(LINE_HYPHEN.search(text))
        if is_divided:
            undivided = undivided.rpartition(" ")[0]
        words.update(word.casefold() for word in WORD.findall(undivided))
    return words


def without_hyphens(text: str, words: set[str]) -> str:
    """Return the text with divided words joined, those of compounds, addresses and names by their hyphen.

    A word that the document has undivided elsewhere is written as there. Others keep the hyphen before a
    capital or a digit, and between two words of the document.
    """
    if HYPHEN not in text:
        return text

    def join(match: re.Match[str]) -> str:
        prefix, first, second, suffix = match.groups(default="")
        whole = f"{first}{second}"
        is_address = ADDRESS.search(prefix + first) or ADDRESS.search(suffix)
        is_letter = len(first) == 1 and first.isalpha()  # "E-Mail": no word is divided after its first letter
        is_other = whole.casefold() not in words and _is_compound(first, second, words)
        is_kept = is_address or is_letter or is_other
        return f"{prefix}{first}-{second}{suffix}" if is_kept else f"{prefix}{whole}{suffix}"

    for _ in range(MAX_DIVISIONS):
        if (joined := SPLIT_WORD.sub(join, text)) == text:
            break
        text = joined
    return LONE_HYPHEN.sub("-", text).replace(HYPHEN, "")


def _is_compound(first: str, second: str, words: set[str]) -> bool:
    if not second[0].islower():
        return not (len(first) > 1 and first.isupper() and len(second) > 1 and second.isupper())
    if f"{first}-{second}".casefold() in words or not first or first.isdigit():
        return True
    last = first.rpartition("-")[2].casefold()
    if last != first.casefold() and (last in INNER or last in words):
        return True
    if last in COMPOUND:
        return len(second) >= MIN_SECOND
    return min(len(last), len(second)) >= MIN_SECOND and {last, second.casefold()} <= words
