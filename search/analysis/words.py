"""One word as tokens: its stems, and the parts of an identifier."""

from functools import lru_cache

from search.analysis.stems import LATIN, stem, stem_in
from search.retrieval.scripts import fold

# The words of a large workspace; some 80 MB when full.
_KNOWN_WORDS = 150_000


#: A part of a word: its offsets in it, its main term, then others that are found at the same position.
Part = tuple[int, int, tuple[str, ...]]


@lru_cache(maxsize=_KNOWN_WORDS)
def word_parts(word: str, suffix: str | None, language: str | None) -> tuple[Part, ...]:
    """Give the parts of a word; the first stands for the whole word as well.

    `suffix` is what makes another name of it (C++). `language`, one of `LATIN`, adds the stems of that
    language.
    """
    first, *rest = borders_of(word)
    whole = _terms(word, language)
    if suffix:
        whole = (*whole, fold(word) + suffix)
    here = dict.fromkeys((*_terms(word[: first[1]], language), *whole))
    named = (0, len(word) + len(suffix or ""), tuple(here))
    return (named, *((low, high, _terms(word[low:high], language)) for low, high in rest))


def _terms(word: str, language: str | None) -> tuple[str, ...]:
    term = stem(word)
    if language not in LATIN:
        return (term,)
    own = stem_in(language, word)
    return (term,) if own == term else (term, own)


def borders_of(word: str) -> list[tuple[int, int]]:
    """Give where the parts of an identifier lie: `rateLimit` has two, and so has `HTTPServer`."""
    rest = word[1:]
    if rest == rest.lower() or word.isupper():
        return [(0, len(word))]
    borders = [at for at in range(1, len(word)) if _begins_part(word, at)]
    return list(zip([0, *borders], [*borders, len(word)], strict=True))


def _begins_part(word: str, at: int) -> bool:
    if not word[at].isupper():
        return False
    return not word[at - 1].isupper() or (at + 1 < len(word) and word[at + 1].islower())
