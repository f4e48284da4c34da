"""Stemming: English for all Latin words, and language-specific for other languages and scripts."""

import re
import unicodedata
from functools import cache
from threading import Lock
from typing import Final

import Stemmer

from search.retrieval.text.unicode_scripts import fold

#: Versions of what determines the terms of a text: of this package, incremented with any change of the terms,
#: and of its libraries.
ANALYSIS_VERSION = f"terms 2, snowball {Stemmer.version()}, unicode {unicodedata.unidata_version}"

#: ISO 639-1 code -> algorithm of Snowball (M. F. Porter, "Snowball: a language for stemming
#: algorithms", 2001) for the languages whose words have a second stem.
LANGUAGE_STEMMERS: Final = {
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "es": "spanish",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "id": "indonesian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "sv": "swedish",
    "tr": "turkish",
}
# By the first word of a letter's Unicode name.
_BY_SCRIPT: Final = {
    "ARABIC": "arabic",
    "ARMENIAN": "armenian",
    "CYRILLIC": "russian",
    "DEVANAGARI": "hindi",
    "GREEK": "greek",
    "LATIN": "english",
    "TAMIL": "tamil",
}
_MIN_STEMMED_CHARS = 3
_DIGIT = re.compile(r"\d")
# A stemmer has internal state during a call.
_stemmer_lock = Lock()


def stem(word: str) -> str:
    """Return the index term of `word`: folded, and stemmed by its script unless it contains a digit."""
    folded = fold(word)
    if len(folded) < _MIN_STEMMED_CHARS or _DIGIT.search(folded):
        return folded
    script = unicodedata.name(folded[0], "").partition(" ")[0]
    algorithm = _BY_SCRIPT.get(script)
    return folded if algorithm is None else _apply_stemmer(algorithm, folded)


def stem_in(language: str, word: str) -> str:
    """Return the folded stem of `word` in a language of `LANGUAGE_STEMMERS`; those stemmers need accents."""
    return fold(_apply_stemmer(LANGUAGE_STEMMERS[language], unicodedata.normalize("NFC", word.lower())))


def _apply_stemmer(algorithm: str, word: str) -> str:
    with _stemmer_lock:
        return str(_stemmer(algorithm).stemWord(word))


@cache
def _stemmer(algorithm: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(algorithm)
