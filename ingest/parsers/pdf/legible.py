"""Characters of a page that no language has: codes of fonts without a map to characters, private characters.

Codes are often those of the alphabet moved by a constant (`7KH` for `The`), as glyphs are numbered in its
order. They are decoded where that yields a language; others are left out.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Set
from itertools import islice
from string import digits
from typing import Final

import pycld2

from ingest.parsers.pdf.types import Span

#: characters of a page whose font is asked
SAMPLED: Final = 50
#: control codes, private characters and the one for an unknown character
NO_LANGUAGE: Final = re.compile("[\0\1\3-\x08\x0e-\x1f\ue000-\uf8ff\ufffd\U000f0000-\U0010fffd]")
WORD: Final = re.compile(r"\S+")
MIXED: Final = re.compile(r"\d[^\W\d_]|[^\W\d_]\d")
#: letters that make up half of any text in Latin script; share of these and digits below which it is judged
COMMON, COMMON_SHARE, JUDGED_SHARE = "eaintrosldu", 0.5, 0.35
#: score of CLD2 for a language: a sentence had 429 to 1,536 in six languages, moved letters up to 250
LANGUAGE_SCORE: Final = 320
#: letters that CLD2 needs; shares of letters and of common ones for fewer
MIN_LETTERS, LETTER_SHARE, SHORT_SHARE = 24, 0.8, 0.6
#: letters of moved text, different ones, and mean characters of its words, which tables of codes don't have
MOVED_LETTERS, DIFFERENT_LETTERS, MIN_WORD, MAX_WORD = 40, 12, 3, 12
#: a page consists of codes if so many different signs are each a hundredth of it, and few letters
MIN_SIGNS, FEW_LETTERS = 10, 0.1
#: move of most TrueType fonts, and the first number of a glyph from which on their order is that of Mac Roman
GLYPH_MOVE, FIRST_MAC, LAST_MAC = 29, 98, 225
#: move of fonts of symbols
PRIVATE_MOVE: Final = -0xF000


def legible_text(text: str, has_no_map: Callable[[int], int]) -> tuple[str, int]:
    """Return the characters of a page, NUL in place of illegible ones, and the number of those.

    Args:
        text: the characters as pdfium reads them, each at its index.
        has_no_map: whether the font has no map for the character at an index.
    """
    places = range(len(text))
    bad = {sign.start() for sign in NO_LANGUAGE.finditer(text)}
    is_asked = any(map(has_no_map, (*places[:: len(text) // SAMPLED + 1], *islice(bad, SAMPLED))))
    unmapped = set(filter(has_no_map, places)) if is_asked else set()
    is_latin = 2 * (len(text.encode("ascii", "ignore")) + len(bad)) > len(text)
    is_doubtful = is_latin and sum(map(text.count, COMMON + digits)) < JUDGED_SHARE * len(text)
    for codes in ([set(places)] if is_doubtful else []) + ([unmapped] if unmapped else []):
        coded = "".join(each if place in codes else " " for place, each in enumerate(text))
        if _has_language(coded):
            continue
        if move := _find_move(coded):
            letters = (_moved(each, move) if place in codes else each for place, each in enumerate(text))
            return "".join(letters), 0
        if codes is unmapped or _consists_of_signs(text):
            bad |= codes
    illegible = {place for word in _illegible_words(text, bad) for place in range(*word)}
    if illegible:
        text = "".join("\0" if place in illegible else each for place, each in enumerate(text))
    return text, len(illegible)


def _illegible_words(text: str, bad: Set[int]) -> Iterator[Span]:
    """Yield the words of which most characters are `bad`; a single one may be an icon or a formula."""
    for word in WORD.finditer(text) if len(bad) > 1 else ():
        count = sum(place in bad for place in range(*word.span()))
        is_number = 2 * sum(map(str.isdecimal, word[0])) >= len(word[0])
        if count > 1 and 2 * count > len(word[0]) and not is_number:
            yield word.span()


def _find_move(text: str) -> int:
    """Return the number to add to each code for text of a language, 0 without one."""
    counts = Counter(text)
    total = sum(count for code, count in counts.items() if not code.isspace())

    def share(move: int) -> float:
        spaces = counts[chr(ord(" ") - move)] if 0 < abs(move) <= ord(" ") else 0
        letters = (ord(letter) - move for letter in COMMON + COMMON.upper())
        return sum(counts[chr(letter)] for letter in letters if letter > 0) / max(1, total - spaces)

    move = max(sorted((*range(-94, 95), PRIVATE_MOVE), key=abs), key=lambda move: round(share(move), 2))
    moved = "".join(_moved(each, move) for each in text)
    letters = "".join(filter(str.isalpha, moved.lower()))
    is_varied = len(letters) >= MOVED_LETTERS and len(set(letters)) >= DIFFERENT_LETTERS
    is_split = MIN_WORD <= len("".join(moved.split())) / max(1, len(moved.split())) <= MAX_WORD
    return move if is_varied and is_split and share(move) >= COMMON_SHARE and _has_language(moved) else 0


def _moved(code: str, move: int) -> str:
    number = ord(code)
    if move == GLYPH_MOVE and FIRST_MAC <= number <= LAST_MAC:
        return bytes([number + ord("\x80") - FIRST_MAC]).decode("mac_roman")
    is_code = code not in "\r\n " and 0 < number + move < ord("\x7f")
    return chr(number + move) if is_code else code


def _has_language(text: str) -> bool:
    """Return whether CLD2 is sure of a text's language; of a short one, whether its letters are common."""
    printable = "".join(each if each.isprintable() else " " for each in text)
    letters = [each for each in printable if each.isalpha()]
    latin = [each.lower() for each in letters if each.isascii()]
    common = sum(each in COMMON for each in latin)
    if len(letters) < MIN_LETTERS:
        solid = sum(not each.isspace() and not each.isdecimal() for each in text)
        is_mixed = MIXED.search(printable)
        return not is_mixed and len(letters) >= LETTER_SHARE * solid and common >= SHORT_SHARE * len(latin)
    try:
        is_reliable, _, guesses = pycld2.detect(printable, bestEffort=True)
    except pycld2.error:
        return False
    return bool(is_reliable) and guesses[0][3] >= LANGUAGE_SCORE and common >= COMMON_SHARE * len(latin)


def _consists_of_signs(text: str) -> bool:
    counts = Counter(text)
    total = sum(count for each, count in counts.items() if not each.isspace())
    letters = sum(count for each, count in counts.items() if each.isalpha())
    signs = sum(
        count >= total / 100
        for each, count in counts.items()
        if each.isascii() and each.isprintable() and not each.isalnum() and each != " "
    )
    return signs >= MIN_SIGNS and letters < FEW_LETTERS * total
