"""Citation markers: `[#n]` in an answer's text refers to passage n.

`replace_markers` removes markers from documents' texts; `neutralise_markup` treats a model's text so that
programs which render it as Markdown or HTML neither fetch nor link anything.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from search.answers.types import AnswerReason

#: A marker; the group is its number as written.
MARKER: Final = re.compile(r"\[#([0-9]{1,3})\]")
# Invisible format characters that may occur within a marker: zero-width ones, direction marks, tags.
_INVISIBLE: Final = "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f"
# Control characters except tabs and line ends, lone surrogates, direction marks and invisible characters.
_NOT_DISPLAYED: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
# Look-alikes of a marker: other brackets and number signs, blanks, any digits.
_LIKE_A_MARKER: Final = re.compile(
    rf"[\[\(\{{<［（｛【〔〖「⟦][\s{_INVISIBLE}]*[#＃♯﹟][\s{_INVISIBLE}]*((?:\d[\s{_INVISIBLE}]*){{1,9}})"
    rf"[\]\)\}}>］）｝】〕〗」⟧]"
)
# `](…)`, `][…]` and `]: …` turn the text in brackets into links and images.
_LINK: Final = re.compile(r"(?<=\])(?=[(\[:])")
_ELEMENT: Final = re.compile(
    r"<(?=[/!?]{0,2}(?:(?:a|audio|base|body|button|embed|form|frame|frameset|iframe|image|img|input|link|math|meta"
    r"|object|picture|portal|script|source|style|svg|track|video)\b|https?:))",
    re.IGNORECASE,
)
# Longest end of a text that may be the beginning of an element: `<` and the longest of those names.
_HELD_CHARS: Final = 24
_OPEN_ELEMENT: Final = re.compile(r"<[/!?]{0,2}\w*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerVerdict:
    """The passages that a model's text cites, and why it isn't grounded."""

    #: Numbers of the given passages that the text cites, in order of first occurrence.
    named: tuple[int, ...]
    #: None when the text is grounded.
    reason: AnswerReason | None


def marker(n: int) -> str:
    """Return the marker of passage `n`."""
    return f"[#{n}]"


def judge_markers(text: str, packed: Collection[int]) -> MarkerVerdict:
    """Judge a model's text by its markers; `packed` are the numbers of the passages in its prompt."""
    # '[#007]' is unknown even when passage 7 was given: numbers are compared as written.
    written = dict.fromkeys(MARKER.findall(text))
    known = {str(n) for n in packed}
    named = tuple(int(n) for n in written if n in known)
    if not text.strip():
        return MarkerVerdict(named=(), reason=AnswerReason.EMPTY)
    if len(named) < len(written):
        return MarkerVerdict(named=named, reason=AnswerReason.UNKNOWN_MARKER)
    return MarkerVerdict(named=named, reason=None if named else AnswerReason.NO_MARKER)


def replace_markers(text: str) -> str:
    """Replace everything in a document's text that could pass for a marker by `(no. n)`."""
    return _LIKE_A_MARKER.sub(lambda found: f"(no. {''.join(filter(str.isdigit, found[1]))})", text)


def strip_invisible(text: str) -> str:
    """Remove control, direction and invisible characters, which could hide or reorder text."""
    return _NOT_DISPLAYED.sub("", text)


def neutralise_markup(text: str) -> str:
    """Break links, images and HTML elements with a blank; all visible text stays."""
    return _ELEMENT.sub("< ", _LINK.sub(" ", strip_invisible(text)))


class MarkupNeutraliser:
    """Streaming `neutralise_markup`: text that was returned isn't changed by later pieces."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """Add a piece, and return the part of the text that is final and wasn't returned before."""
        text = self._held + strip_invisible(piece)
        at = self._pending_start(text)
        self._held = text[at:]
        return neutralise_markup(text[:at])

    def finish(self) -> str:
        """Return the rest."""
        rest, self._held = self._held, ""
        return neutralise_markup(rest)

    def _pending_start(self, text: str) -> int:
        if text.endswith("]"):
            return len(text) - 1
        partial = _OPEN_ELEMENT.search(text, max(0, len(text) - _HELD_CHARS))
        return len(text) if partial is None else partial.start()
