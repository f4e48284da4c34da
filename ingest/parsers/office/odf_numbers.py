"""Automatic numbers of lists and headings of OpenDocument files (OpenDocument 1.3 part 3, section 19.880)."""

import re
from collections.abc import Iterable
from typing import Any, Final

from ingest.parsers.office.odf_text import STYLE, TEXT, attribute_number
from ingest.parsers.office.paragraph_numbers import write_number

_ID: Final = "{http://www.w3.org/XML/1998/namespace}id"
#: LibreOffice writes the whole text of a number, as `%1%.%2%`
_PATTERN: Final = "{urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0}num-list-format"
_PLACE: Final = re.compile(r"%(\d{1,2})%")
_NUMBERED: Final = frozenset({f"{TEXT}list-level-style-number", f"{TEXT}outline-level-style"})
_FORMATS: Final = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_OUTLINE: Final = "Outline"

#: The last number of each level.
Counts = dict[int, int]


class ListNumbers:
    """The numbers of a document's lists and headings, to be asked for in their order."""

    def __init__(self, roots: Iterable[Any]) -> None:
        self._levels: dict[tuple[str, int], Any] = {}
        for root in roots:
            for style in root.iter(f"{TEXT}list-style", f"{TEXT}outline-style"):
                name = style.get(f"{STYLE}name") if style.tag == f"{TEXT}list-style" else _OUTLINE
                for level in style:
                    if level.tag in _NUMBERED:
                        self._levels[name or "", attribute_number(level, f"{TEXT}level", 1)] = level
        self._outline: Counts = {}
        self._lists: dict[str, Counts] = {}
        self._last = ""

    def heading_label(self, heading: Any, level: int) -> str:
        """Count a heading outside of lists, and return its number, '' without one."""
        if heading.get(f"{TEXT}is-list-header") == "true":
            return ""
        start = heading.get(f"{TEXT}restart-numbering") == "true"
        return self._next(_OUTLINE, self._outline, level, heading if start else None)

    def begin_list(self, element: Any) -> Counts:
        """Return the numbers of a list so far, those of another one if it goes on with them."""
        continued = element.get(f"{TEXT}continue-list") or ""
        if not continued and element.get(f"{TEXT}continue-numbering") == "true":
            continued = self._last
        is_outline = element.get(f"{TEXT}style-name") == _OUTLINE
        counts = self._outline if is_outline else self._lists.get(continued, {})
        self._last = element.get(_ID) or f"#{len(self._lists)}"
        self._lists[self._last] = counts
        return counts

    def item_label(self, style: str, counts: Counts, level: int, item: Any) -> str:
        """Count an item of a list, and return its number, '' for a bullet."""
        return self._next(style, counts, level, item)

    def _next(self, style: str, counts: Counts, level: int, starting: Any | None) -> str:
        start = 0 if starting is None else attribute_number(starting, f"{TEXT}start-value", 0)
        counts[level] = start or counts.get(level, self._start(style, level) - 1) + 1
        for below in [other for other in counts if other > level]:
            del counts[below]
        drawn = self._levels.get((style, level))
        if drawn is None or not drawn.get(f"{STYLE}num-format"):
            return ""
        if pattern := drawn.get(_PATTERN):
            text = _PLACE.sub(lambda place: self._write(style, counts, int(place[1])), pattern)
            return " ".join(text.split())
        shown = min(level, attribute_number(drawn, f"{TEXT}display-levels", 1))
        numbers = (self._write(style, counts, at) for at in range(level - shown + 1, level + 1))
        before, after = (drawn.get(f"{STYLE}num-{name}") or "" for name in ("prefix", "suffix"))
        return f"{before}{'.'.join(filter(None, numbers))}{after}".strip()

    def _start(self, style: str, level: int) -> int:
        drawn = self._levels.get((style, level))
        return 1 if drawn is None else attribute_number(drawn, f"{TEXT}start-value", 1)

    def _write(self, style: str, counts: Counts, level: int) -> str:
        drawn = self._levels.get((style, level))
        form = "" if drawn is None else drawn.get(f"{STYLE}num-format") or ""
        return (
            write_number(counts.get(level, self._start(style, level)), _FORMATS.get(form, "")) if form else ""
        )
