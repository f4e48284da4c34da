"""Stemming: English for all Latin words, and language-specific for other languages and scripts."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from threading import Lock
from typing import Final

import Stemmer

from search.retrieval.query.stopwords import ANY_STOP_WORD
from search.retrieval.text.unicode_scripts import fold

_Rules = Mapping[str, Sequence[tuple[re.Pattern[str], str]]]


def _compile_rules(rules: Mapping[str, Mapping[str, str]]) -> _Rules:
    """Return patterns and their replacements by language."""
    return {
        language: [(re.compile(pattern), by) for pattern, by in of_language.items()]
        for language, of_language in rules.items()
    }


#: Versions of what determines the terms of a text: of this package, incremented with any change of the terms,
#: and of its libraries.
ANALYSIS_VERSION = f"terms 3, snowball {Stemmer.version()}, unicode {unicodedata.unidata_version}"

#: ISO 639-1 code -> algorithm of Snowball (M. F. Porter, "Snowball: a language for stemming
#: algorithms", 2001) for the languages whose words have a second stem.
LANGUAGE_STEMMERS: Final = {
    "ca": "catalan",
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
# As detectors of a document's language name these.
_CODES: Final = {"nb": "no", "nn": "no"}
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
# What Snowball leaves apart of one word, by language: patterns of a word and their replacements before its
# stemming, then patterns of its stem, folded.
_WORD_RULES: Final = _compile_rules(
    {
        "es": {r"ces$": "z"},
        "fr": {r"ail$": "al"},
        "pt": {r"ais$": "al", r"[eé]is$": "el", r"[oó]is$": "ol", r"(?:ões|ães|ãos)$": "ão", r"ns$": "m"},
        "ro": {r"ur[ăi]$": "ur"},
    }
)
# nyckel, nycklar; nøkkel, nøkler: a vowel that endings drop.
_DROPPED_VOWEL = {r"(?<=[aeiouy])([^aeiouy]*?)([^aeiouy])\2?e([lr])n?$": r"\1\2\3"}
_STEM_RULES: Final = _compile_rules(
    {
        "da": _DROPPED_VOWEL,
        # sopimus, sopimuksen; oikeus, oikeuden; suomalainen, suomalaisen.
        "fi": {
            r"(?<=[aeiouy])ks$": "s",
            r"(?<=\w\w[uy])[dt]$": "s",
            r"(?<=\w\wi)n$": "s",
            r"(?<=\w[aeim]u|\wmy)$": "s",
        },
        "no": _DROPPED_VOWEL,
        "sv": {r"(?<=\w\w\w)an$": "", **_DROPPED_VOWEL},
        "tr": {r"(?<=\w\w\w\w)[aeiou][ns]?$": ""},
    }
)
# Prefixes of Hebrew words, and what plurals and feminine forms end with.
_HEBREW_PREFIX = re.compile(r"^ו?(?:כש|ש)?[הבלכמ]?(?=\w{3})")
_HEBREW_ENDING = re.compile(r"(?<=\w\w)(?:ים|ות)$|(?<=\w\w\w)[הת]$")
_FINAL_LETTERS = str.maketrans("ךםןףץ", "כמנפצ")
_HEBREW = re.compile("[א-ת]")
#: Stands before and between the codes of several languages in one, as in `+de+fr`.
SEVERAL: Final = "+"
_MIN_STEMMED_CHARS = 3
_MAX_CACHED_WORDS = 8_192
_DIGIT = re.compile(r"\d")
# A stemmer has internal state during a call.
_stemmer_lock = Lock()


def stem(word: str) -> str:
    """Return the index term of `word`: folded, and stemmed by its script unless it contains a digit."""
    folded = fold(word)
    if len(folded) < _MIN_STEMMED_CHARS or _DIGIT.search(folded):
        return folded
    if folded.isascii():
        return _apply_stemmer(_BY_SCRIPT["LATIN"], folded)
    algorithm = _BY_SCRIPT.get(unicodedata.name(folded[0], "").partition(" ")[0])
    return folded if algorithm is None else _apply_stemmer(algorithm, folded)


@lru_cache(maxsize=_MAX_CACHED_WORDS)
def stems_in(language: str | None, word: str) -> tuple[str, ...]:
    """Return the folded stems of `word` in a language, or in each of several.

    Several are those of other texts: stems that are too short to tell anything, or stop words, are left out.
    Hebrew words, of any language, also count without their prefixes and endings.
    """
    if _HEBREW.match(word):
        bare = _HEBREW_PREFIX.sub("", fold(word))
        endless = (_HEBREW_ENDING.sub("", each).translate(_FINAL_LETTERS) for each in (fold(word), bare))
        return (bare, *endless)
    if language is None or not language.startswith(SEVERAL):
        return (stem_in(language, word),) if language in LANGUAGE_STEMMERS else ()
    stems = {stem_in(each, word) for each in language[1:].split(SEVERAL)}
    return tuple(
        sorted(each for each in stems if len(each) >= _MIN_STEMMED_CHARS and each not in ANY_STOP_WORD)
    )


def languages_of(codes: Iterable[str]) -> str | None:
    """Return those of the BCP 47 codes whose words have a second stem, as one code; None for none."""
    named = {_CODES.get(code, code) for code in codes} & LANGUAGE_STEMMERS.keys()
    return "".join(f"{SEVERAL}{code}" for code in sorted(named)) or None


def stem_in(language: str, word: str) -> str:
    """Return the folded stem of `word` in a language of `LANGUAGE_STEMMERS`; those stemmers need accents."""
    spelled = unicodedata.normalize("NFC", word.lower())
    for pattern, replacement in _WORD_RULES.get(language, ()):
        spelled = pattern.sub(replacement, spelled)
    stem = fold(_apply_stemmer(LANGUAGE_STEMMERS[language], spelled))
    for pattern, replacement in _STEM_RULES.get(language, ()):
        stem = pattern.sub(replacement, stem)
    return stem


def _apply_stemmer(algorithm: str, word: str) -> str:
    with _stemmer_lock:
        return str(_stemmer(algorithm).stemWord(word))


@cache
def _stemmer(algorithm: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(algorithm)
