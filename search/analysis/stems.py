"""Stemming: English for all Latin words, and language-specific for other languages and scripts."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from threading import Lock
from typing import Final

import Stemmer

from search.retrieval.query.stopwords import STOP_WORDS
from search.retrieval.text.unicode_scripts import fold

_Rules = Mapping[str, Sequence[tuple[re.Pattern[str], str]]]

#: Versions of what determines the terms of a text: of this package, incremented with any change of the terms,
#: and of its libraries.
ANALYSIS_VERSION = f"terms 4, snowball {Stemmer.version()}, unicode {unicodedata.unidata_version}"

#: ISO 639-1 code -> algorithm of Snowball (M. F. Porter, "Snowball: a language for stemming
#: algorithms", 2001) for the languages whose words have a second stem.
LANGUAGE_STEMMERS: Final = {
    "af": "dutch",
    "bg": "russian",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "eo": "esperanto",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "gl": "portuguese",
    "hr": "serbian",
    "hu": "hungarian",
    "id": "indonesian",
    "is": "swedish",
    "it": "italian",
    "lt": "lithuanian",
    "lv": "lithuanian",
    "mk": "russian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "sk": "czech",
    "sl": "serbian",
    "sr": "serbian",
    "sv": "swedish",
    "tr": "turkish",
    "uk": "russian",
    "yi": "yiddish",
}


def _compile_rules(rules: Mapping[str, Mapping[str, str]]) -> _Rules:
    """Return patterns and their replacements by language, of every language."""
    return {
        language: [(re.compile(pattern), by) for pattern, by in rules.get(language, {}).items()]
        for language in LANGUAGE_STEMMERS
    }


#: Codes by which detectors of a document's language name these, or languages with the same stems.
ALIASES: Final = {"bs": "hr", "ms": "id", "nb": "no", "nn": "no"}
#: Algorithms by the first word of a letter's Unicode name.
SCRIPT_STEMMERS: Final = {
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
        "bg": {r"(?<=\w\w\w)(?:[ъя]т|т[аоеу])$": ""},
        "es": {r"ces$": "z"},
        "fr": {r"ail$": "al"},
        "gl": {r"ais$": "al", r"[eé]is$": "el", r"(?<=n)s$": ""},
        "is": {r"ö": "a", r"(?<=\w\w\w)(?:[aiu]r?|um)?(?:inn|in|ið|na)?$": ""},
        "lv": {r"ā$": "a", r"(?:ie|ā|ē)m$": "u"},
        "mk": {r"(?<=\w\w\w)(?:от|т[аое])$": "", r"ија$": "ия"},
        "pt": {r"ais$": "al", r"[eé]is$": "el", r"[oó]is$": "ol", r"(?:ões|ães|ãos)$": "ão", r"ns$": "m"},
        "ro": {r"ur[ăi]$": "ur"},
        "sl": {r"[oe]v$": "a", r"e([ck])$": r"\1a"},
        # Inner vowels that Russian lacks are written with those that Ukrainian lacks.
        "uk": {r"ів$": "ов", r"[іїє]$": "и", r"[ії]": "ы", r"є": "э"},
    }
)
# nyckel, nycklar; nøkkel, nøkler: a vowel that endings drop.
_DROPPED_VOWEL = {r"(?<=[aeiouy])([^aeiouy]*?)([^aeiouy])\2?e([lr])n?$": r"\1\2\3"}
_STEM_RULES: Final = _compile_rules(
    {
        "af": {r"(?<=\w\w)e$": "", r"(\w)\1$": r"\1", r"([aeou])\1(?=[^aeiou]$)": r"\1"},
        "da": _DROPPED_VOWEL,
        "et": {r"(?<=\w{5})(?:di|[aeiut])$": ""},
        "eu": {r"(?<=\w\w\w)(?:aren|[ae][kn]|a)$": ""},
        # sopimus, sopimuksen; oikeus, oikeuden; suomalainen, suomalaisen.
        "fi": {
            r"(?<=[aeiouy])ks$": "s",
            r"(?<=\w\w[uy])[dt]$": "s",
            r"(?<=\w\wi)n$": "s",
            r"(?<=\w[aeim]u|\wmy)$": "s",
        },
        # radnik, radnici.
        "hr": {r"c$": "k"},
        "no": _DROPPED_VOWEL,
        "sr": {r"c$": "k"},
        "sv": {r"(?<=\w\w\w)an$": "", **_DROPPED_VOWEL},
        "tr": {r"(?<=\w\w\w\w)[aeiou][ns]?$": ""},
        # договір, договору.
        "uk": {r"ы(?=[^аеиоуыэюя]+$)": "о"},
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
        return _apply_stemmer(SCRIPT_STEMMERS["LATIN"], folded)
    algorithm = SCRIPT_STEMMERS.get(unicodedata.name(folded[0], "").partition(" ")[0])
    return folded if algorithm is None else _apply_stemmer(algorithm, folded)


@lru_cache(maxsize=_MAX_CACHED_WORDS)
def stems_in(language: str | None, word: str) -> tuple[str, ...]:
    """Return the folded stems of `word` in a language, or in each of several.

    Several are those of other texts: stems that are too short to tell anything, or stop words, are left out.
    Hebrew words, of any language, also count without their prefixes and endings.
    """
    forms = [fold(word), _HEBREW_PREFIX.sub("", fold(word))] if _HEBREW.match(word) else []
    bare = (*forms[1:], *(_HEBREW_ENDING.sub("", each).translate(_FINAL_LETTERS) for each in forms))
    written = unicodedata.normalize("NFC", word.lower())
    if language is None or not language.startswith(SEVERAL):
        return (*bare, stem_in(language, written)) if language in LANGUAGE_STEMMERS else bare
    codes, empty = _split_languages(language)
    stems = {stem_in(each, written) for each in codes}
    return (*bare, *sorted([each for each in stems - empty if len(each) >= _MIN_STEMMED_CHARS]))


@lru_cache
def _split_languages(language: str) -> tuple[Sequence[str], frozenset[str]]:
    """Return the codes of several languages in one, and their stop words with the English ones."""
    codes = language[1:].split(SEVERAL)
    return codes, STOP_WORDS["en"].union(*map(STOP_WORDS.__getitem__, codes))


def languages_of(codes: Iterable[str]) -> str | None:
    """Return those of the BCP 47 codes whose words have a second stem, as one code; None for none."""
    named = {ALIASES.get(code, code) for code in codes} & LANGUAGE_STEMMERS.keys()
    return "".join(f"{SEVERAL}{code}" for code in sorted(named)) or None


def stem_in(language: str, word: str) -> str:
    """Return the folded stem of a word in lower case with accents in a language of `LANGUAGE_STEMMERS`."""
    for pattern, replacement in _WORD_RULES[language]:
        word = pattern.sub(replacement, word)
    stem = fold(_apply_stemmer(LANGUAGE_STEMMERS[language], word))
    for pattern, replacement in _STEM_RULES[language]:
        stem = pattern.sub(replacement, stem)
    return stem


def _apply_stemmer(algorithm: str, word: str) -> str:
    with _stemmer_lock:
        return str(_stemmer(algorithm).stemWord(word))


@cache
def _stemmer(algorithm: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(algorithm)
