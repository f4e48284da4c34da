"""One word, or one run of an unspaced script, as tokens."""

from itertools import accumulate
from typing import Any

from search.analysis.stems import OWN, stem, stem_in
from search.retrieval.scripts import fold, is_unspaced, signs_of

#: Offsets of start and end in the UTF-8 of its run, the main term, then others found at the same position.
Part = tuple[Any, ...]

# Longer words are keys and hashes: their beginning tells them apart.
_MAX_TERM_CHARS = 128
_SYMBOLS = "+#."


def parts_of(run: str, language: str | None) -> tuple[Part, ...]:
    """Give the tokens of a word, or of a run of an unspaced script.

    The first token of a word stands for the whole word as well. `language`, one of `OWN`, adds its stems.
    """
    return _pairs(run) if is_unspaced(run[0]) else _word(run, language)


def _word(run: str, language: str | None) -> tuple[Part, ...]:
    word = run.strip(_SYMBOLS)
    (_, end), *rest = borders_of(word)
    own = (fold(run),) if word != run else ()
    terms = dict.fromkeys((*_terms(word[:end], language), *_terms(word, language), *own))
    octets = list(accumulate((len(sign.encode()) for sign in word), initial=0))
    inner = ((octets[low], octets[high], *_terms(word[low:high], language)) for low, high in rest)
    return ((0, len(run.encode()), *terms), *inner)


def _terms(word: str, language: str | None) -> tuple[str, ...]:
    beginning = word[:_MAX_TERM_CHARS]
    term = stem(beginning)
    if language not in OWN:
        return (term,)
    own = stem_in(language, beginning)
    return (term,) if own == term else (term, own)


def _pairs(run: str) -> tuple[Part, ...]:
    signs = signs_of(run)
    folded = [fold(sign) for sign in signs]
    octets = list(accumulate((len(sign.encode()) for sign in signs), initial=0))
    last = len(signs) - 1
    pairs = ((octets[at], octets[at + 2], folded[at] + folded[at + 1]) for at in range(last))
    return (*pairs, (octets[last], octets[last + 1], folded[last]))


def whole_terms(run: str, language: str | None) -> tuple[str, ...]:
    """Give the terms that a word is found by as a whole: `ratelimit`, `c++`."""
    word = run.strip(_SYMBOLS)
    return _terms(word.lower(), language) if word == run else (fold(run),)


def borders_of(word: str) -> list[tuple[int, int]]:
    """Give where the parts of an identifier lie: HTTP and Server in `HTTPServer`.

    What would fall into parts of less than two letters on average (LaTeX, a key in base 64) has none.
    """
    if word[1:] == word[1:].lower() or word.isupper():
        return [(0, len(word))]
    starts = [0, *(at for at in range(1, len(word)) if _begins_part(word, at))]
    if len(word) < 2 * len(starts):
        return [(0, len(word))]
    return list(zip(starts, [*starts[1:], len(word)], strict=True))


def _begins_part(word: str, at: int) -> bool:
    if not word[at].isupper():
        return False
    return not word[at - 1].isupper() or (at + 1 < len(word) and word[at + 1].islower())
