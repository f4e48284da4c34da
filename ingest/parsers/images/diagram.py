"""Labels of diagrams that are stored as text: diagrams.net (drawio) and Excalidraw."""

import base64
import json
import re
import zlib
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from typing import Any, Final
from urllib.parse import unquote

from ingest.parsers.decode import decode, split_lines
from ingest.parsers.errors import ParseRefused
from ingest.parsers.markup.html_reader import prepare_page
from ingest.parsers.outline_writer import SectionWriter
from ingest.parsers.types import FileType, LineSpan, Outline

#: attributes with a label, which is HTML
LABELS: Final = ("value", "label", "tooltip")
TAG: Final = re.compile(r"<[^<>]*>")
#: characters of all compressed pages of a file
MAX_CHARS: Final = 16 * 1024**2


def parse_drawio(content: bytes, file: FileType) -> Outline:
    """Return the labels of each page below its name, a line each.

    Raises:
        ParseRefused: a compressed page would grow beyond MAX_CHARS (`archive_bomb`).
    """
    reader = _DrawioReader()
    reader.feed(prepare_page(decode(content)))
    reader.close()
    reader.end_page()
    return reader.writer.outline()


class _DrawioReader(HTMLParser):
    """A parser that writes the labels of pages."""

    def __init__(self, *, is_unpacked: bool = False) -> None:
        super().__init__(convert_charrefs=True)
        self._is_unpacked = is_unpacked
        self.writer = SectionWriter()
        self._page = ("", 1)
        #: the labels of the open page, each with its line in the file
        self._labels: dict[str, int] = {}
        self._packed: list[str] | None = None
        self._left = MAX_CHARS

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "diagram":
            self.end_page()
            self._page = (given.get("name") or "", self.getpos()[0])
            self._packed = None if self._is_unpacked else []
        else:
            self._packed = None if tag == "mxgraphmodel" else self._packed
            for name in LABELS:
                label = unescape(TAG.sub(" ", given.get(name) or ""))
                if label.strip():
                    self._labels.setdefault(" ".join(label.split()), self.getpos()[0])

    def handle_data(self, data: str) -> None:
        if self._packed is not None:
            self._packed.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "diagram" and self._packed:
            packed, self._packed = "".join(self._packed), None
            if packed.strip():
                self._read_packed(packed)

    def _read_packed(self, packed: str) -> None:
        """Read a page that is deflated, in base64."""
        unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            text = unpacker.decompress(base64.b64decode(packed), self._left)
        except (ValueError, zlib.error):
            self.writer.omitted("unreadable_parts")
            return
        if unpacker.unconsumed_tail:
            raise ParseRefused("archive_bomb", f"a page of the diagram has more than {MAX_CHARS} characters")
        self._left -= len(text)
        inner = _DrawioReader(is_unpacked=True)
        inner.feed(prepare_page(unquote(text.decode("utf-8", "replace"))))
        self._labels |= dict.fromkeys(inner._labels, self._page[1])

    def end_page(self) -> None:
        """Write name and labels of the open page."""
        name, line = self._page
        if name or self._labels:
            facts = [(label, LineSpan(number, number)) for label, number in self._labels.items()]
            self.writer.add(name, LineSpan(line, line), facts)
        self._page, self._labels = ("", line), {}


def parse_excalidraw(content: bytes, file: FileType) -> Outline:
    """Return the texts of an Excalidraw drawing, a line each.

    Raises:
        ValueError: it is no such drawing.
    """
    text = decode(content)
    drawing = json.loads(text)
    elements = drawing.get("elements") if isinstance(drawing, dict) else None
    if not isinstance(elements, list):
        raise ValueError("it lacks elements")
    whole = LineSpan(1, max(1, len(split_lines(text))))
    writer = SectionWriter()
    writer.add("", whole, [(label, whole) for label in dict.fromkeys(_texts(elements))])
    return writer.outline()


def _texts(elements: list[Any]) -> Iterator[str]:
    for element in elements:
        if isinstance(element, dict) and not element.get("isDeleted"):
            for name in ("text", "name"):
                if isinstance(text := element.get(name), str) and text.strip():
                    yield " ".join(text.split())
