"""Parts of a rendition: JSON values with the lines they are from, within limits of size and depth.

A part is a mapping with its kind `is` and its first and last line `at`. Inline content is a list of texts and
of lists `[tag, …]`: `["strong", …content]`, `["a", href, …content]`, `["img", src, alt]`, `["br"]`.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

Part = dict[str, Any]
Inline = list[Any]

#: Rows of a table and items of a list in one part: longer ones are continued in the next part.
MAX_ROWS: Final = 200
MAX_COLUMNS: Final = 60
#: Characters of one paragraph, cell or code line, of the code of a part, and of a whole rendition.
MAX_TEXT_CHARS, MAX_CODE_CHARS, MAX_CHARS = 10_000, 100_000, 2_000_000
MAX_PARTS: Final = 20_000
#: Lists and quotations within each other.
MAX_DEPTH: Final = 8


def heading(text: Inline, level: int, start: int, end: int) -> Part:
    """Return a heading of level 1 to 6."""
    return {"is": "heading", "at": [start, end], "level": min(6, max(1, level)), "text": text}


def paragraph(text: Inline, start: int, end: int) -> Part:
    """Return a paragraph."""
    return {"is": "paragraph", "at": [start, end], "text": text}


def code(lines: Sequence[str], language: str | None, start: int) -> Part:
    """Return lines of code, the first of which is line `start`."""
    kept, chars = [], 0
    for line in lines:
        chars += min(len(line), MAX_TEXT_CHARS)
        if chars > MAX_CODE_CHARS:
            kept.append("…")
            break
        kept.append(line[:MAX_TEXT_CHARS])
    at = [start, start + max(0, len(kept) - 1)]
    return {"is": "code", "at": at, "language": language or "", "lines": kept}


def quote(parts: list[Part], start: int, end: int, title: str = "") -> Part:
    """Return a quotation, or a note with a title."""
    return {"is": "quote", "at": [start, end], "parts": parts, "title": title}


def item(parts: list[Part], start: int, end: int) -> Part:
    """Return an item of a list."""
    return {"at": [start, end], "parts": parts}


def row(cells: list[Inline], start: int, end: int) -> Part:
    """Return a row of a table."""
    return {"at": [start, end], "cells": cells[:MAX_COLUMNS]}


def lists(items: Sequence[Part], *, is_ordered: bool = False) -> Iterator[Part]:
    """Yield the items as lists of at most MAX_ROWS."""
    for first in range(0, len(items), MAX_ROWS):
        some = list(items[first : first + MAX_ROWS])
        yield {
            "is": "list",
            "at": _around(some),
            "ordered": is_ordered,
            "first": first + 1,
            "items": some,
        }


def tables(rows: Sequence[Part], *, has_header: bool) -> Iterator[Part]:
    """Yield the rows as tables of at most MAX_ROWS, each with the header."""
    header, body = (list(rows[:1]), rows[1:]) if has_header else ([], rows)
    for first in range(0, len(body) or 1, MAX_ROWS):
        some = list(body[first : first + MAX_ROWS])
        yield {
            "is": "table",
            "at": _around([*(header if not first else ()), *some]),
            "header": header,
            "rows": some,
        }


def facts(pairs: list[tuple[str, str]], start: int, end: int) -> Part:
    """Return names with values, as at the head of a mail."""
    return {"is": "facts", "at": [start, end], "pairs": pairs}


def clip(text: str) -> str:
    """Return at most MAX_TEXT_CHARS of a text."""
    return text if len(text) <= MAX_TEXT_CHARS else f"{text[:MAX_TEXT_CHARS]} …"


def _around(parts: Sequence[Part]) -> list[int]:
    return [min(part["at"][0] for part in parts), max(part["at"][1] for part in parts)]
