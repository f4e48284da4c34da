"""Text of SVG drawings."""

import re
from html.parser import HTMLParser

from ingest.parsers.decode import decode, split_lines
from ingest.parsers.errors import ParseRefused
from ingest.parsers.markup.html_reader import prepare_page
from ingest.parsers.types import Block, FileType, LineSpan, Outline

#: elements whose text a person sees or hears read out; the last two occur in a `foreignObject`
WORDS = frozenset({"text", "title", "desc", "p", "div"})
#: an entity made of entities, which expands exponentially; drawing programs declare only plain ones
NESTED_ENTITY = re.compile(rb"<!ENTITY\s+(?:%\s+)?\S{1,200}\s+(?:\"[^\"&]*&[^#\"]|'[^'&]*&[^#'])")
SKIPPED = frozenset({"style", "script", "metadata", "defs"})


def parse_svg(content: bytes, file: FileType) -> Outline:
    """Return title, description and labels of a drawing, one line each.

    An HTML parser reads it, which expands no entities declared in the file and loads nothing from outside.

    Raises:
        ParseRefused: the drawing declares an entity bomb (`xml_entities`).
    """
    if NESTED_ENTITY.search(content):
        raise ParseRefused("xml_entities", "the drawing declares entities made of entities, as bombs do")
    reader = _WordReader()
    reader.feed(prepare_page("\n".join(split_lines(decode(content)))))
    reader.close()
    reader.end_line()
    blocks = [Block(kind="paragraph", span=LineSpan(1, len(reader.lines)))] if reader.lines else []
    return Outline(lines=reader.lines, blocks=blocks, origins=reader.origins, title=reader.title)


class _WordReader(HTMLParser):
    """Parser that collects the words of a drawing."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []
        self.origins: list[LineSpan] = []
        self.title: str | None = None
        self._tag = ""
        self._word_depth = 0
        self._skip_depth = 0
        self._text: list[str] = []
        self._read_from: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in SKIPPED:
            self._skip_depth += 1
        elif tag in WORDS:
            self.end_line()
            self._word_depth += 1
            self._tag = tag
        elif tag == "tspan" and {"x", "y", "dy"} & dict(attrs).keys():
            self._text.append(" ")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Ignore the element: `<text/>` holds no words."""

    def handle_endtag(self, tag: str) -> None:
        if tag in SKIPPED:
            self._skip_depth = max(0, self._skip_depth - 1)
        elif tag in WORDS:
            self.end_line()
            self._word_depth = max(0, self._word_depth - 1)

    def handle_data(self, data: str) -> None:
        if not self._word_depth or self._skip_depth or not data.strip():
            return
        self._text.append(data)
        start = self.getpos()[0] + data[: len(data) - len(data.lstrip())].count("\n")
        self._read_from += [start, start + data.strip().count("\n")]

    def end_line(self) -> None:
        """Add the text read since the last line as a line."""
        text, read_from = " ".join("".join(self._text).split()), self._read_from
        self._text, self._read_from = [], []
        if not text:
            return
        if self._tag == "title" and self.title is None:
            self.title = text
        self.lines.append(text)
        self.origins.append(LineSpan(min(read_from), max(read_from)))
