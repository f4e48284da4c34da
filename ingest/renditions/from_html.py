"""Parts of an HTML page: its text with emphasis, links, lists, tables and code, without anything that acts.

No attribute but the targets of links and pictures is kept; the page decides which of them it follows.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from ingest.parsers.markup.html_reader import CELLS, HEADINGS, SPACES, Attributes, SiteReader, code_language
from ingest.parsers.types import LineSpan, Outline
from ingest.renditions import parts
from ingest.renditions.parts import Inline, Part

_INLINE: Final = MappingProxyType(
    {
        **dict.fromkeys(("b", "strong"), "strong"),
        **dict.fromkeys(("i", "em", "cite", "dfn", "var"), "em"),
        **dict.fromkeys(("s", "del", "strike"), "s"),
        **dict.fromkeys(("code", "tt", "kbd", "samp"), "code"),
        **{name: name for name in ("sub", "sup", "a")},
    }
)
#: Elements that end a run of text; those below hold parts themselves.
_BLOCKS: Final = HEADINGS | {
    *("p", "div", "section", "article", "main", "header", "footer", "aside", "address", "figure"),
    *("figcaption", "details", "summary", "form", "fieldset", "legend", "dt", "center", "body", "html"),
    "caption",
}
_LISTS: Final = frozenset({"ul", "ol", "menu", "dl"})
_ITEMS: Final = frozenset({"li", "dt", "dd"})
_MAX_INLINE_DEPTH: Final = 10


@dataclass(slots=True)
class _Frame:
    """An element that holds parts, items or rows, and is still open."""

    tag: str
    start: int
    held: list[Any] = field(default_factory=list)
    #: Whether a row of a table has only cells of headings.
    has_header: bool = False


def parts_of_html(text: str, outline: Outline) -> Iterator[Part]:
    """Yield the parts of a page that its outline covers: its main text, without navigation."""
    drawer = _Drawer()
    drawer.read(text)
    if drawer.is_cut_short:
        drawer = _Drawer(whole=True)
        drawer.read(text)
    spans = [span for span in outline.origins or () if isinstance(span, LineSpan)]
    first = min((span.start for span in spans), default=1)
    last = max((span.end for span in spans), default=0)
    for part in drawer.finish():
        if part["at"][1] >= first and part["at"][0] <= last:
            yield part


class _Drawer(SiteReader):
    """A parser that writes parts. Elements nested deeper than the limits are left out, their text is not."""

    def __init__(self, *, whole: bool = False) -> None:
        super().__init__(whole=whole)
        self._frames = [_Frame("", 1)]
        #: The run of text: its content, its open inline elements, its block and its first line.
        self._text: Inline = []
        self._open: list[tuple[str, Inline]] = []
        self._block = "p"
        self._start = 0
        self._pre: list[str] | None = None
        self._pre_start = 0
        self._language: str | None = None
        #: The language that an element around the next code names.
        self._around_pre: str | None = None

    @property
    def _line(self) -> int:
        return self.getpos()[0]

    def finish(self) -> list[Part]:
        """Return the parts after the end of the page."""
        self._end_pre()
        self._flush()
        while len(self._frames) > 1:
            self._pop()
        return self._frames[0].held

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._skip_depth:
            self._skip_depth += tag == self._skip_tag
            return
        attributes = dict(attrs)
        if self._skipped_kind(tag, attributes) is not None:
            self._skip_tag, self._skip_depth = tag, 1
        elif self._pre is not None:
            self._language = self._language or code_language(attributes)
            if tag == "br":
                self._pre.append("\n")
        else:
            self._start_element(tag, attributes)

    def _skipped_kind(self, tag: str, attributes: Attributes) -> str | None:
        return "" if tag == "title" else super()._skipped_kind(tag, attributes)

    def _start_element(self, tag: str, attributes: Attributes) -> None:
        if tag == "br":
            self._append(["br"])
        elif tag == "img":
            self._append(["img", attributes.get("src") or "", parts.clip(attributes.get("alt") or "")])
        elif tag in _INLINE:
            self._open_inline(_INLINE[tag], attributes)
        elif tag == "hr":
            self._flush()
            self._add(parts.rule(self._line))
        elif tag == "pre":
            self._flush()
            self._pre, self._pre_start = [], self._line
            self._language, self._around_pre = code_language(attributes) or self._around_pre, None
        elif tag in CELLS or tag == "tr":
            self._start_row_or_cell(tag)
        elif tag in _LISTS or tag in ("blockquote", "table"):
            self._flush()
            self._push(tag)
        elif tag in _ITEMS:
            self._flush()
            self._begin_item(tag)
            self._block = "p"
        elif tag in _BLOCKS:
            self._flush()
            self._around_pre = code_language(attributes) or (self._around_pre if tag != "p" else None)
            self._block = tag if tag in HEADINGS else "p"

    def _start_row_or_cell(self, tag: str) -> None:
        """Begin a row or a cell of the innermost table, whose open cell and row end without end tags."""
        self._flush()
        if not any(frame.tag == "table" for frame in self._frames):
            return
        ends = ("td", "th") if tag in CELLS else ("td", "th", "tr")
        while self._frames[-1].tag != "table" and (
            self._frames[-1].tag in ends or self._frames[-1].tag != "tr"
        ):
            self._pop()
        if tag in CELLS and self._frames[-1].tag == "table":
            self._push("tr")
        self._push(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._skip_depth:
            self._skip_depth -= tag == self._skip_tag
        elif self._pre is not None:
            if tag == "pre":
                self._end_pre()
        elif tag in _INLINE:
            self._close_inline(_INLINE[tag])
        else:
            self._end_element(tag)

    def _end_element(self, tag: str) -> None:
        if tag in _BLOCKS:
            self._flush()
            self._block = "p"
        if tag == "dt":
            return
        if tag == "dd" and not any(frame.tag == "dd" for frame in self._frames):
            tag = "dt"
        if any(frame.tag == tag for frame in self._frames[1:]):
            self._flush()
            while self._frames[-1].tag != tag:
                self._pop()
            self._pop()

    def handle_data(self, data: str) -> None:
        if self._skip_depth:
            return
        if self._pre is not None:
            self._pre.append(data)
        else:
            text = SPACES.sub(" ", data)
            self._append(parts.clip(text if self._text else text.lstrip()), data)

    def _append(self, piece: Any, data: str = "") -> None:
        if not piece:
            return
        if not self._start:
            self._start = self._line + data[: len(data) - len(data.lstrip())].count("\n")
        (self._open[-1][1] if self._open else self._text).append(piece)

    def _open_inline(self, tag: str, attributes: Attributes) -> None:
        if len(self._open) >= _MAX_INLINE_DEPTH:
            return
        content: Inline = [tag, attributes.get("href") or ""] if tag == "a" else [tag]
        target = self._open[-1][1] if self._open else self._text
        target.append(content)
        self._start = self._start or self._line
        self._open.append((tag, content))

    def _close_inline(self, tag: str) -> None:
        if any(name == tag for name, _ in self._open):
            while self._open.pop()[0] != tag:
                pass

    def _flush(self) -> None:
        """End the run of text; it becomes a paragraph or a heading unless it is empty."""
        text, block, start = self._text, self._block, self._start or self._line
        self._text, self._open, self._start = [], [], 0
        if not has_content(text):
            return
        while isinstance(text[-1], str) and not text[-1].strip():
            text.pop()
        if isinstance(text[-1], str):
            text[-1] = text[-1].rstrip()
        if self._frames[-1].tag == "dt" and not self._frames[-1].held:
            text = [["strong", *text]]
        if block in HEADINGS:
            self._add(parts.heading(without_links(text), int(block[1]), start, self._line))
        else:
            self._add(parts.paragraph(text, start, self._line))

    def _end_pre(self) -> None:
        if self._pre is not None:
            text, self._pre = "".join(self._pre), None
            skipped = text.startswith("\n")
            if text.strip():
                lines = text[skipped:].rstrip().split("\n")
                for part in parts.code(lines, self._language, self._pre_start + skipped):
                    self._add(part)

    def _begin_item(self, tag: str) -> None:
        """Begin an item of the innermost list, whose open item ends; a definition goes on below its term."""
        inner = next((frame.tag for frame in reversed(self._frames) if frame.tag in _LISTS | _ITEMS), "")
        if tag == "dd" and inner == "dt":
            return
        if inner in _ITEMS:
            while self._frames[-1].tag not in _ITEMS:
                self._pop()
            self._pop()
        self._push(tag)

    def _push(self, tag: str) -> None:
        if len(self._frames) <= 3 * parts.MAX_DEPTH:
            self._frames.append(_Frame(tag, self._line))

    def _pop(self) -> None:
        """End the innermost frame, which becomes a part of the one around it."""
        frame, end = self._frames.pop(), self._line
        outer = self._frames[-1]
        if frame.tag in CELLS:
            outer.held.append(frame.held)
            outer.has_header = frame.tag == "th" and (outer.has_header or len(outer.held) == 1)
        elif frame.tag == "tr":
            outer.has_header = outer.has_header or (
                frame.has_header and not any("cells" in held for held in outer.held)
            )
            outer.held += _rows(frame, end)
        elif frame.tag in _ITEMS:
            if outer.tag in _LISTS and frame.held:
                outer.held.append(parts.item(frame.held, frame.start, end))
            else:
                self._frames[-1].held += frame.held
        elif frame.held:
            for part in self._parts_of(frame, end):
                self._add(part)

    def _parts_of(self, frame: _Frame, end: int) -> Iterator[Part]:
        if frame.tag == "blockquote":
            yield from parts.quote(frame.held, frame.start, end)
        elif frame.tag == "table":
            rows = [held for held in frame.held if "cells" in held]
            yield from (held for held in frame.held if "cells" not in held)
            yield from parts.tables(rows, has_header=frame.has_header) if rows else ()
        else:
            items = [held if "is" not in held else parts.item([held], *held["at"]) for held in frame.held]
            yield from parts.lists(items, is_ordered=frame.tag == "ol")

    def _add(self, part: Part) -> None:
        frame = self._frames[-1]
        frame.held.append([part] if frame.tag == "tr" else part)  # text between cells


def _rows(frame: _Frame, end: int) -> Iterator[Part]:
    """Yield a row, or the parts of its only cell if that is more than text: such a table is a frame."""
    filled = [cell for cell in frame.held if cell]
    if len(filled) == 1 and any(part.get("is") not in ("paragraph", "heading") for part in filled[0]):
        yield from filled[0]
    elif filled:
        yield parts.row([flat(cell) for cell in frame.held], frame.start, end)


def has_content(text: Inline) -> bool:
    """Return whether there is a word or a picture in inline content."""
    for piece in text:
        if isinstance(piece, str):
            if piece.strip():
                return True
        elif piece[0] == "img" or (piece[0] != "br" and has_content(piece[2 if piece[0] == "a" else 1 :])):
            return True
    return False


def without_links(text: Inline) -> Inline:
    """Return inline content with its outermost links as text; a heading's own are marks of its place."""
    kept: Inline = []
    for piece in text:
        kept += piece[2:] if isinstance(piece, list) and piece[0] == "a" else [piece]
    return kept


def flat(held: list[Part]) -> Inline:
    """Return the content of parts inside a cell, with line breaks between them."""
    text: Inline = []
    for part in held:
        for line in _flat_lines(part):
            text += [["br"], *line] if text else line
    return text


def _flat_lines(part: Part) -> Iterator[Inline]:
    kind = part.get("is", "")
    if kind in ("paragraph", "heading"):
        yield part["text"]
    elif kind == "code":
        yield from ([["code", line]] for line in part["lines"])
    elif kind == "list":
        for each in part["items"]:
            for inner in each["parts"]:
                for number, line in enumerate(_flat_lines(inner)):
                    yield line if number else ["• ", *line]
    elif kind == "quote":
        for inner in part["parts"]:
            yield from _flat_lines(inner)
    elif kind == "table":
        for row in (*part["header"], *part["rows"]):
            yield [piece for cell in row["cells"] for piece in (*cell, "  ")]
