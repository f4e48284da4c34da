"""Stems: English for all Latin words, their own for other languages and scripts."""

import re
import unicodedata
from functools import cache
from threading import Lock
from typing import Final

import Stemmer

from search.retrieval.text.unicode_scripts import fold

#: Names the libraries that the terms of a text depend on.
ANALYSIS_VERSION = f"snowball {Stemmer.version()}, unicode {unicodedata.unidata_version}"

#: ISO 639-1 code -> algorithm of Snowball (M. F. Porter, "Snowball: a language for stemming
#: algorithms", 2001) for the languages whose words have a second stem.
OWN: Final = {
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
# A stemmer keeps state while it works.
_one_at_a_time = Lock()


def stem(word: str) -> str:
    """Return the index term of `word`: folded, and stemmed by its script; with a digit in it, as it is."""
    folded = fold(word)
    if len(folded) < _MIN_STEMMED_CHARS or _DIGIT.search(folded):
        return folded
    script = unicodedata.name(folded[0], "").partition(" ")[0]
    algorithm = _BY_SCRIPT.get(script)
    return folded if algorithm is None else _stemmed(algorithm, folded)


def stem_in(language: str, word: str) -> str:
    """Return the folded stem of `word` in a language of `OWN`, whose stemmers know accents."""
    return fold(_stemmed(OWN[language], unicodedata.normalize("NFC", word.lower())))


def _stemmed(algorithm: str, word: str) -> str:
    with _one_at_a_time:
        return str(_stemmer(algorithm).stemWord(word))


@cache
def _stemmer(algorithm: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(algorithm)
