"""Characters of a page that no language has: codes of fonts without a map to characters, private characters.

Codes are often those of the alphabet moved by a constant (`7KH` for `The`), as glyphs are numbered in its
order. They are decoded where that yields a language; others are left out.
"""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterator
from typing import Final

import pycld2

#: characters of a page whose font is asked
SAMPLED: Final = 50
#: control codes, private characters and the one for an unknown character
NO_LANGUAGE: Final = re.compile("[\0\1\3-\x08\x0e-\x1f\ue000-\uf8ff\ufffd\U000f0000-\U0010fffd]")
WORD: Final = re.compile(r"\S+")
MIXED: Final = re.compile(r"\d[^\W\d_]|[^\W\d_]\d")
#: letters that make up half of any text in Latin script, and their share of a page below which it is judged
COMMON, COMMON_SHARE, JUDGED_SHARE = "eaintrosldu", 0.5, 0.35
#: score of CLD2 for a language: a sentence had 429 to 1,536 in six languages, moved letters up to 250
LANGUAGE_SCORE: Final = 320
#: letters that CLD2 needs; shares of letters and of common ones for fewer
MIN_LETTERS, LETTER_SHARE, SHORT_SHARE = 24, 0.8, 0.6
#: different letters of moved text, which hexadecimal numbers don't have
MANY_LETTERS: Final = 16
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
    is_unmapped = NO_LANGUAGE.search(text) or any(map(has_no_map, places[:: len(text) // SAMPLED + 1]))
    if not is_unmapped and sum(map(text.count, COMMON)) >= JUDGED_SHARE * len(text):
        return text, 0
    codes: Container[int] = {place for place in places if has_no_map(place)} if is_unmapped else ()
    coded = "".join(each if place in codes else " " for place, each in enumerate(text)) if codes else text
    has_language = _has_language(coded)
    if not has_language and (move := _find_move(coded)):
        moved = (
            _moved(each, move) if not codes or place in codes else each for place, each in enumerate(text)
        )
        return "".join(moved), 0
    if has_language or not codes:
        codes = places if not has_language and _consists_of_signs(text) else ()
    illegible = {place for word in _illegible_words(text, codes) for place in range(*word)}
    return "".join("\0" if place in illegible else each for place, each in enumerate(text)), len(illegible)


def _illegible_words(text: str, codes: Container[int]) -> Iterator[tuple[int, int]]:
    """Yield the words of which most are codes or in no language; a single one may be an icon or a formula."""
    for word in WORD.finditer(text):
        bad = sum(place in codes or bool(NO_LANGUAGE.match(text[place])) for place in range(*word.span()))
        is_number = 2 * sum(map(str.isdecimal, word[0])) >= len(word[0])
        if bad > 1 and 2 * bad > len(word[0]) and not is_number:
            yield word.span()


def _find_move(text: str) -> int:
    """Return the number to add to each code for text of a language, 0 without one."""
    counts = Counter(text)
    total = sum(count for code, count in counts.items() if not code.isspace())

    def share(move: int) -> float:
        spaces = counts[chr(ord(" ") - move)] if 0 < abs(move) <= ord(" ") else 0
        letters = (ord(letter) - move for letter in COMMON + COMMON.upper())
        return sum(counts[chr(letter)] for letter in letters if letter > 0) / max(1, total - spaces)

    move = max((*range(-94, 95), PRIVATE_MOVE), key=share)
    moved = "".join(_moved(each, move) for each in text)
    is_varied = len(set(filter(str.isalpha, moved.lower()))) > MANY_LETTERS
    return move if is_varied and share(move) >= COMMON_SHARE and _has_language(moved) else 0


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
        solid = sum(not each.isspace() for each in text)
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
