"""Whether a model knows the language that a query is written in. Imports no Django.

Hybrid search leaves the vector leg out where it doesn't: plain fusion with a leg that can't read lost 0.07 of
nDCG@10 in German and 0.15 in French. Measured on 17,000 queries and headings: docs/evaluation/languages.md.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Final

import pycld2

from search.embedders.base import ANY_LANGUAGE, SpaceIdentity
from search.retrieval.query.stopwords import STOP_WORDS
from search.retrieval.text.unicode_scripts import words_of

#: A workspace with at least, or at most, such a share of documents in languages that the model knows is
#: taken to be asked in its own language where a query leaves that open.
MOSTLY_KNOWN: Final = 0.9
HARDLY_KNOWN: Final = 0.05

# A function word too many, and the detector's word: two of these decide against the workspace.
_DECISIVE = 2
# Letters of scripts that the model's languages aren't written in: a Greek letter makes no Greek query.
_FOREIGN_SHARE = 1 / 3
# A sign of Chinese, and of Japanese kana, says as much as three letters.
_LETTERS_OF_A_SIGN = 3
# By the first word of a letter's Unicode name; every other language is written in Latin letters.
_SCRIPTS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("be", "bg", "kk", "ky", "mk", "mn", "ru", "sr", "tg", "uk"), ("CYRILLIC",)),
    **dict.fromkeys(("ar", "fa", "ps", "ug", "ur"), ("ARABIC",)),
    **dict.fromkeys(("hi", "mr", "ne", "sa"), ("DEVANAGARI",)),
    **dict.fromkeys(("as", "bn"), ("BENGALI",)),
    **dict.fromkeys(("he", "yi"), ("HEBREW",)),
    **dict.fromkeys(("am", "ti"), ("ETHIOPIC",)),
    "el": ("GREEK",),
    "gu": ("GUJARATI",),
    "hy": ("ARMENIAN",),
    "ja": ("CJK", "HIRAGANA", "KATAKANA"),
    "ka": ("GEORGIAN",),
    "km": ("KHMER",),
    "kn": ("KANNADA",),
    "ko": ("HANGUL",),
    "lo": ("LAO",),
    "ml": ("MALAYALAM",),
    "my": ("MYANMAR",),
    "pa": ("GURMUKHI",),
    "si": ("SINHALA",),
    "ta": ("TAMIL",),
    "te": ("TELUGU",),
    "th": ("THAI",),
    "zh": ("CJK",),
}
# In a name that code, files or addresses have: those are of no language.
_OF_A_NAME = re.compile(r"[\d_#@{}<>=`]|[a-z][A-Z]|\w[./\\:]\w|\(\)")
# Longer than any question: a pasted page says it in its beginning.
_READ_CHARS = 1_000


def knows_language(model: SpaceIdentity, text: str, known_share: float | None = None) -> bool:
    """Return whether `model` knows the language of `text`, as far as can be told from so little; else True.

    `known_share`, in [0, 1], is the share of the workspace's documents whose language the model knows. The
    script decides; then function words and a detector where they are clear; then the workspace where it
    is practically of one kind; then whatever they hint at.
    """
    if ANY_LANGUAGE in model.languages:
        return True
    words = [word for word in text[:_READ_CHARS].split() if _OF_A_NAME.search(word) is None]
    if _is_in_foreign_script(model, text[:_READ_CHARS]):
        return False
    leaning = _leaning(model, " ".join(words))
    is_open = abs(leaning) < _DECISIVE
    if is_open and known_share is not None and not HARDLY_KNOWN < known_share < MOSTLY_KNOWN:
        return known_share >= MOSTLY_KNOWN
    return leaning >= 0


def _is_in_foreign_script(model: SpaceIdentity, text: str) -> bool:
    known = {script for language in model.languages for script in _SCRIPTS.get(language, ("LATIN",))}
    sizes: dict[bool, int] = {True: 0, False: 0}
    for letter in filter(str.isalpha, unicodedata.normalize("NFKC", text)):
        script = unicodedata.name(letter, "").partition(" ")[0]
        is_sign = script in _SCRIPTS["ja"]
        sizes[script not in known] += _LETTERS_OF_A_SIGN if is_sign else 1
    return sizes[True] > 0 and sizes[True] >= _FOREIGN_SHARE * sum(sizes.values())


def _leaning(model: SpaceIdentity, text: str) -> int:
    """Return how far a text's words, and a detector, are for the model's languages, below 0 for
    another one.
    """
    words = {word for word in words_of(text) if len(word) > 1}
    known = max(_counts(words, model.languages), default=0)
    other = max(_counts(words, STOP_WORDS.keys() - set(model.languages)), default=0)
    return known - other + _vote(model, text)


def _counts(words: set[str], languages: Iterable[str]) -> Iterable[int]:
    return (len(words & STOP_WORDS[language]) for language in languages if language in STOP_WORDS)


def _vote(model: SpaceIdentity, text: str) -> int:
    try:
        _, _, guesses = pycld2.detect(text.encode("utf-8", "replace"), bestEffort=True)
    except pycld2.error:  # it refuses control characters and unassigned code points
        return 0
    code = str(guesses[0][1]).partition("-")[0]
    if code == "un":
        return 0
    return 1 if model.speaks("he" if code == "iw" else code) else -1
