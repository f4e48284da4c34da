"""One word, or one run of an unspaced script, as tokens."""

import re
from itertools import accumulate, pairwise
from operator import add
from typing import Any

from search.analysis.stems import OWN, stem, stem_in
from search.retrieval.text.unicode_scripts import fold, is_unspaced, signs_of

#: Offsets of start and end in the UTF-8 of its run, the main term, then others found at the same position.
Part = tuple[Any, ...]

# Longer words are keys and hashes: their beginning tells them apart.
_MAX_TERM_CHARS = 128
#: In the place of a language: words are their own terms, folded, whatever language they are of.
UNSTEMMED = "unstemmed"
_FEW_PARTS = 3
# Characters that the parts of a name have at least, on average; of random letters and digits fewer have.
_LEAST_OF_FEW, _LEAST_OF_LETTERS, _LEAST = 2.0, 2.5, 3.0
_NUMBERED = re.compile(r"[^\W\d_]{2,}(\d+)")


def parts_of(run: str, language: str | None) -> tuple[Part, ...]:
    """Return the tokens of a word, or of a run of an unspaced script.

    The first token of a word stands for the whole word as well. `language`, one of `OWN`, adds its stems;
    UNSTEMMED takes all stems away.
    """
    return _pairs(run) if is_unspaced(run[0]) else _word(run, language)


def without_symbols(run: str) -> str:
    """Return the word of a run that may be a name with its signs: C of `C++`, NET of `.NET`."""
    return run.strip("+#.")


def _word(run: str, language: str | None) -> tuple[Part, ...]:
    word = without_symbols(run)
    (_, end), *rest = borders_of(word)
    terms = _terms(word, language)
    if rest:
        terms = (*_terms(word[:end], language), *terms)
    if word != run:
        terms = (*terms, fold(run))
    here = (0, len(run.encode()), *dict.fromkeys(terms))
    if not rest:
        return (here,)
    octets = list(accumulate(map(len, map(str.encode, word)), initial=0))
    return (here, *((octets[low], octets[high], *_terms(word[low:high], language)) for low, high in rest))


def _terms(word: str, language: str | None) -> tuple[str, ...]:
    beginning = word[:_MAX_TERM_CHARS]
    if language == UNSTEMMED:
        return (fold(beginning),)
    term = stem(beginning)
    if language not in OWN:
        return (term,)
    own = stem_in(language, beginning)
    return (term,) if own == term else (term, own)


def _pairs(run: str) -> tuple[Part, ...]:
    signs = signs_of(run)
    folded = list(map(fold, signs))
    octets = list(accumulate(map(len, map(str.encode, signs)), initial=0))
    pairs = zip(octets, octets[2:], map(add, folded, folded[1:]), strict=False)
    return (*pairs, (octets[-2], octets[-1], folded[-1]))


def whole_terms(run: str, language: str | None) -> tuple[str, ...]:
    """Return the terms that a word is found by as a whole: `ratelimit`, `c++`."""
    word = without_symbols(run)
    return _terms(word.lower(), language) if word == run else (fold(run),)


def borders_of(word: str) -> list[tuple[int, int]]:
    """Return where the parts of an identifier lie: HTTP and Server in `HTTPServer`, sha and 256 in
    `sha256`.
    """
    borders: list[tuple[int, int]] = []
    for low, high in pairwise([*_capitals(word), len(word)]):
        number = _NUMBERED.fullmatch(word, low, high)
        borders += [(low, number.start(1)), number.span(1)] if number else [(low, high)]
    return borders


def _capitals(word: str) -> list[int]:
    """Return where parts begin; too short to be words (LaTeX, a key in base 64), they are one."""
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
