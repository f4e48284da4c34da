"""Types of a PDF's contents before they become an outline."""

from dataclasses import dataclass
from typing import Final, NamedTuple

#: mark of a word that continues in the next line, until the whole document is read
HYPHEN: Final = "\x02"
#: left, bottom, right, top in points, of text that reads from left to right
Box = tuple[float, float, float, float]
#: first character of a word on its page, and the one after its last
Span = tuple[int, int]


def letters_of(text: str) -> str:
    """Return the letters and digits of a text, by which it is compared with others."""
    return "".join(filter(str.isalnum, text.casefold()))


class Segment(NamedTuple):
    """A run of words without a wide gap, with its position in points from the lower left corner."""

    text: str
    #: number of its line, which may extend over several columns
    line: int
    left: float
    right: float
    top: float
    bottom: float
    #: width of its first word
    first_width: float

    @property
    def height(self) -> float:
        """Return the height of its characters, at least one point."""
        return max(1.0, self.top - self.bottom)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLine:
    """A line of a page with its position in points from the page's lower left corner."""

    text: str
    left: float
    top: float
    bottom: float
    right: float = 0.0
    #: its runs of words without a wide gap
    cells: tuple[Segment, ...] = ()
    #: None when its position decides
    begins_paragraph: bool | None = None
    #: header or footer of several pages, of which this is the first
    is_running: bool = False

    @property
    def height(self) -> float:
        """Return the height of its characters, at least one point."""
        return max(1.0, self.top - self.bottom)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageText:
    """The lines of a page in reading order; `number` counts from 1."""

    number: int
    lines: tuple[TextLine, ...]
    #: characters that were left out because no language has them, or the page doesn't show them
    unreadable: int = 0
    outside: int = 0
    hidden: int = 0
    #: line numbers that were left out
    line_numbers: int = 0
    #: values of form fields, notes, links and names of attached files, which stand below the lines
    extras: tuple[str, ...] = ()
    #: lower and upper edge of the visible part of the page
    bottom: float = 0.0
    top: float = 0.0

    @property
    def has_text(self) -> bool:
        """Return whether the page has a letter or a digit."""
        return any(character.isalnum() for line in self.lines for character in line.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bookmark:
    """An entry of the document's own table of contents."""

    title: str
    #: from 1
    level: int
    #: from 1
    page: int
    #: height on the page that it leads to, None for the page as a whole
    top: float | None
