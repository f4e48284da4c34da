"""Citations: the location of a hit in its document, as fields and as a URI that parses back.

    a/b.md#L7-L12 (#L7 for one line)    doc.pdf#page=4    img.png#xywh=1,2,3,4    talk.vtt#t=822.000,850.000

A region on a page of a document has both: `doc.pdf#page=4&xywh=1,2,3,4`. In the path `%`, `#` and `?` are
escaped: `C%23 guide.md#L7`.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, assert_never

from search.retrieval.errors import InvalidCitation, preview
from search.retrieval.wire_types import Count, Keyword, NonEmpty, NonNegative, Rank

logger = logging.getLogger(__name__)

CitationKind = Literal["line", "page", "region", "time"]

# Limits of the URI's numbers: twelve digits; for a time, nine before the point and three after it.
_POSITION_LIMIT = 10**12
_TIME_LIMIT_S = 10**9
# As published; `parse_uri` is stricter.
_URI = r"^[^#?]+#(L\d+(-L\d+)?|page=\d+|(page=\d+&)?xywh=\d+,\d+,\d+,\d+|t=\d+\.\d{3},\d+\.\d{3})$"


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A location in a document; fields of other kinds are None. Raises: InvalidCitation for a mismatch."""

    kind: CitationKind
    #: POSIX path of the document in its source, not escaped.
    path: NonEmpty
    #: Heading under which it lies. Not part of the URI.
    section: str | None = None
    #: First line, from 1.
    start: Rank | None = None
    #: Last line, included.
    end: Rank | None = None
    #: Page, from 1.
    page: Rank | None = None
    #: Pixels from the left.
    x: Count | None = None
    #: Pixels from the top.
    y: Count | None = None
    #: Width in pixels.
    w: Rank | None = None
    #: Height in pixels.
    h: Rank | None = None
    #: Seconds, in whole milliseconds.
    start_s: NonNegative | None = None
    #: Seconds, in whole milliseconds.
    end_s: NonNegative | None = None
    #: `a/b.md#L7-L12`, `doc.pdf#page=4`, `img.png#xywh=1,2,3,4` or `talk.vtt#t=822.000,850.000`.
    uri: Annotated[str, Keyword("pattern", _URI)] = field(init=False, default="", repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.path:
            raise InvalidCitation("An empty path can't be cited.")
        fragment = _fragment(self)
        if fragment is None:
            raise InvalidCitation(
                f"The numbers of this {self.kind} citation of {preview(self.path)} don't fit its kind:"
                " lines and pages count from 1, ends are not before starts, times are whole milliseconds."
            )
        # A frozen dataclass allows no ordinary assignment, not even here.
        object.__setattr__(self, "uri", build_uri(self.path, fragment))


_ESCAPES = str.maketrans({"%": "%25", "#": "%23", "?": "%3F"})
_ESCAPED = re.compile("%(23|25|3[Ff])")


def build_uri(path: str, fragment: str = "") -> str:
    """Return the URI of a document's path, or of the place `fragment` in it."""
    return path.translate(_ESCAPES) + (f"#{fragment}" if fragment else "")


def split_uri(uri: str) -> tuple[str, str]:
    """Return path and fragment of a URI, the inverse of `build_uri`; the fragment is not checked."""
    path, _, fragment = uri.partition("#")
    return _ESCAPED.sub(lambda escaped: chr(int(escaped[1], 16)), path), fragment


def _fragment(c: Citation) -> str | None:
    """Return the fragment of a citation's URI; None if its numbers don't fit its kind."""
    has_lines = c.start is not None or c.end is not None
    has_region = c.x is not None or c.y is not None or c.w is not None or c.h is not None
    has_times = c.start_s is not None or c.end_s is not None
    match c.kind:
        case "line":
            if c.page is not None or has_region or has_times or c.start is None or c.end is None:
                return None
            if not 1 <= c.start <= c.end < _POSITION_LIMIT:
                return None
            return f"L{c.start}" if c.start == c.end else f"L{c.start}-L{c.end}"
        case "page":
            is_page = not (has_lines or has_region or has_times) and _is_position(c.page, least=1)
            return f"page={c.page}" if is_page else None
        case "region":
            corner = _is_position(c.x, least=0) and _is_position(c.y, least=0)
            size = _is_position(c.w, least=1) and _is_position(c.h, least=1)
            is_on_page = c.page is None or _is_position(c.page, least=1)
            if has_lines or has_times or not (corner and size and is_on_page):
                return None
            page = "" if c.page is None else f"page={c.page}&"
            return f"{page}xywh={c.x},{c.y},{c.w},{c.h}"
        case "time":
            are_times = _is_time(c.start_s) and _is_time(c.end_s) and (c.start_s or 0.0) <= (c.end_s or 0.0)
            if has_lines or has_region or c.page is not None or not are_times:
                return None
            return f"t={c.start_s:.3f},{c.end_s:.3f}"
        case _:
            assert_never(c.kind)


def _is_position(number: int | None, *, least: int) -> bool:
    return number is not None and least <= number < _POSITION_LIMIT


def _is_time(seconds: float | None) -> bool:
    return seconds is not None and 0 <= seconds < _TIME_LIMIT_S and float(f"{seconds:.3f}") == seconds


_N = r"([0-9]{1,12})"
_T = r"([0-9]{1,9}\.[0-9]{3})"
_LINES = re.compile(f"L{_N}(?:-L{_N})?")
_PAGE = re.compile(f"page={_N}")
_REGION = re.compile(f"(?:page={_N}&)?xywh={_N},{_N},{_N},{_N}")
_TIMES = re.compile(f"t={_T},{_T}")


def parse_uri(uri: str) -> Citation:
    """Return the citation, without section, that `uri` names; its path may have unescaped `%` and `?`.

    Raises: InvalidCitation for anything that is no citation's URI, including `#L7-L7` and `#L07`.
    """
    path, fragment = split_uri(uri)
    citation = _parse_fragment(path, fragment)
    if citation is None or _fragment(citation) != fragment:
        raise InvalidCitation(
            f"{preview(uri)} is not a citation; write path#L7, path#L7-L12, path#page=4, path#xywh=1,2,3,4"
            " or path#t=822.000,850.000."
        )
    return citation


def _parse_fragment(path: str, fragment: str) -> Citation | None:
    if lines := _LINES.fullmatch(fragment):
        return Citation(kind="line", path=path, start=int(lines[1]), end=int(lines[2] or lines[1]))
    if page := _PAGE.fullmatch(fragment):
        return Citation(kind="page", path=path, page=int(page[1]))
    if region := _REGION.fullmatch(fragment):
        x, y, w, h = (int(number) for number in region.groups()[1:])
        on_page = None if region[1] is None else int(region[1])
        return Citation(kind="region", path=path, page=on_page, x=x, y=y, w=w, h=h)
    if times := _TIMES.fullmatch(fragment):
        return Citation(kind="time", path=path, start_s=float(times[1]), end_s=float(times[2]))
    return None


def citation_of(path: str, section_label: str, spans: Sequence[Mapping[str, object]]) -> Citation:
    """Return the citation of a chunk with these spans in the document at `path`; '' means no section."""
    return citation_from_span(path, section_label or None, spans[0] if spans else None)


def citation_from_span(path: str, section: str | None, span: Mapping[str, object] | None) -> Citation:
    """Return the citation of a chunk's first span.

    A byte span, a missing or a broken one yields line 1 and a logged warning, so that no hit is lost.
    """
    try:
        return _convert_span(path, section, span or {})
    except (InvalidCitation, KeyError, TypeError, ValueError, OverflowError):
        logger.warning("A document lacks a citable span (%s); citing its first line.", preview(span))
        return Citation(kind="line", path=path, section=section, start=1, end=1)


def _convert_span(path: str, section: str | None, span: Mapping[str, object]) -> Citation:
    match span:
        case {"kind": "line", "start": first, "end": last}:
            start = first if type(first) is int else _round_number(first)
            end = last if type(last) is int else _round_number(last)
            return Citation(kind="line", path=path, section=section, start=start, end=end)
        case {"kind": "page", "page": page}:
            return Citation(kind="page", path=path, section=section, page=_round_number(page))
        case {"kind": "region", "x": _, "y": _, "w": _, "h": _}:
            page = span.get("page")
            x, y, w, h = (_round_number(span[side]) for side in ("x", "y", "w", "h"))
            on_page = None if page is None else _round_number(page)
            return Citation(kind="region", path=path, section=section, page=on_page, x=x, y=y, w=w, h=h)
        case {"kind": "time", "start_s": begin, "end_s": end}:
            start_s, end_s = _round_to_milliseconds(begin), _round_to_milliseconds(end)
            return Citation(kind="time", path=path, section=section, start_s=start_s, end_s=end_s)
        case _:
            raise InvalidCitation(f"{preview(span)} can't be cited; lines, pages, regions and times can.")


def _round_number(number: object) -> int:
    if not isinstance(number, int | float):
        raise TypeError(f"{preview(number)} is not a number.")
    return round(number)


def _round_to_milliseconds(seconds: object) -> float:
    if not isinstance(seconds, int | float):
        raise TypeError(f"{preview(seconds)} is not a number.")
    return float(f"{seconds:.3f}")
