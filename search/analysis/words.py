"""Tokens of a single word or run of an unspaced script."""

import re
import unicodedata
from itertools import accumulate, pairwise
from operator import add
from typing import Any

from search.analysis.stems import stem, stems_in
from search.retrieval.text.unicode_scripts import fold, is_unspaced, keep_accents, split_graphemes

#: UTF-8 offsets of start and end in its run, the main term, then other terms at the same position.
Part = tuple[Any, ...]

# Longer words are keys and hashes, and their start identifies them.
_MAX_TERM_CHARS = 128
#: Used in place of a language: the terms are the folded words.
UNSTEMMED = "unstemmed"
# Stands before the term of a word with its accents, so that it is a term of its own.
_AS_WRITTEN = "="
_SMALL_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", "0123456789" * 2)
_FRACTION = re.compile("[¼-¾⅐-⅞↉]")
_NUMERALS = re.compile(f"({_FRACTION.pattern})|(?<=\\d)(?=[⁰¹²³⁴-⁹])")
_FEW_PARTS = 3
# Minimum average length of the parts of a name; those of random letters and digits are shorter.
_LEAST_OF_FEW, _LEAST_OF_LETTERS, _LEAST = 2.0, 2.5, 3.0
_NUMBERED = re.compile(r"([^\W\d_]{2,})(\d+)")
# A number and its unit, as in `16GB` and `120m²`; an ordinal is one word.
_MEASURED = re.compile(r"(\d+)((?!(?:st|nd|rd|th)$)[^\W\d_]{2,}|[cdkm]?m[23])", re.IGNORECASE)
_VERSION = re.compile(r"[vV](\d+)")
_NAME_BEFORE_NUMBER = re.compile(r"([^\W\d_]+)\d+")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
# Languages in which these letters stand for themselves, in many words.
_WITH_OWN_UMLAUTS = frozenset({"et", "fi", "hu", "is", "tr"})


def parts_of(run: str, language: str | None) -> tuple[Part, ...]:
    """Return the tokens of a word, or of a run of an unspaced script.

    The first token of a word also has the terms of the whole word. `language`, one of `LANGUAGE_STEMMERS`,
    adds its stems; UNSTEMMED removes all stems.
    """
    if run.isascii():
        return _word_parts(run, language)
    if is_unspaced(run[0]):
        return _bigrams(run)
    if _NUMERALS.search(run):
        return _numeral_parts(run, language)
    return _word_parts(run, language, is_ascii=False)


def without_symbols(run: str) -> str:
    """Return the word of a run without the symbols of a name: C of `C++`, NET of `.NET`."""
    return run.strip("+#.")


def _numeral_parts(run: str, language: str | None) -> tuple[Part, ...]:
    """Return the tokens of a run with fractions, `1½`, or powers, `10³`.

    Both numbers of a fraction have its span.
    """
    parts: list[Part] = []
    at = 0
    for piece in filter(None, _NUMERALS.split(run)):
        size = len(piece.encode())
        if _FRACTION.match(piece):
            numbers = unicodedata.normalize("NFKC", piece).split("\u2044")
            parts += [(at, at + size, number) for number in numbers]
        else:
            found = _word_parts(piece, language, is_ascii=False)
            parts += [(at + low, at + high, *terms) for low, high, *terms in found]
        at += size
    return tuple(parts)


def _word_parts(run: str, language: str | None, *, is_ascii: bool = True) -> tuple[Part, ...]:
    written = without_symbols(run)
    # The digits of CO₂ are those of CO2.
    word = written if is_ascii else written.translate(_SMALL_DIGITS)
    (_, end), *rest = borders_of(word)
    terms = _terms(word, language)
    if rest:
        terms = (*_terms(word[:end], language), *terms)
        if len(rest) > 1 and (name := _NAME_BEFORE_NUMBER.fullmatch(word)):
            terms += _terms(name[1], language)
    elif word[0] in "vV" and (version := _VERSION.fullmatch(word)):
        terms = (version[1], *terms)
    if written != run:
        terms = (*terms, fold(run[:_MAX_TERM_CHARS]))
    if not is_ascii and (accented := accented_term(written)):
        terms = (*terms, accented)
    whole = (0, len(run if is_ascii else run.encode()), *dict.fromkeys(terms))
    if not rest:
        return (whole,)
    octets = list(accumulate(map(len, map(str.encode, written)), initial=0))
    return (whole, *((octets[low], octets[high], *_terms(word[low:high], language)) for low, high in rest))


def accented_term(word: str) -> str | None:
    """Return the term of a word as it is written if that has accents; None for a word without any."""
    if word.isascii():
        return None
    accented = keep_accents(word[:_MAX_TERM_CHARS])
    return None if accented == fold(word[:_MAX_TERM_CHARS]) else _AS_WRITTEN + accented


def _terms(word: str, language: str | None) -> tuple[str, ...]:
    beginning = word[:_MAX_TERM_CHARS]
    if language == UNSTEMMED:
        return (fold(beginning),)
    terms, is_ascii = [stem(beginning)], beginning.isascii()
    if language is not None or not is_ascii:
        terms += stems_in(language, beginning)
    if not is_ascii and language not in _WITH_OWN_UMLAUTS:
        spelled = unicodedata.normalize("NFC", beginning).translate(_UMLAUTS)
        if spelled != beginning:
            terms += _terms(spelled, language)
    return tuple(dict.fromkeys(terms))


def _bigrams(run: str) -> tuple[Part, ...]:
    characters = split_graphemes(run)
    folded = list(map(fold, characters))
    octets = list(accumulate(map(len, map(str.encode, characters)), initial=0))
    pairs = zip(octets, octets[2:], map(add, folded, folded[1:]), strict=False)
    return (*pairs, (octets[-2], octets[-1], folded[-1]))


def is_measure(word: str) -> bool:
    """Return whether `word` is a number and letters, which may also stand apart: `16GB`, `sha256`, `½`."""
    if word.isalpha() or word.isdecimal():
        return False
    return _NUMERALS.search(word) is not None or len(borders_of(word)) == 2


def whole_terms(run: str, language: str | None) -> tuple[str, ...]:
    """Return the terms of a word as a whole: `ratelimit`, `c++`."""
    word = without_symbols(run)
    return _terms(word.lower(), language) if word == run else (fold(run[:_MAX_TERM_CHARS]),)


def borders_of(word: str) -> list[tuple[int, int]]:
    """Return the ranges of the parts of an identifier.

    `HTTPServer` has the parts HTTP and Server, `sha256` has sha and 256, `16GB` has 16 and GB.
    """
    borders: list[tuple[int, int]] = []
    if word.isalpha():
        return list(pairwise([*_part_starts(word), len(word)]))
    for low, high in pairwise([*_part_starts(word), len(word)]):
        number = _NUMBERED.fullmatch(word, low, high) or _MEASURED.fullmatch(word, low, high)
        borders += [number.span(1), number.span(2)] if number else [(low, high)]
    return borders


def _part_starts(word: str) -> list[int]:
    """Return the starts of the parts; parts too short to be words (LaTeX, a base64 key) are not split."""
    if word[1:] == word[1:].lower() or word.isupper():
        return [0]
    starts = [0, *(at for at in range(1, len(word)) if _begins_part(word, at))]
    least_chars = _LEAST_OF_LETTERS if word.isalpha() else _LEAST
    if len(starts) <= _FEW_PARTS:
        least_chars = _LEAST_OF_FEW
    return starts if len(word) >= least_chars * len(starts) else [0]


def _begins_part(word: str, at: int) -> bool:
    if not word[at].isupper():
        return False
    return not word[at - 1].isupper() or (at + 1 < len(word) and word[at + 1].islower())
