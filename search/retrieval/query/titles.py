"""Titles, headings and file names as they are indexed, and as people type them."""

import re
from typing import Final

from search.retrieval.text.unicode_scripts import is_unspaced, words_of

#: Maximum length of a query that may be a title, in characters.
MAX_CHARS: Final = 300
# Between a breadcrumb, which is one line, and the path.
_PATH_BELOW = "\n"
_NUMBER_CHARS: Final = 20
_NUMBER = re.compile(r"\d+")
_EXTENSION = re.compile(r"(?<=\S)\.\w{1,6}$")


def title_key(title: str) -> str:
    """Return the words of a title without case, accents and punctuation; '' without any."""
    return " ".join(words_of(title))


def sort_key(name: str) -> str:
    """Return the key by which names are sorted: their words, with numbers of up to 20 digits as numbers."""
    return _NUMBER.sub(lambda number: number[0].lstrip("0").zfill(_NUMBER_CHARS), title_key(name))


def has_words(key: str, text: str) -> bool:
    """Return whether the words of one key stand in a row in another; the last may be the beginning of one."""
    return key in text if is_unspaced(key[0]) else f" {key}" in f" {text}"


def title_keys(query: str) -> tuple[str, ...]:
    """Return the keys of titles and file names that `query` may be, with its extension and without."""
    asked = query.strip()
    if len(asked) > MAX_CHARS:
        return ()
    keys = (title_key(asked), title_key(_EXTENSION.sub("", asked)))
    return tuple(dict.fromkeys(key for key in keys if key))


def label(query: str, *, is_unfinished: bool = False) -> str:
    """Return the key with which titles that a query begins do begin; '' if it needs be a whole title.

    It is one of words and a number, like `ADR 2`, or unfinished. A number is never unfinished.
    """
    words = words_of(query.strip()) if len(query) <= MAX_CHARS else []
    if is_unfinished and words and not words[-1].isdecimal():
        return " ".join(words)
    is_numbered = len(words) > 1 and any(word.isdecimal() for word in words)
    return f"{' '.join(words)} " if is_numbered else ""


def indexed_headings(breadcrumb: str, path: str) -> str:
    """Return the text that is indexed as a chunk's headings: its breadcrumb, and the path below it.

    Code has the path in its breadcrumb.
    """
    return breadcrumb if breadcrumb.startswith(path) else f"{breadcrumb}{_PATH_BELOW}{path}"


def breadcrumb_of(headings: str) -> str:
    """Return the breadcrumb of a chunk's indexed headings."""
    return headings.partition(_PATH_BELOW)[0]
