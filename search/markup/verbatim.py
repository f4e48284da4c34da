"""Pieces of a text that the removal of markup must not touch, each with its number as stand-in.

Stand-ins are ASCII, as expressions are slower on other texts.
"""

import re

from search.retrieval.text.plain_text import SEPARATOR

# A number between control characters; the first one is another for lines of code.
_PIECE, _LINES, _END = "\x04", "\x06", "\x05"
_STAND_IN = re.compile(f"{_PIECE}([0-9]+){_END}|{_LINES}([0-9]+){_END}(?: {SEPARATOR})? ?")


class Verbatim:
    """The pieces of one text."""

    def __init__(self, text: str) -> None:
        #: The text without characters of stand-ins.
        self.text = text.replace(_PIECE, "").replace(_LINES, "")
        self._pieces: list[str] = []

    def keep(self, piece: str) -> str:
        """Return a stand-in for a piece of a line."""
        self._pieces.append(" ".join(piece.split()))
        return f"{_PIECE}{len(self._pieces) - 1}{_END}"

    def keep_lines(self, code: str) -> str:
        """Return a stand-in for lines of code, as a paragraph."""
        code = code.rstrip().strip("\n")
        self._pieces.append(f"\n{code}\n")
        return f"\n\n{_LINES}{len(self._pieces) - 1}{_END}\n\n"

    def restore(self, text: str) -> str:
        """Return `text` with the pieces in place; code is on lines of its own."""
        if not self._pieces:
            return text
        text = text.replace(f" {SEPARATOR} {_LINES}", _LINES).replace(f" {_LINES}", _LINES)
        return _STAND_IN.sub(self._piece, text)

    def _piece(self, found: re.Match[str]) -> str:
        return self._pieces[int(found[1] or found[2])]
