"""Joined forms of words that are written in parts: `e-mail` is email, `U.S.A.` is USA, `1,200` is 1200.

The index has the joined form beside the parts, at the position of the first one.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from search.retrieval.text.unicode_scripts import (
    BETWEEN_THOUSANDS,
    HYPHENS,
    fold,
    is_unspaced,
    split_graphemes,
)

_DOT: Final = "."
#: What may stand between the parts of a joined form; a line break stands between characters.
JOINTS: Final = HYPHENS | BETWEEN_THOUSANDS
_DIGITS_OF_GROUP = 3
# `state-of-the-art` is no single word.
_MOST_PARTS = 3
_MOST_CHARS = 40
# What may surround a line break.
_BLANKS = " \t\r\u3000"


def joined_forms(runs: Sequence[str], separators: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the joined forms in a text: the indexes of the first and the last run, and the form.

    `separators` are the texts between the runs, one fewer than these. The form of a Chinese or Japanese line
    break is the pair of characters around it, and both indexes are those of the run before.
    """
    last = 0
    for at, separator in enumerate(separators):
        if separator in JOINTS:
            if at >= last:
                last = _last_of_chain(separators, at)
                form = _join(runs[at : last + 1], separator)
                if form is not None:
                    yield at, last, form
        elif "\n" in separator and _is_within_word(runs[at], separator, runs[at + 1]):
            pair = split_graphemes(runs[at])[-1], split_graphemes(runs[at + 1])[0]
            yield at, at, "".join(map(fold, pair))


def joined_form(runs: Sequence[str], separators: Sequence[str]) -> str | None:
    """Return the joined form of all of `runs`; None if they aren't the parts of one word."""
    found = next(joined_forms(runs, separators), None)
    return found[2] if found is not None and found[:2] == (0, len(runs) - 1) and len(runs) > 1 else None


def _last_of_chain(separators: Sequence[str], at: int) -> int:
    """Return the index of the last run of the chain whose first separator is at `at`."""
    first = separators[at]
    kind = HYPHENS if first in HYPHENS else {first}
    while at < len(separators) and separators[at] in kind:
        at += 1
    return at


def _join(parts: Sequence[str], separator: str) -> str | None:
    form = "".join(parts)
    if not form.isalnum() or len(form) > _MOST_CHARS or is_unspaced(form[0]):
        return None
    if all(part.isdecimal() for part in parts):
        is_grouped = separator in BETWEEN_THOUSANDS and len(parts[0]) <= _DIGITS_OF_GROUP
        return form if is_grouped and all(len(part) == _DIGITS_OF_GROUP for part in parts[1:]) else None
    if separator == _DOT:
        return form if all(len(part) == 1 and part.isalpha() for part in parts) else None
    return form if separator in HYPHENS and len(parts) <= _MOST_PARTS else None


def _is_within_word(before: str, separator: str, after: str) -> bool:
    """Return whether a line break stands between characters of an unspaced script."""
    return separator.strip(_BLANKS) == "\n" and is_unspaced(before[0]) and is_unspaced(after[0])
