"""Detection of whether a model knows the language of a query. Imports no Django.

Hybrid search disables the vector leg where it doesn't: plain fusion with a leg of another language lost 0.07
of nDCG@10 in German and 0.15 in French. Measured on 17,000 queries and headings:
docs/evaluation/languages.md.
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import pycld2

from search.embedders.base import ANY_LANGUAGE, SpaceIdentity
from search.retrieval.query.stopwords import STOP_WORDS, count_function_words
from search.retrieval.text.unicode_scripts import words_of

#: Queries of unclear language are assumed to be in the language of the workspace if the share of documents in
#: languages that the model knows is at least, or at most, this.
MOSTLY_KNOWN: Final = 0.9
HARDLY_KNOWN: Final = 0.05

# A shorter query shows its language too badly to disable the leg.
_LEAST_WORDS = 3
_LEAST_LETTERS = 12
# A score of this size, from function words and the detector, overrides the workspace's language.
_DECISIVE = 2
# The least share of letters in foreign scripts: a single Greek letter makes no Greek query.
_FOREIGN_SHARE = 1 / 3
# A Chinese character or Japanese kana counts as three letters.
_LETTERS_OF_A_SIGN = 3
# Scripts by language, as the first word of a letter's Unicode name; all other languages use Latin letters.
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
# Identifiers, file names and addresses, which have no language.
_NAME_PATTERN = re.compile(r"[\d_#@{}<>=`]|[a-z][A-Z]|\w[./\\:]\w|\(\)")
_LATIN = "LATIN"
# Longer than any question; the beginning of a pasted page suffices.
_READ_CHARS = 1_000


def knows_language(model: SpaceIdentity, text: str, known_share: float | None = None) -> bool:
    """Return whether `model` knows the language of `text`; True if it can't be determined.

    `known_share`, in [0, 1], is the share of the workspace's documents whose language the model knows. The
    script decides first; for a short query then the workspace, if it has hardly any known documents; for
    others function words and a detector if they are clear, then the workspace if nearly all or none of its
    documents are known, then the sign of the score.
    """
    if ANY_LANGUAGE in model.languages:
        return True
    words = [word for word in text[:_READ_CHARS].split() if _NAME_PATTERN.search(word) is None]
    if _is_in_foreign_script(model, text[:_READ_CHARS]):
        return False
    if len(text.split()) < _LEAST_WORDS or sum(map(str.isalpha, text)) < _LEAST_LETTERS:
        return known_share is None or known_share > HARDLY_KNOWN
    score = _language_score(model, " ".join(words))
    is_open = abs(score) < _DECISIVE
    if is_open and known_share is not None and not HARDLY_KNOWN < known_share < MOSTLY_KNOWN:
        return known_share >= MOSTLY_KNOWN
    return score >= 0


def _is_in_foreign_script(model: SpaceIdentity, text: str) -> bool:
    known = {script for language in model.languages for script in _SCRIPTS.get(language, (_LATIN,))}
    if _LATIN in known and text.isascii():
        return False
    sizes: dict[bool, int] = {True: 0, False: 0}
    for letter in filter(str.isalpha, unicodedata.normalize("NFKC", text)):
        script = unicodedata.name(letter, "").partition(" ")[0]
        is_sign = script in _SCRIPTS["ja"]
        sizes[script not in known] += _LETTERS_OF_A_SIGN if is_sign else 1
    return sizes[True] > 0 and sizes[True] >= _FOREIGN_SHARE * sum(sizes.values())


def _language_score(model: SpaceIdentity, text: str) -> int:
    """Return the score of a text's function words and of a detector: above 0 for the model's languages."""
    counts = count_function_words(words_of(text))
    known = max((counts.pop(language, 0) for language in model.languages), default=0)
    return known - max(counts.values(), default=0) + _detector_vote(model, text)


def _detector_vote(model: SpaceIdentity, text: str) -> int:
    code = _detect(text)
    return 0 if code is None else 1 if model.speaks(code) else -1


@lru_cache(maxsize=256)
def guess_language(text: str, *, is_certain: bool = False) -> str | None:
    """Return the ISO 639-1 code of a query's language; None if it is unknown, or hardly spoken.

    With `is_certain` a guess that the detector does not vouch for is none.
    """
    code = _detect(text[:_READ_CHARS], best_effort=not is_certain)
    return code if code in STOP_WORDS or code in _SCRIPTS else None


def _detect(text: str, *, best_effort: bool = True) -> str | None:
    try:
        _, _, guesses = pycld2.detect(text.encode("utf-8", "replace"), bestEffort=best_effort)
    except pycld2.error:  # raised for control characters and unassigned code points
        return None
    code = str(guesses[0][1]).partition("-")[0]
    return None if code == "un" else "he" if code == "iw" else code
