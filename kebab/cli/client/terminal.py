"""Output of commands that start at once: text for people, with colours at a terminal, or JSON."""

import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from kebab.cli.output import format_cell, people_console, plain, table, write_json
from kebab.exit_codes import Exit

if TYPE_CHECKING:  # it takes longer to import than most commands take to run
    from rich.console import Console

_STYLES = {"bold": "1", "dim": "2", "cyan": "36", "mark": "1;33"}
_WORD = re.compile(r"(\S+)\s*")
# A line break inside a snippet would break the indentation; replacing it by one space keeps the offsets.
_ON_ONE_LINE = str.maketrans("\n\t", "  ")


class Terminal:
    """The streams of a command. With `as_json` only documents are written; remarks are left out."""

    def __init__(self, out: TextIO, err: TextIO, *, as_json: bool) -> None:
        self.out, self.err, self.as_json = out, err, as_json
        self._has_colours = out.isatty() and not os.environ.get("NO_COLOR")
        self._width = shutil.get_terminal_size().columns if out.isatty() else None

    def document(self, document: Any) -> None:
        """Write one JSON document on a line."""
        write_json(self.out, document)

    def print(self, text: str = "", *, end: str = "\n") -> None:
        """Write text, which is safe on a terminal and styled already."""
        self.out.write(text + end)
        self.out.flush()

    def remark(self, text: str) -> None:
        """Write a line beside the output; nothing with JSON."""
        if not self.as_json:
            self.err.write(plain(text) + "\n")

    @property
    def remarks(self) -> "Console":
        """Return a console beside the output, for progress; silent with JSON."""
        console = people_console(self.err)
        console.quiet = self.as_json
        return console

    def style(self, text: str, style: str) -> str:
        """Return text in a style: bold, dim, cyan or mark."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self._has_colours and text else text

    def indented(self, text: str, indent: int, marks: Iterable[Sequence[int]] = ()) -> str:
        """Return text on lines as wide as the terminal, indented, with the ranges `marks` marked."""
        shown = plain(text).translate(_ON_ONE_LINE)
        marked = {place for start, end in marks for place in range(start, end)}
        return "\n".join(
            " " * indent + self._styled(shown, start, end, marked)
            for start, end in self._lines(shown, indent)
        )

    def answer(self, facts: Mapping[str, Any], message: str) -> int:
        """Print a result, as JSON `facts` or as `message`, and return the exit code."""
        if self.as_json:
            self.document(facts)
        else:
            self.print(plain(message))
        return Exit.DONE

    def fields(self, facts: Mapping[str, Any]) -> None:
        """Print names and values below each other."""
        width = max(map(len, facts), default=0)
        for name, value in facts.items():
            shown = "" if value in (None, "", [], {}) else format_cell(value)
            self.print(f"  {name.replace('_', ' '):{width}}  {shown}".rstrip())

    def table(self, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
        """Print a table."""
        people_console(self.out).print(table(columns, rows))

    def _lines(self, text: str, indent: int) -> list[tuple[int, int]]:
        """Return the ranges of the lines of `text`."""
        if self._width is None:
            return [(0, len(text))]
        room, lines, start = max(20, self._width - indent), [], 0
        for word in _WORD.finditer(text):
            if word.start() > start and word.end(1) - start > room:
                lines.append((start, word.start()))
                start = word.start()
        return [*lines, (start, len(text))]

    def _styled(self, text: str, start: int, end: int, marked: set[int]) -> str:
        pieces, at = [], start
        for place in range(start, end + 1):
            if place == end or (place in marked) != (at in marked):
                piece = text[at:place].rstrip() if place == end else text[at:place]
                pieces.append(self.style(piece, "mark") if at in marked else piece)
                at = place
        return "".join(pieces)
