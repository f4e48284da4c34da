"""Markers: `[#n]` in an answer's text leads to passage n, and to nothing else.

Texts that others wrote hold no marker once they are `without_markers`; what a model writes is `tamed`, so
that no program that renders it as Markdown or HTML fetches or links anything.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from search.answers.types import AnswerReason

#: A marker, with its number as it is written.
MARKER: Final = re.compile(r"\[#([0-9]{1,3})\]")
# Format characters that could stand unseen between the signs: zero-width ones, marks of direction, tags.
_UNSEEN: Final = "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f"
# Control characters but tabs and line ends, half characters, and what turns text around or is never seen.
_NEVER_SEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
# What a reader or a model could take for a marker: other brackets and number signs, blanks, any digits.
_LIKE_A_MARKER: Final = re.compile(
    rf"[\[\(\{{<［（｛【〔〖「⟦][\s{_UNSEEN}]*[#＃♯﹟][\s{_UNSEEN}]*((?:\d[\s{_UNSEEN}]*){{1,9}})"
    rf"[\]\)\}}>］）｝】〕〗」⟧]"
)
# `](…)`, `][…]` and `]: …` make links and pictures of what stands in the brackets.
_LINK: Final = re.compile(r"(?<=\])(?=[(\[:])")
_ELEMENT: Final = re.compile(
    r"<(?=[/!?]{0,2}(?:(?:a|audio|base|body|button|embed|form|frame|frameset|iframe|image|img|input|link|math|meta"
    r"|object|picture|portal|script|source|style|svg|track|video)\b|https?:))",
    re.IGNORECASE,
)
# So much at the end of a text may be the beginning of what is tamed: `<` and the longest of those names.
_HELD_CHARS: Final = 24
_OPEN_ELEMENT: Final = re.compile(r"<[/!?]{0,2}\w*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a model's text can be held against the passages that it was given."""

    #: The numbers that it names and that were given, in the order in which they come first.
    named: tuple[int, ...]
    #: None: it is grounded.
    reason: AnswerReason | None


def marker(n: int) -> str:
    """Return the marker of passage `n`."""
    return f"[#{n}]"


def verdict_on(text: str, packed: Collection[int]) -> Verdict:
    """Judge a model's text by its markers; `packed` are the numbers of the passages that it was given."""
    # Of '[#007]' and '[#7]' the second alone was given.
    written = dict.fromkeys(MARKER.findall(text))
    known = {str(n) for n in packed}
    named = tuple(int(n) for n in written if n in known)
    if not text.strip():
        return Verdict(named=(), reason=AnswerReason.EMPTY)
    if len(named) < len(written):
        return Verdict(named=named, reason=AnswerReason.UNKNOWN_MARKER)
    return Verdict(named=named, reason=None if named else AnswerReason.NO_MARKER)


def without_markers(text: str) -> str:
    """Return a text that somebody else wrote with what could pass for a marker as `(no. n)`."""
    return _LIKE_A_MARKER.sub(lambda found: f"(no. {''.join(filter(str.isdigit, found[1]))})", text)


def without_unseen(text: str) -> str:
    """Return a text without signs that nobody sees, in which something could be hidden or turned around."""
    return _NEVER_SEEN.sub("", text)


def tamed(text: str) -> str:
    """Return a text in which a blank keeps links, pictures and elements from being any; what is
    seen stays.
    """
    return _ELEMENT.sub("< ", _LINK.sub(" ", without_unseen(text)))


class Taming:
    """Tames a text that comes in pieces: what was given on doesn't change by what follows."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return what of the text so far is certain and was not given before."""
        text = self._held + without_unseen(piece)
        at = self._uncertain_from(text)
        self._held = text[at:]
        return tamed(text[:at])

    def finish(self) -> str:
        """Return the rest."""
        rest, self._held = self._held, ""
        return tamed(rest)

    def _uncertain_from(self, text: str) -> int:
        if text.endswith("]"):
            return len(text) - 1
        begun = _OPEN_ELEMENT.search(text, max(0, len(text) - _HELD_CHARS))
        return len(text) if begun is None else begun.start()
