"""Charts and diagrams of office files (ECMA-376 part 1, sections 21.2 and 21.4), and shared names."""

import datetime
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from ingest.parsers.outline_writer import OutlineWriter, one_line

COMPATIBILITY: Final = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
DRAWING: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
CHART: Final = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
DIAGRAM: Final = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_RELATION: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
#: ids of related parts, and of a diagram's data
RELATION_ID, DIAGRAM_ID = f"{_RELATION}id", f"{_RELATION}dm"
#: the states of a check box
CHECKED, UNCHECKED = "☒", "☐"
#: nodes of a diagram without text of their own
_EMPTY_NODES: Final = frozenset({"pres", "parTrans", "sibTrans", "doc"})
#: series of a chart and points of a series
_MOST: Final = 500
#: levels of categories; spreadsheets show no more than a few
_LEVELS: Final = 16
_DAY_FORMAT: Final = re.compile("[yd]", re.IGNORECASE)
_FIRST_DAY: Final = datetime.datetime(1899, 12, 30)


def diagram_texts(root: Any) -> Iterator[str]:
    """Yield the texts of a SmartArt diagram's nodes."""
    for node in root.iter(f"{DIAGRAM}pt"):
        if node.get("type") not in _EMPTY_NODES and (text := drawn_text(node)):
            yield text


def write_chart(root: Any, writer: OutlineWriter) -> None:
    """Write the titles of a chart and its axes, and its data as a table of categories by series."""
    for title in root.iter(f"{CHART}title"):
        writer.write_block("paragraph", [drawn_text(title)])
    series = list(root.iter(f"{CHART}ser"))[:_MOST]
    for categories, group in groupby(series, key=_categories):
        named = list(group)
        columns = [_points(each, "val", "yVal") for each in named]
        count = max(len(categories), *map(len, columns))
        names = [" ".join(value.text or "" for value in _values(each, "tx")) for each in named]
        rows = (
            [_at(categories, at) or str(at + 1), *(_at(column, at) for column in columns)]
            for at in range(count)
        )
        writer.write_table([["", *names], *rows])


def drawn_text(element: Any) -> str:
    """Return the text of all paragraphs of a drawing on one line."""
    paragraphs = element.iter(f"{DRAWING}p")
    return one_line(
        " ".join("".join(piece.text or "" for piece in each.iter(f"{DRAWING}t")) for each in paragraphs)
    )


def _categories(series: Any) -> list[str]:
    """Return the categories of a series, those of several levels as one text each."""
    levels = [level for each in series.iterchildren(f"{CHART}cat") for level in each.iter(f"{CHART}lvl")]
    if not levels:
        return _points(series, "cat", "xVal")
    innermost, *outer = map(_points_of, levels[:_LEVELS])
    for level in outer:
        above = ""
        for at in range(len(innermost)):
            above = _at(level, at) or above
            innermost[at] = f"{above} {innermost[at]}".strip()
    return innermost


def _points(series: Any, *names: str) -> list[str]:
    for child in series.iterchildren(*(f"{CHART}{name}" for name in names)):
        return _points_of(child)
    return []


def _points_of(container: Any) -> list[str]:
    code = next((each.text or "" for each in container.iter(f"{CHART}formatCode")), "")
    texts: list[str] = []
    for point in container.iter(f"{CHART}pt"):
        index = point.get("idx") or ""
        at = int(index) if index.isdecimal() and len(index) < 6 else _MOST
        if at < _MOST:
            texts += [""] * (at + 1 - len(texts))
            texts[at] = _format_value(one_line(point.findtext(f"{CHART}v") or ""), code)
    return texts


def _format_value(text: str, code: str) -> str:
    """Return a value of a chart: numbers without a needless fraction, dates in ISO 8601."""
    try:
        number = float(text)
        if _DAY_FORMAT.search(re.sub(r'"[^"]*"|\[[^\]]*\]|General', "", code)):
            return (_FIRST_DAY + datetime.timedelta(days=number)).date().isoformat()
        return format(number, ".15g")
    except (ValueError, OverflowError):
        return text


def _values(series: Any, name: str) -> Iterator[Any]:
    for child in series.iterchildren(f"{CHART}{name}"):
        yield from child.iter(f"{CHART}v")


def _at(texts: Sequence[str], at: int) -> str:
    return texts[at] if at < len(texts) else ""
