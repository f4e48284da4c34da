"""Parts of the lines and blocks that a parser found: office documents, mails, wikis and notebooks."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from ingest.parsers.data.table import find_layout, record_starts
from ingest.parsers.outline_writer import CELL_BORDER
from ingest.parsers.types import Block, LineSpan, Outline
from ingest.renditions import parts
from ingest.renditions.parts import Part

_ITEM: Final = re.compile(r"(\s*)(?:([-*•◦▪–\uf0b7])|(\(?(?:\d{1,4}|[a-z])[.)]))\s+(?=\S)")
_FACT: Final = re.compile(r"([A-Z][\w-]{1,20}):\s+(\S.*)")
_HAS_LETTER: Final = re.compile(r"[^\W\d_]")
_SUBJECT: Final = "Subject"
#: Widest indentation of an item below another one.
_INDENT: Final = 2

#: Return the line of the file, or of the text, of a line of the outline.
Place = Callable[[int], tuple[int, int]]


def parts_of_blocks(outline: Outline, *, is_mail: bool = False, subject: str | None = None) -> Iterator[Part]:
    """Yield the parts of an outline with plain text in its lines."""
    place = places_of(outline)
    for block in outline.blocks:
        lines = outline.lines[block.span.start - 1 : block.span.end]
        named = [_FACT.match(line) for line in lines] if is_mail and block.kind == "list" else []
        if named and all(named):
            pairs = [(found[1], found[2]) for found in named if found]
            if subject:
                pairs.insert(0, (_SUBJECT, subject))
                subject = None
            yield parts.facts(pairs, place(block.span.start)[0], place(block.span.end)[1])
        else:
            yield from _parts_of_block(block, lines, place)


def _parts_of_block(block: Block, lines: Sequence[str], place: Place) -> Iterator[Part]:
    first = block.span.start
    start, end = place(first)[0], place(block.span.end)[1]
    numbered = [(line, *place(number)) for number, line in enumerate(lines, start=first)]
    if block.kind == "heading":
        yield parts.heading([parts.clip(block.text)], block.level, start, end)
    elif block.kind == "code":
        yield from parts.code(lines, block.language, start)
    elif block.kind == "table":
        rows = [
            parts.row([[parts.clip(cell)] for cell in line.split(CELL_BORDER)], *at) for line, *at in numbered
        ]
        yield from parts.tables(rows, has_header=is_header([cell[0] for cell in rows[0]["cells"]], len(rows)))
    elif block.kind == "list" or _ITEM.match(lines[0]):
        yield from _lists(numbered)
    elif block.kind == "quote":
        yield from parts.quote([parts.paragraph(_joined(lines), start, end)], start, end)
    elif block.kind not in ("html", "front_matter"):
        yield parts.paragraph(_joined(lines), start, end)


def is_header(cells: Sequence[str], rows: int) -> bool:
    """Return whether the first of several rows names the columns: it has no empty cell and no number."""
    return rows > 1 and all(_HAS_LETTER.search(cell) for cell in cells)


def _joined(lines: Iterable[str]) -> parts.Inline:
    """Return lines with line breaks between them."""
    text: parts.Inline = []
    for line in lines:
        text += [["br"], parts.clip(line)] if text else [parts.clip(line)]
    return text


def _lists(numbered: Sequence[tuple[str, int, int]], depth: int = 1) -> Iterator[Part]:
    """Yield the items of lines, those with more indentation in a list below the item above them."""
    items: list[Part] = []
    has_markers = any(_ITEM.match(line) for line, _, _ in numbered)
    is_ordered, margin, below = False, 0, list[tuple[str, int, int]]()
    for line, start, end in numbered:
        marker = _ITEM.match(line)
        indent = len(marker[1]) if marker else 0
        is_below = indent >= margin + _INDENT or (marker is None and bool(below))
        if items and is_below and depth < parts.MAX_DEPTH:
            below.append((line, start, end))
            continue
        if items:
            items[-1]["parts"] += _lists(below, depth + 1)
        below, margin = [], indent
        if marker is None and items and has_markers:
            items[-1]["parts"].append(parts.paragraph([parts.clip(line)], start, end))
            continue
        if not items:
            is_ordered = marker is not None and marker[3] is not None
        text = line[marker.end() :] if marker else line
        items.append(parts.item([parts.paragraph([parts.clip(text)], start, end)], start, end))
    if items and below:
        items[-1]["parts"] += _lists(below, depth + 1)
    yield from parts.lists(items, is_ordered=is_ordered)


def parts_of_notebook(outline: Outline) -> Iterator[Part]:
    """Yield the cells of a notebook: Markdown to be rendered by the page, code and outputs."""
    place, names = places_of(outline), outline.names or ()

    def cell_of(block: Block) -> tuple[str, bool]:
        is_code = block.kind == "code" and not outline.lines[block.span.start - 1].lstrip().startswith(
            ("```", "~~~")
        )
        return names[block.span.start - 1] if names else "", is_code

    named = ""
    for (name, is_code), blocks in groupby(outline.blocks, cell_of):
        for block in list(blocks) if is_code else [_around(blocks)]:
            start, end = place(block.span.start)[0], place(block.span.end)[1]
            lines = outline.lines[block.span.start - 1 : block.span.end]
            if is_code:
                label = _label(name, is_output=name == named)
                for part in parts.code(lines, block.language, start):
                    yield {**part, "label": label}
                    label = ""
                named = name
            else:
                numbers = [place(number)[0] for number in range(block.span.start, block.span.end + 1)]
                yield {
                    "is": "markdown",
                    "at": [start, max(start, end)],
                    "lines": list(lines),
                    "numbers": numbers,
                }


def _around(blocks: Iterable[Block]) -> Block:
    found = list(blocks)
    return Block(kind="paragraph", span=LineSpan(found[0].span.start, found[-1].span.end))


def _label(name: str, *, is_output: bool) -> str:
    """Return the label of a code cell, In [5], or of its output, Out [5]."""
    _, _, counted = name.partition(", ")
    return counted.replace("In", "Out") if is_output else counted


def places_of(outline: Outline) -> Place:
    """Return the function from a line of the outline to its lines in the file, or to itself without them."""
    origins = outline.origins
    if not origins or not isinstance(origins[0], LineSpan):
        return lambda number: (number, number)
    spans = [(span.start, max(span.start, span.end)) for span in origins if isinstance(span, LineSpan)]
    return lambda number: spans[number - 1]


#: Further records are in the source only.
MAX_RECORDS = 20_000


def parts_of_table(outline: Outline) -> Iterator[Part]:
    """Yield the lines above the table, then the table."""
    layout = None if outline.origins else find_layout(outline.lines)  # lines of named cells are no table
    if layout is None or layout.delimiter is None:
        yield from parts_of_blocks(outline)
        return
    above = [line for line in outline.lines[: layout.first - 1] if line.strip()]
    if above:
        yield parts.paragraph([parts.clip(" ".join(above))], 1, layout.first - 1)
    starts = record_starts(outline.lines, layout)
    ends = [*(start - 1 for start in starts[1:]), len(outline.lines)]
    reader = layout.records(outline.lines[layout.first - 1 :])
    rows = [
        parts.row([[parts.clip(cell)] for cell in record], start, end)
        for start, end, record in zip(starts[:MAX_RECORDS], ends, reader, strict=False)
        if record
    ]
    yield from parts.tables(rows, has_header=any(block.kind == "heading" for block in outline.blocks))
