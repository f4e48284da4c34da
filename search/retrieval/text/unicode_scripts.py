"""Word characters, and the scripts that write no spaces between words (unspaced scripts)."""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final

# Thai, Lao, Myanmar, Khmer; Korean, whose particles are attached to words, also as single letters and in half
# width; Chinese and Japanese with their marks.
_UNSPACED_BLOCKS = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1100, 0x11FF),
    (0x1780, 0x17FF),
    (0x3005, 0x3007),
    (0x302A, 0x3035),
    (0x303B, 0x303C),
    (0x3040, 0x318F),
    (0x31A0, 0x31BF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFFDC),
)
_UNSPACED_PLANES = "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
_BASIC_PLANE = 0x10000
_BEYOND = range(_BASIC_PLANE, 0x1F000)


def _ranges(codes: Iterable[int]) -> str:
    """Return ascending code points as ranges of a character class."""
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{chr(low)}-{chr(high)}" for low, high in ranges)


def _category_ranges(categories: str, codes: Iterable[int]) -> str:
    """Return those of `codes` whose general category begins with one of the letters, as ranges."""
    return _ranges(code for code in codes if unicodedata.category(chr(code))[0] in categories)


_UNSPACED_CODES = dict.fromkeys(code for low, high in _UNSPACED_BLOCKS for code in range(low, high + 1))
_SPACED_CODES = [code for code in range(_BASIC_PLANE) if code not in _UNSPACED_CODES]
_UNSPACED_MARKS = _category_ranges("M", _UNSPACED_CODES)
_UNSPACED = _category_ranges("LN", _UNSPACED_CODES) + _UNSPACED_MARKS + _UNSPACED_PLANES
# Letters and numbers of the basic plane, listed since that matches fastest, and private-use characters.
_LETTERS = _category_ranges("LN", _SPACED_CODES) + "\ue000-\uf8ff"
#: Characters between the parts of a word: hyphens, and what divides the thousands of a number.
HYPHENS = frozenset("-\u2010\u2011")
BETWEEN_THOUSANDS = frozenset(",.'\u2019\u00a0\u202f\u2009")
#: Divides the parts of a number that is one term, and ends a code: a letter to Unicode that nobody types.
NUMBER_SIGN = "\ua78f"
#: Characters that nobody sees: the soft hyphen, spaces without width, joiners.
INVISIBLE = "\u00ad\u200b-\u200d\u2060\ufeff"
_WITHOUT_INVISIBLE: Final = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
# The first letters that aren't Latin, Greek, Cyrillic or Armenian.
_BEYOND_ACCENTS: Final = "\u0590"
# Characters that don't end a word: combining marks and invisible ones.
_INNER = INVISIBLE + _category_ranges("M", _SPACED_CODES)
# Signs that writers may omit: accents except the breve of й, Hebrew points, Arabic vowel signs, invisible
# characters, the colour of an emoji's skin.
_OPTIONAL_MARKS = re.compile(
    f"[{INVISIBLE}\u0300-\u0305\u0307-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u0640\u064b-\u065f\u0670"
    "\ufe00-\ufe0f\U0001f3fb-\U0001f3ff]|(?<!\u0438)\u0306"
)


def _read_pairs(file: Path) -> dict[str, str]:
    """Return the pairs of characters in a text file whose first paragraph is a comment."""
    characters = "".join(file.read_text(encoding="utf-8").partition("\n\n")[2].split())
    return dict(zip(characters[::2], characters[1::2], strict=True))


# Letters that Unicode doesn't decompose, as people type them without their key; letters of Persian and Urdu
# by those of Arabic; digits of all scripts; traditional Chinese characters by simplified ones.
_PLAIN = str.maketrans(
    {
        "\u0142": "l",
        "\u00f8": "o",
        "\u0111": "d",
        "\u00f0": "d",
        "\u00e6": "ae",
        "\u0153": "oe",
        "\u00fe": "th",
        "\u0131": "i",
        "\u0127": "h",
        "\u0167": "t",
        "\u06cc": "\u064a",
        "\u0649": "\u064a",
        "\u06a9": "\u0643",
        "\u06c1": "\u0647",
        "\u0629": "\u0647",
        **{
            chr(code): str(unicodedata.decimal(chr(code)))
            for code in range(0x80, 0x20000)
            if unicodedata.category(chr(code)) == "Nd"
        },
        **_read_pairs(Path(__file__).with_name("simplified.txt")),
    }
)
# The sign of a unit, `µm`: people type u.
_MICRO = re.compile("\u03bc(?=[a-z])")

# Characters whose compatibility form is several words, or has other signs than those of a word: a formula of
# 18 letters and blanks, `(1)`, `1⁄2`. Folded as they are, so that each is a part of one term.
_UNFOLDING = (
    "\u00bc-\u00be\u013f\u0140\u037a\u2150-\u215f\u2189\u2474-\u249b\u3220-\u3229\ufc5e-\ufc63\ufdfa\ufdfb"
    "\ufe70\ufe72\ufe74\ufe76\ufe78\ufe7a\ufe7c\ufe7e\U0001f100-\U0001f10a\U0001f110-\U0001f12a\U0001f240-\U0001f248"
)
_FOLDING = re.compile(f"[^{_UNFOLDING}]+")
# A longer word is a key, and one of an unspaced script a page.
_MAX_WORD_CHARS: Final = 256
# Words that are cached, and the characters of those of them that are long: some 20 MB when full.
_MAX_CACHED_WORDS: Final = 16_384
_LONG_CHARS: Final = 40
_MAX_LONG_CHARS: Final = 2_000_000

# `C++`, `F#` of one letter, `.NET`: each branch begins with a literal, so that other characters fail at once.
_SUFFIX = r"(?:\+\+(?!\+)|#(?<=(?<![^\W_])[A-Za-z]#)(?![\w#]))?"
_DOT_NET = r"\.(?i:net)\b(?<![\w.]\....)"
_MARKS_BEYOND = _category_ranges("M", _BEYOND)
_BEYOND_BASIC = (
    f"(?=[^\\x00-\\uffff])(?:[^\\W_\\x00-\\uffff{_UNSPACED_PLANES}]|[{_MARKS_BEYOND}\U000f0000-\U0010ffff])+"
)
# An emoji with its variation and skin, those that joiners make one, the two letters of a flag.
_PICTURE = "[\u231a-\u23ff\u2600-\u27bf\u2b50\u2b55\U0001f000-\U0001f1e5\U0001f200-\U0001faff]"
_WHOLE_PICTURE = f"{_PICTURE}[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]*"
_EMOJI = f"{_WHOLE_PICTURE}(?:\u200d{_WHOLE_PICTURE})*|[\U0001f1e6-\U0001f1ff]{{1,2}}"
#: A run of an unspaced script, a word, or an emoji; `++`, `#` and `.` are included in C++, F# and .NET.
RUN = re.compile(
    f"([{_LETTERS}]+(?:[{_INNER}]+[{_LETTERS}]*)*{_SUFFIX}|[{_UNSPACED}]+|{_DOT_NET}|{_BEYOND_BASIC}|{_EMOJI})"
)
#: The same for pure ASCII text, faster.
ASCII_RUN = re.compile(f"([A-Za-z0-9]+{_SUFFIX}|{_DOT_NET})")
_OF_UNSPACED = re.compile(f"[{_UNSPACED}]")
#: What stands in the same word, or run, before a character, in a text that is read backwards.
BEFORE_UNSPACED = re.compile(f"[{_UNSPACED}]*")
BEFORE_SPACED = re.compile(f"(?:[^\\W_{_UNSPACED}]|[{_INNER}{_MARKS_BEYOND}])*")
_FIRST_UNSPACED: Final = chr(_UNSPACED_BLOCKS[0][0])
_BREAK = "[ \t\r\u3000]*\n[ \t\r\u3000]*"
#: What stands within a word and is no part of it: invisible characters, a line break of an unspaced script.
WITHIN_WORD = re.compile(f"[{INVISIBLE}]|(?<=[{_UNSPACED}]){_BREAK}(?=[{_UNSPACED}])")
# A syllable of Korean letters, a half-width kana with its voice, a letter with its marks.
_GRAPHEME = re.compile(
    "[\u1100-\u115f\ua960-\ua97f][\u1160-\u11a7\ud7b0-\ud7c6]*[\u11a8-\u11ff\ud7cb-\ud7fb]*"
    f"|[\uff66-\uff9d][\uff9e\uff9f]?|.[{_UNSPACED_MARKS}]*",
    re.DOTALL,
)
_COMPOSED = re.compile(f"[{_UNSPACED_MARKS}\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7fb\uf900-\uffdc]")
_COMBINING = _ranges(map(ord, filter(unicodedata.combining, map(chr, range(_BEYOND.stop)))))
#: Where a word, or a character of an unspaced script, begins.
BORDER = re.compile(rf"(?<![^\W_])[^\W_]|(?=[^\W_])[{_UNSPACED}]|(?=[\W_])[^\s{_COMBINING}]")


def is_unspaced(character: str) -> bool:
    """Return whether `character` is of an unspaced script, where a word may begin inside a run."""
    return character >= _FIRST_UNSPACED and _OF_UNSPACED.match(character) is not None


def has_token(term: str) -> bool:
    """Return whether `term` has any index token; `(` and `*` have none."""
    return RUN.search(term) is not None


@lru_cache(maxsize=_MAX_CACHED_WORDS)
def fold(word: str) -> str:
    """Return `word` without case, compatibility forms and optional marks; up to four times as long."""
    if len(word) > _LONG_CHARS:
        _count_long_word(len(word))
    return word.lower() if word.isascii() else fold_text(word)


class _LongWords:
    """The long words in the cache of `fold`."""

    #: Their length together, in characters.
    chars = 0


def _count_long_word(chars: int) -> None:
    """Count a long word, and empty the cache when such words fill it."""
    _LongWords.chars += chars
    if _LongWords.chars > _MAX_LONG_CHARS:
        fold.cache_clear()
        _LongWords.chars = chars


def fold_text(word: str) -> str:
    """Return a word, or a text of any length, as `fold` does."""
    if word.isascii():
        return word.lower()
    decomposed = _FOLDING.sub(lambda part: unicodedata.normalize("NFKD", part[0]), word)
    bare = _MICRO.sub("u", _OPTIONAL_MARKS.sub("", decomposed.casefold()))
    return unicodedata.normalize("NFC", bare.translate(_PLAIN)) or word


@lru_cache(maxsize=_MAX_CACHED_WORDS)
def keep_accents(word: str) -> str:
    """Return `word` as `fold` does, but with the accents of Latin, Greek and Cyrillic letters."""
    return fold(word) if word.isascii() or word[0] >= _BEYOND_ACCENTS else keep_accents_of_text(word)


def keep_accents_of_text(text: str) -> str:
    """Return a text in lower case without compatibility forms and invisible characters."""
    return unicodedata.normalize("NFKC", text.translate(_WITHOUT_INVISIBLE)).lower()


def words_of(text: str) -> list[str]:
    """Return the words of `text` in order, folded and cut; a run of an unspaced script is one."""
    return [fold(run[:_MAX_WORD_CHARS]) for run in RUN.findall(text)]


def accented_words_of(text: str) -> list[str]:
    """Return the words of `text` as `words_of` does, but with accents."""
    return [keep_accents(run[:_MAX_WORD_CHARS]) for run in RUN.findall(text)]


def count_words(text: str) -> int:
    """Return the number of words of `text`; in unspaced scripts two characters are one."""
    return sum(max(1, len(run) // 2) if is_unspaced(run[0]) else 1 for run in RUN.findall(text))


def split_graphemes(run: str) -> list[str]:
    """Return the characters of a run of an unspaced script, each with its marks."""
    return list(run) if _COMPOSED.search(run) is None else _GRAPHEME.findall(run)
