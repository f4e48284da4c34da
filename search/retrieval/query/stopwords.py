"""Stop words by language, and detection of the language by its function words.

Only languages that write spaces are listed: the others are indexed by character bigrams, not words.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

from search.retrieval.text.unicode_scripts import accented_words_of, fold, keep_accents


def read_word_lists(file: Path) -> dict[str, str]:
    """Return the lists of words in a text file by name: each is a paragraph that begins with its name."""
    paragraphs = file.read_text(encoding="utf-8").split("\n\n")
    lists = (paragraph.partition(": ") for paragraph in paragraphs if not paragraph.startswith("#"))
    return {language: words for language, _, words in lists}


# ISO 639-1 code -> function words, unfolded.
_LISTS: Final[Mapping[str, str]] = read_word_lists(Path(__file__).with_suffix(".txt"))

#: ISO 639-1 code -> function words in lower case: as they are written, and without their accents.
STOP_WORDS: Final[Mapping[str, frozenset[str]]] = {
    language: frozenset(form for word in words.split() for form in (keep_accents(word), fold(word)))
    for language, words in _LISTS.items()
}

# A single word in Latin letters proves no language: `die` is English, too, and so is `comment`. Nor does a
# single letter.
_PROOF_WORDS = 2
_BEYOND_LATIN = "\u0370"
_HIRAGANA_PAIR: Final = re.compile("[\u3041-\u309f]{2}")


def _group_languages() -> dict[str, tuple[str, ...]]:
    """Return the languages of each function word of two letters or more, in the order of the lists."""
    languages_of: dict[str, tuple[str, ...]] = {}
    for language, words in STOP_WORDS.items():
        for word in words:
            if len(word) > 1:
                languages_of[word] = (*languages_of.get(word, ()), language)
    return languages_of


_LANGUAGES_OF: Final[Mapping[str, Sequence[str]]] = _group_languages()
_ANY_PROOF: Final = frozenset(_LANGUAGES_OF)
_ENGLISH_ALONE: Final = frozenset(word for word, languages in _LANGUAGES_OF.items() if languages == ("en",))
_RANKS: Final = {language: rank for rank, language in enumerate(STOP_WORDS)}


def count_function_words(words: Iterable[str]) -> Counter[str]:
    """Return the number of distinct function words of two letters or more among `words`, by language."""
    return Counter(chain.from_iterable(map(_LANGUAGES_OF.__getitem__, _ANY_PROOF.intersection(words))))


def language_of(words: Iterable[str]) -> str | None:
    """Return the ISO 639-1 code of the language that has most function words among `words`.

    Words are in lower case. Return None for fewer than two distinct function words, or than one outside the
    Latin script; ties go to English, then to the language that is listed first.
    """
    found = _ANY_PROOF.intersection(words)
    needed = 1 if max(found, default="") >= _BEYOND_LATIN else _PROOF_WORDS
    english = len(found & STOP_WORDS["en"])
    if len(found - _ENGLISH_ALONE) <= max(english, needed - 1):
        return "en" if english >= _PROOF_WORDS else None
    counts = count_function_words(found)
    language = min(counts, key=lambda each: (-counts[each], _RANKS[each]))
    return language if counts[language] >= needed else None


def is_stop_word(term: str, language: str | None) -> bool:
    """Return whether each word of `term` is a stop word of the language, of English if unknown.

    Accents that are typed count: `thé` isn't `the`. Two hiragana count as a stop word: they are mostly
    grammatical.
    """
    if _HIRAGANA_PAIR.fullmatch(term):
        return True
    words = accented_words_of(term)
    return bool(words) and STOP_WORDS.get(language or "en", frozenset()).issuperset(words)


def content_terms(terms: Sequence[str], language: str | None = None) -> tuple[str, ...]:
    """Return the terms without stop words of `language`, or all terms if nothing else is left.

    With None the language is detected from the terms.
    """
    known = language or language_of(chain.from_iterable(map(accented_words_of, terms)))
    content = tuple(term for term in terms if not is_stop_word(term, known))
    return content or tuple(terms)
