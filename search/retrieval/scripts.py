"""Characters: which make up words, and which scripts write no spaces between words."""

import re
import unicodedata
from functools import lru_cache

# Thai, Lao, Myanmar, Khmer; Chinese and Japanese with their marks; Korean, whose particles hang on words.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3031-\u3035\u303b\u303c\u3040-\u30ff\u3105-\u312f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff"
)
# Accents, Hebrew points and Arabic vowel signs: written or left out at will.
_OPTIONAL_MARKS = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u0640\u064b-\u065f\u0670]")
_LAST_MARK = 0x1F000


def _marks() -> str:
    """Give the combining marks as ranges of a character class: a word goes on over them."""
    codes = [code for code in range(0x300, _LAST_MARK) if unicodedata.category(chr(code))[0] == "M"]
    starts = [code for code, before in zip(codes, [0, *codes], strict=False) if code != before + 1]
    ends = [code for code, after in zip(codes, [*codes[1:], 0], strict=True) if code + 1 != after]
    return "".join(f"{chr(low)}-{chr(high)}" for low, high in zip(starts, ends, strict=True))


_SIGN = "[^\\W_]|[\ue000-\uf8ff]"
_WORD_SIGN = f"(?:(?![{_UNSPACED}])(?:{_SIGN}))"
_NAME_SUFFIX = r"(?P<suffix>\+\+(?!\+)|(?<![^\W_][A-Za-z])(?<=[A-Za-z])#(?![\w#]))?"
#: A run of an unspaced script, or a word; `++` and `#` that make another name of it (C++, F#) come with it.
RUN = re.compile(
    f"(?P<unspaced>(?:(?:{_SIGN}|[{_marks()}])(?<=[{_UNSPACED}]))+)"
    f"|(?P<word>{_WORD_SIGN}(?:{_WORD_SIGN}|[{_marks()}](?<![{_UNSPACED}]))*){_NAME_SUFFIX}"
)
#: The same for a text of ASCII alone, faster: its groups are word and suffix.
ASCII_RUN = re.compile(f"([A-Za-z0-9]+){_NAME_SUFFIX}")
_UNSPACED_SIGN = re.compile(f"[{_UNSPACED}]")


def is_unspaced(character: str) -> bool:
    """Say whether `character` is of a script without spaces, where a word may begin inside a run."""
    return _UNSPACED_SIGN.match(character) is not None


def has_token(term: str) -> bool:
    """Say whether any index token can come out of `term`; `(` and `*` have none."""
    return RUN.search(term) is not None


@lru_cache(maxsize=65_536)
def fold(word: str) -> str:
    """Give `word` without case, compatibility forms and optional marks."""
    if word.isascii():
        return word.lower()
    bare = _OPTIONAL_MARKS.sub("", unicodedata.normalize("NFKD", word))
    return unicodedata.normalize("NFC", bare.casefold())


def words_of(text: str) -> list[str]:
    """Give the words of `text` in order, folded; a run of an unspaced script is one."""
    return [fold(run[0]) for run in RUN.finditer(text)]
