"""The table of contents (bookmarks) of a PDF."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from ingest.parsers.pdf.types import Bookmark, PageText, TextLine, letters_of

MAX_BOOKMARKS, MAX_DEPTH, MAX_LEVEL = 10_000, 6, 6
TITLE_CHARS = 200
#: lines that a title may extend over
TITLE_LINES = 3


def read_bookmarks(document: Any) -> list[Bookmark]:
    """Return the entries of a document of pypdfium2 that lead to one of its pages, in their order.

    A single entry at the top has level 1; several are chapters of level 2 below the title.
    """
    entries = list(islice(document.get_toc(max_depth=MAX_DEPTH), MAX_BOOKMARKS))
    top_level = 1 if sum(entry.level == 0 for entry in entries) == 1 else 2
    return [bookmark for entry in entries if (bookmark := _bookmark(entry, top_level)) is not None]


def _bookmark(entry: Any, top_level: int) -> Bookmark | None:
    from pypdfium2.raw import PDFDEST_VIEW_XYZ

    title = " ".join(
        "".join(character if character.isprintable() else " " for character in entry.get_title()).split()
    )[:TITLE_CHARS]
    destination = entry.get_dest()
    index = None if destination is None else destination.get_index()
    if not title or destination is None or index is None:
        return None
    mode, position = destination.get_view()
    top = position[1] if mode == PDFDEST_VIEW_XYZ and len(position) > 1 else None
    level = min(entry.level + top_level, MAX_LEVEL)
    return Bookmark(title=title, level=level, page=index + 1, top=top)


def headings_on(page: PageText, bookmarks: Sequence[Bookmark]) -> dict[int, tuple[Bookmark, int]]:
    """Return, by index of the line it precedes, each bookmark of the page and its number of lines.

    Where the title is printed on the page, those lines are the heading; else the heading precedes the line
    that the bookmark leads to, with no line of its own (0).
    """
    keys = [letters_of(line.text) for line in page.lines] if bookmarks else []
    found: dict[int, tuple[Bookmark, int]] = {}
    first = 0
    for bookmark in bookmarks:
        place, size = _find_title(keys, letters_of(bookmark.title), first) or (
            _target_line(page.lines, bookmark, first),
            0,
        )
        if place in found:  # of two entries for one line the inner one is more exact
            size = max(size, found[place][1])
        found[place] = (bookmark, size)
        first = place + size
    return found


def _find_title(keys: Sequence[str], title: str, first: int) -> tuple[int, int] | None:
    """Return index and number of the lines of the title, with or without its number, from `first` on."""
    if not title:
        return None
    for start in range(first, len(keys)):
        for size in range(1, TITLE_LINES + 1):
            joined = "".join(keys[start : start + size])
            if _is_title(joined, title):
                return start, size
            if len(joined) > len(title) + 8:
                break
    return None


def _is_title(text: str, title: str) -> bool:
    if text == title:
        return True
    longer, shorter = max(text, title, key=len), min(text, title, key=len)
    number = longer.removesuffix(shorter)
    return bool(shorter) and longer.endswith(shorter) and number.isdigit() and len(number) <= 8


def _target_line(lines: Sequence[TextLine], bookmark: Bookmark, first: int) -> int:
    """Return the index of the first line at or below the bookmark's target, `first` for a whole page."""
    if bookmark.top is None:
        return first
    places: Iterator[int] = (
        index for index in range(first, len(lines)) if lines[index].bottom < bookmark.top
    )
    return next(places, first)
