"""Fallback parser of office files that streams the text out of their XML, without a library.

It reads files on which the library of their format fails: damaged ones, variants (templates, macros, strict
XML), and those too large for a tree in memory. It supports headings, rows and pages, not lists and notes.
"""

import re
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ingest.parsers.errors import ParseRefused
from ingest.parsers.office.links import sensible_title, workbook_title
from ingest.parsers.office.normal_package import open_package
from ingest.parsers.office.package import (
    DAMAGE,
    OfficeKind,
    Relation,
    core_properties,
    kind_of,
    read_part,
    relations,
    safe_parser,
)
from ingest.parsers.outline_writer import (
    MAX_CHARS,
    MAX_EMPTY_CELLS,
    OutlineWriter,
    one_line,
    row_line,
    too_much_text,
)
from ingest.parsers.types import FileType, Outline

#: deleted text, field codes, tab stops, phonetic guides, and content repeated for older programs
LEFT_OUT: Final = frozenset({"del", "moveFrom", "instrText", "tabs", "tabLst", "rPh", "Fallback"})
SIGNS: Final = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
LISTED_PAGES: Final = frozenset({"sldId", "sheet"})
NUMBER: Final = re.compile(r"(\d+)\.xml$")


class PartReader(ABC):
    """Reader that feeds parts to a streaming parser; subclasses interpret the elements.

    Elements go by their local names: strict and transitional files differ only in namespaces.
    """

    def __init__(self, writer: OutlineWriter, archive: zipfile.ZipFile) -> None:
        self.writer = writer
        self.archive = archive
        self.page_names: list[str] = []
        self._text: list[str] = []
        self._chars = 0
        self._left_out_depth = 0
        self._is_text = False

    @abstractmethod
    def read(self) -> Iterator[str]:
        """Write all text; yield a message for each damaged part."""

    @abstractmethod
    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """Handle the start of an element; name and attributes come without namespaces."""

    @abstractmethod
    def end(self, name: str) -> None:
        """Handle the end of an element."""

    @abstractmethod
    def finish(self) -> None:
        """Handle the end of a part, or the point after which it can't be read."""

    @abstractmethod
    def title(self, stated: str | None, file: FileType) -> str | None:
        """Return the document's title after `read`; None leaves it to its headings."""

    def feed(self, part: str) -> Iterator[str]:
        """Read one part; yield the reason when it can't be read to its end."""
        parser = safe_parser()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._gather
        self._text.clear()
        self._left_out_depth, self._is_text = 0, False
        try:
            read_part(self.archive, part, parser.Parse)
            parser.Parse(b"", True)
        except DAMAGE as error:
            yield f"{part}: {error}"
        self.finish()

    def take_text(self) -> str:
        """Return the text gathered since the last call."""
        text = "".join(self._text)
        self._text.clear()
        return text

    @property
    def has_text(self) -> bool:
        """Return whether text was gathered since the last `take_text`."""
        return bool(self._text) and any(text.strip() for text in self._text)

    @property
    def has_read(self) -> bool:
        """Return whether there was any text so far."""
        return self._chars > 0

    def count(self, text: str) -> None:
        """Add `text` to the number of characters read.

        Raises:
            ParseRefused: the total exceeds MAX_CHARS (`too_large`).
        """
        self._chars += len(text)
        if self._chars > MAX_CHARS:
            raise too_much_text()

    def pages(self, part: str, folder: str) -> Sequence[tuple[str, str]]:
        """Return names and parts of slides or sheets in their order, or by number where that is damaged.

        A part that is listed again is left out.
        """
        listed: list[tuple[str, str]] = []
        known: Mapping[str, Relation] = {}

        def start(element: str, attributes: dict[str, str]) -> None:
            if element.rpartition(" ")[2] in LISTED_PAGES:
                ids = [value for key, value in attributes.items() if key.endswith("relationships id")]
                listed.extend((attributes.get("name", ""), known[one].target) for one in ids if one in known)

        parser = safe_parser()
        parser.StartElementHandler = start
        try:
            known = relations(self.archive, part)
            read_part(self.archive, part, parser.Parse)
        except DAMAGE:
            listed.clear()
        found = listed or [("", name) for name in self._numbered_parts(folder)]
        first_names: dict[str, str] = {}
        for name, part in found:
            first_names.setdefault(part, name)
        return [(name, part) for part, name in first_names.items()]

    def _numbered_parts(self, folder: str) -> list[str]:
        matched = [(NUMBER.search(name), name) for name in self.archive.namelist() if name.startswith(folder)]
        return [name for _, name in sorted((int(found[1]), name) for found, name in matched if found)]

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(" ")[2]
        if self._left_out_depth or local in LEFT_OUT:
            self._left_out_depth += 1
            return
        self._is_text = local in ("t", "v")
        if local in SIGNS:
            self._text.append(SIGNS[local])
        self.start(local, {key.rpartition(" ")[2]: value for key, value in attributes.items()})

    def _end(self, name: str) -> None:
        if self._left_out_depth:
            self._left_out_depth -= 1
            return
        self._is_text = False
        self.end(name.rpartition(" ")[2])

    def _gather(self, text: str) -> None:
        if self._is_text and not self._left_out_depth:
            self.count(text)
            self._text.append(text)


#: ids of heading styles as the English, German, French, Spanish, Portuguese and Italian Word write them
HEADING_STYLE: Final = re.compile(r"(?:heading|berschrift|titre|t.?tulo|titolo)\s?([1-6])", re.IGNORECASE)
DOCUMENT_PART: Final = re.compile(r"word/document\d*\.xml")
NOTE_PARTS: Final = ("word/footnotes.xml", "word/endnotes.xml")
COLUMN: Final = re.compile(r"[A-Z]{1,3}")


def parse_office_text(content: bytes, file: FileType) -> Outline:
    """Return the text of an office file, as far as its parts can be read; damaged parts are omissions.

    Raises:
        ParseRefused: see `open_package`; or none of the text can be read (`damaged`).
    """
    kind = kind_of(content) or _kind_by_name(file)
    _, archive = open_package(content, kind)
    writer = OutlineWriter()
    reader = READERS[kind](writer, archive)
    damaged = list(reader.read())
    if damaged and not reader.has_read:
        raise ParseRefused("damaged", f"the file is damaged: its text can't be read ({damaged[0]})")
    stated, metadata = core_properties(archive)
    for why in damaged:
        writer.omitted("unreadable_parts", where=why)
    return writer.outline(title=reader.title(sensible_title(stated), file), metadata=metadata)


def _kind_by_name(file: FileType) -> OfficeKind:
    return next(kind for kind in READERS if kind in file.parsers)


class _WordReader(PartReader):
    """Reader of headings, paragraphs and rows of a Word document, then of its notes."""

    def __init__(self, writer: OutlineWriter, archive: zipfile.ZipFile) -> None:
        super().__init__(writer, archive)
        self._heading: int | None = None
        self._row_depth = 0
        self._cells: list[str] = []
        self._rows: list[str] = []

    def read(self) -> Iterator[str]:
        names = self.archive.namelist()
        documents = [name for name in names if DOCUMENT_PART.fullmatch(name)]
        if not documents:
            yield "word/document.xml is missing"
        for part in (*documents, *(name for name in NOTE_PARTS if name in names)):
            yield from self.feed(part)

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "pStyle":
            found = HEADING_STYLE.search(attributes.get("val", ""))
            self._heading = int(found[1]) if found else None
        elif name == "tr":
            self._row_depth += 1
        elif name == "p" and not self._row_depth and self.has_text:
            self._write_paragraph()  # a text box begins inside a paragraph

    def end(self, name: str) -> None:
        if name == "p" and self._row_depth:
            self._text.append(" ")
        elif name == "p":
            self._write_paragraph()
        elif name == "tc" and self._row_depth == 1:
            self._cells.append(self.take_text())
        elif name == "tr":
            self._row_depth -= 1
            if not self._row_depth:
                self._end_row()
        elif name == "tbl" and not self._row_depth:
            self._write_rows()

    def finish(self) -> None:
        self._row_depth = 0
        self._end_row()
        self._write_rows()
        self._write_paragraph()

    def title(self, stated: str | None, file: FileType) -> str | None:
        return stated

    def _write_paragraph(self) -> None:
        if not self.has_text:
            self._heading = None
            return
        text, heading, self._heading = self.take_text(), self._heading, None
        if heading is not None:
            self.writer.write_heading(text, heading)
        else:
            self.writer.write_block("paragraph", [text.strip()])

    def _end_row(self) -> None:
        self._rows.append(row_line(self._cells))
        self._cells = []

    def _write_rows(self) -> None:
        rows, self._rows = self._rows, []
        self.writer.write_block("table", rows)


class _SlideReader(PartReader):
    """Reader of slides in their order; the title of each is its heading."""

    def __init__(self, writer: OutlineWriter, archive: zipfile.ZipFile) -> None:
        super().__init__(writer, archive)
        self._is_title = False
        self._title: list[str] = []
        self._texts: list[str] = []

    def read(self) -> Iterator[str]:
        slides = self.pages("ppt/presentation.xml", "ppt/slides/slide")
        if not slides:
            yield "it contains no slides"
        for number, (_, part) in enumerate(slides, start=1):
            self._title, self._texts = [], []
            damaged = list(self.feed(part))
            title = one_line(" ".join(self._title))
            self.page_names.append(title)
            self.writer.begin_page(number)
            self.writer.write_heading(title or f"Slide {number}", 1)
            self.writer.write_block("paragraph", self._texts)
            yield from damaged

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "ph":
            self._is_title = attributes.get("type") in ("title", "ctrTitle")

    def end(self, name: str) -> None:
        if name == "p":
            self.finish()
        elif name == "sp":
            self._is_title = False

    def finish(self) -> None:
        if text := one_line(self.take_text()):
            (self._title if self._is_title else self._texts).append(text)

    def title(self, stated: str | None, file: FileType) -> str | None:
        return stated or next(filter(None, self.page_names), self.writer.first_words)


class _SheetReader(PartReader):
    """Reader of sheets in their order, one line per row."""

    def __init__(self, writer: OutlineWriter, archive: zipfile.ZipFile) -> None:
        super().__init__(writer, archive)
        self._shared: list[str] = []
        self._row: list[str] = []
        self._rows: list[str] = []
        self._type = ""
        self._column = self._last_column = 0

    def read(self) -> Iterator[str]:
        if "xl/sharedStrings.xml" in self.archive.namelist():
            yield from self.feed("xl/sharedStrings.xml")
        sheets = self.pages("xl/workbook.xml", "xl/worksheets/sheet")
        if not sheets:
            yield "it contains no sheets"
        for number, (name, part) in enumerate(sheets, start=1):
            self.page_names.append(name)
            self.writer.begin_page(number)
            self.writer.write_heading(name or f"Sheet {number}", 1)
            yield from self.feed(part)

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "c":
            self._type = attributes.get("t", "")
            letters = COLUMN.match(attributes.get("r", ""))
            self._column = _column_number(letters[0]) if letters else self._last_column + 1
            self._text.clear()

    def end(self, name: str) -> None:
        if name == "si":
            self._shared.append(self.take_text())
        elif name == "c":
            text = self.take_text()
            if self._type == "s":
                text = self._shared[int(text)] if text.isdecimal() and int(text) < len(self._shared) else ""
                self.count(text)
            if text:
                gap = self._column - 1 - self._last_column
                self._row += [""] * min(MAX_EMPTY_CELLS, max(0, gap))
                self._row.append(text)
                self._last_column = self._column
        elif name == "row":
            self._end_row()

    def finish(self) -> None:
        self._end_row()
        rows, self._rows = self._rows, []
        self.writer.write_block("table", rows)

    def title(self, stated: str | None, file: FileType) -> str | None:
        return workbook_title(stated, self.page_names, file)

    def _end_row(self) -> None:
        self._rows.append(row_line(self._row))
        self._row, self._last_column = [], 0


def _column_number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


READERS: Final[Mapping[OfficeKind, type[PartReader]]] = {
    "docx": _WordReader,
    "pptx": _SlideReader,
    "xlsx": _SheetReader,
}
