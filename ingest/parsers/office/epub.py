"""Books in EPUB 2 and 3: the chapters in reading order, each a page, read as HTML pages are.

A reader of our own, because the library of that name, EbookLib, is under the AGPL.
"""

import io
import posixpath
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import groupby
from typing import Any, Final
from urllib.parse import unquote

from ingest.parsers.decode import decode, split_lines
from ingest.parsers.errors import ParseRefused
from ingest.parsers.markup.html_reader import HEADINGS, PageReader, prepare_page
from ingest.parsers.office.package import (
    DAMAGE,
    DIRECTORY_ENTRY,
    MAX_PARTS,
    MAX_PROPERTY_CHARS,
    ZIP_START,
    elements,
    open_archive,
)
from ingest.parsers.outline_writer import OutlineWriter
from ingest.parsers.stated_metadata import stated_metadata
from ingest.parsers.types import BlockKind, FileType, Outline

CONTAINER: Final = "META-INF/container.xml"
ENCRYPTION: Final = "META-INF/encryption.xml"
#: methods that only keep fonts from being copied
FONT_METHODS: Final = frozenset({"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"})
#: unpacked bytes of one chapter or list, and of the whole text
MAX_PART_BYTES: Final = 16 * 1024**2
MAX_TEXT_BYTES: Final = 64 * 1024**2
KINDS: Final[Mapping[str, BlockKind]] = {"li": "list", "dd": "list", "dt": "list", "blockquote": "quote"}


def is_epub(content: bytes) -> bool:
    """Return whether the content is a zip archive with the list of contents that every EPUB has."""
    if not content.startswith(ZIP_START) or content.count(DIRECTORY_ENTRY) > MAX_PARTS:
        return False
    try:
        return CONTAINER in zipfile.ZipFile(io.BytesIO(content)).namelist()
    except DAMAGE:
        return False


def parse_epub(content: bytes, file: FileType) -> Outline:
    """Return the text of a book; its chapters are pages, numbered in reading order.

    Raises:
        ParseRefused: it is damaged, protected against copying (`encrypted`), or implausibly large.
    """
    archive = open_archive(content)
    try:
        _check_protection(archive)
        package = _read_package(archive)
    except DAMAGE as error:
        raise ParseRefused("damaged", f"the list of the book's chapters is unreadable: {error}") from None
    book = _BookReader(archive, package)
    book.read()
    return book.writer.outline(title=package.title, metadata=stated_metadata(package.stated))


@dataclass(slots=True, kw_only=True)
class _Package:
    """The list of a book's parts, and what it states about itself."""

    title: str | None = None
    stated: dict[str, Any] = field(default_factory=dict)
    #: parts by id: name in the archive, and media type
    parts: dict[str, tuple[str, str]] = field(default_factory=dict)
    #: ids of the chapters in reading order
    spine: list[str] = field(default_factory=list)
    #: id of the list of contents
    contents: str | None = None


def _read_part(archive: zipfile.ZipFile, name: str) -> bytes:
    with archive.open(name) as part:
        content = part.read(MAX_PART_BYTES + 1)
    if len(content) > MAX_PART_BYTES:
        raise ParseRefused("too_large", f"a part of the book has more than {MAX_PART_BYTES // 1024**2} MB")
    return content


def _check_protection(archive: zipfile.ZipFile) -> None:
    if ENCRYPTION not in archive.namelist():
        return
    for name, attributes, _ in elements(_read_part(archive, ENCRYPTION)):
        if name == "EncryptionMethod" and attributes.get("Algorithm") not in FONT_METHODS:
            raise ParseRefused("encrypted", "the book is protected against copying (DRM): add a copy without")


def _read_package(archive: zipfile.ZipFile) -> _Package:
    container = elements(_read_part(archive, CONTAINER))
    path = next(
        (attributes.get("full-path", "") for name, attributes, _ in container if name == "rootfile"), ""
    )
    folder = posixpath.dirname(path)
    package = _Package()
    for name, attributes, text in elements(_read_part(archive, path)):
        match name:
            case "item" if "id" in attributes:
                part = posixpath.normpath(posixpath.join(folder, unquote(attributes.get("href", ""))))
                media = attributes.get("media-type", "")
                package.parts[attributes["id"]] = part, media
                if "nav" in attributes.get("properties", "").split():
                    package.contents = attributes["id"]
            case "itemref":
                package.spine.append(attributes.get("idref", ""))
            case "spine":
                package.contents = package.contents or attributes.get("toc")
            case "title":
                package.title = package.title or text or None
            case "creator":
                package.stated.setdefault("author", []).append(text)
            case "date" if attributes.get("http://www.idpf.org/2007/opf event") != "modification":
                package.stated.setdefault("created", text)
            case "meta" if attributes.get("property") == "dcterms:modified":
                package.stated.setdefault("modified", text)
    return package


class _BookReader:
    """Reader of the chapters into an outline."""

    def __init__(self, archive: zipfile.ZipFile, package: _Package) -> None:
        self.writer = OutlineWriter()
        self._archive = archive
        self._package = package
        self._left_bytes = MAX_TEXT_BYTES
        self._read: set[str] = set()

    def read(self) -> None:
        """Read the chapters in order, each once; one that is missing or damaged is an omission."""
        titles = self._chapter_titles()
        for number, id_ in enumerate(self._package.spine, start=1):
            name, media = self._package.parts.get(id_, ("", ""))
            if id_ == self._package.contents or (media and "html" not in media):
                continue
            if name and name in self._read:
                self.writer.omitted("repeated_parts", where=f"chapter {number}")
                continue
            self._read.add(name)
            try:
                content = _read_part(self._archive, name)
            except DAMAGE:
                self.writer.omitted("unreadable_parts", where=f"chapter {number}, {name or id_}")
                continue
            self._left_bytes -= len(content)
            if self._left_bytes < 0:
                limit = MAX_TEXT_BYTES // 1024**2
                raise ParseRefused("too_large", f"the book has more than {limit} MB of text")
            self._write(content, titles.get(name), number)

    def _write(self, content: bytes, title: str | None, number: int) -> None:
        reader = PageReader()
        reader.read("\n".join(split_lines(decode(content))))
        self.writer.begin_page(number)
        self.writer.omissions.add(reader.omissions.listed(), f"chapter {number}")
        runs = reader.runs
        if title and runs and not any(run.tag in HEADINGS for run in runs):
            self.writer.write_heading(title, 1)
            # LibreOffice writes headings as paragraphs
            runs = runs[" ".join(text for text, _ in runs[0].lines) == title :]
        for table, group in groupby(runs, key=lambda run: run.table):
            if table:
                self.writer.write_block("table", (text for run in group for text, _ in run.lines))
            else:
                for run in group:
                    texts = [text for text, _ in run.lines]
                    if run.tag in HEADINGS:
                        self.writer.write_heading(" ".join(texts), int(run.tag[1]))
                    else:
                        kind = "code" if run.is_preformatted else KINDS.get(run.tag, "paragraph")
                        self.writer.write_block(kind, ["\n".join(texts)])

    def _chapter_titles(self) -> Mapping[str, str]:
        """Return the titles of the chapters in the list of contents, by their names in the archive."""
        name, _ = self._package.parts.get(self._package.contents or "", ("", ""))
        reader = _ContentsReader()
        try:
            reader.feed(prepare_page(decode(_read_part(self._archive, name))))
        except DAMAGE:
            return {}
        folder = posixpath.dirname(name)
        titles: dict[str, str] = {}
        for target, title in reader.entries:
            part = posixpath.normpath(posixpath.join(folder, unquote(target.partition("#")[0])))
            titles.setdefault(part, title)
        return titles


class _ContentsReader(HTMLParser):
    """Reader of the links of a list of contents: `<a href>` of EPUB 3, `<content src>` of EPUB 2."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[tuple[str, str]] = []
        self._target: str | None = None
        self._texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("a", "text"):
            self._texts = []
            self._target = dict(attrs).get("href")
        elif tag == "content":
            self._add(dict(attrs).get("src"))

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._add(self._target)

    def handle_data(self, data: str) -> None:
        self._texts.append(data)

    def _add(self, target: str | None) -> None:
        title = " ".join("".join(self._texts).split())
        if target and title:
            self.entries.append((target, title[:MAX_PROPERTY_CHARS]))
        self._texts = []
