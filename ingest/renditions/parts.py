"""Parts of a rendition: JSON values with the lines they are from, within limits of size and depth.

A part is a mapping with its kind `is` and its first and last line `at`. Inline content is a list of texts and
of lists `[tag, …]`: `["strong", …content]`, `["a", href, …content]`, `["img", src, alt]`, `["br"]`. What is
too large for one part of a page is continued in the next part.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

Part = dict[str, Any]
Inline = list[Any]

#: Rows, items and lines of code in one part, and its size.
MAX_ROWS: Final = 200
MAX_SIZE: Final = 30_000
MAX_COLUMNS: Final = 60
#: Characters of one text, and of a whole rendition.
MAX_TEXT_CHARS: Final = 10_000
MAX_CHARS: Final = 2_000_000
MAX_PARTS: Final = 20_000
#: Lists and quotations within each other.
MAX_DEPTH: Final = 8


def heading(text: Inline, level: int, start: int, end: int) -> Part:
    """Return a heading of level 1 to 6."""
    return {"is": "heading", "at": [start, end], "level": min(6, max(1, level)), "text": fit(text)}


def paragraph(text: Inline, start: int, end: int) -> Part:
    """Return a paragraph."""
    return {"is": "paragraph", "at": [start, end], "text": fit(text)}


def rule(line: int) -> Part:
    """Return a rule between parts."""
    return {"is": "rule", "at": [line, line]}


def code(lines: Sequence[str], language: str | None, start: int) -> Iterator[Part]:
    """Yield lines of code, the first of which is line `start`."""
    for some in _divided([clip(line) for line in lines]):
        end = start + len(some) - 1
        yield {"is": "code", "at": [start, end], "language": language or "", "lines": some}
        start = end + 1


def quote(parts: list[Part], start: int, end: int, title: str = "") -> Iterator[Part]:
    """Yield a quotation, or a note with a title; a large one as the parts in it."""
    if size(parts) > MAX_SIZE:
        yield from parts
    else:
        yield {"is": "quote", "at": [start, end], "parts": parts, "title": clip(title)}


def item(parts: list[Part], start: int, end: int) -> Part:
    """Return an item of a list."""
    return {"at": [start, end], "parts": parts}


def row(cells: Sequence[Inline], start: int, end: int) -> Part:
    """Return a row of a table."""
    fitted: list[Inline] = []
    for cell in cells[:MAX_COLUMNS]:
        fitted.append(fit(cell, MAX_SIZE - size(fitted)))
    return {"at": [start, end], "cells": fitted}


def lists(items: Sequence[Part], *, is_ordered: bool = False) -> Iterator[Part]:
    """Yield the items as lists; a large item as the parts in it."""
    first = 1
    for is_large, some in groupby(items, lambda each: size(each) > MAX_SIZE):
        for held in _divided(list(some)):
            if is_large:
                yield from (part for each in held for part in each["parts"])
            else:
                yield {
                    "is": "list",
                    "at": _around(held),
                    "ordered": is_ordered,
                    "first": first,
                    "items": held,
                }
            first += len(held)


def tables(rows: Sequence[Part], *, has_header: bool) -> Iterator[Part]:
    """Yield the rows as tables, each with the header."""
    header, body = (list(rows[:1]), rows[1:]) if has_header else ([], rows)
    at_header = header
    for some in _divided(list(body)) if body else [[]]:
        yield {"is": "table", "at": _around([*at_header, *some]), "header": header, "rows": some}
        at_header = []


def facts(pairs: list[tuple[str, str]], start: int, end: int) -> Part:
    """Return names with values, as at the head of a mail."""
    return {"is": "facts", "at": [start, end], "pairs": [(clip(name), clip(value)) for name, value in pairs]}


def clip(text: str) -> str:
    """Return at most MAX_TEXT_CHARS of a text."""
    return text if len(text) <= MAX_TEXT_CHARS else f"{text[:MAX_TEXT_CHARS]} …"


def fit(text: Inline, most: int = MAX_SIZE) -> Inline:
    """Return inline content up to a size."""
    if size(text) <= most:
        return text
    kept: Inline = []
    for piece in text:
        most -= size(piece)
        if most < 0:
            break
        kept.append(piece)
    return [*kept, "…"]


def size(value: Any) -> int:
    """Return the number of characters in a part, and a few for each of its values."""
    if isinstance(value, str):
        return len(value) + 4
    if isinstance(value, dict):
        return sum(map(size, value.values()))
    if isinstance(value, list | tuple):
        return 2 + sum(map(size, value))
    return 4


def _divided(values: list[Any]) -> Iterator[list[Any]]:
    """Divide values so that each list has at most MAX_ROWS and MAX_SIZE, or a single value."""
    some: list[Any] = []
    total = 0
    for value in values:
        total += size(value)
        if some and (len(some) == MAX_ROWS or total > MAX_SIZE):
            yield some
            some, total = [], size(value)
        some.append(value)
    if some:
        yield some


def _around(parts: Sequence[Part]) -> list[int]:
    return [min(part["at"][0] for part in parts), max(part["at"][1] for part in parts)]
