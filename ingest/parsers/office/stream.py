"""Streaming reader of the text in the parts of an office file, with only the standard library."""

import re
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ingest.parsers.office.package import DAMAGE, Relation, read_part, relations, safe_parser
from ingest.parsers.outline_writer import MAX_CHARS, OutlineWriter, too_much_text
from ingest.parsers.types import FileType

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
