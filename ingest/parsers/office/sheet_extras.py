"""Comments, targets of links, titles of charts and descriptions of pictures of a sheet."""

import zipfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any, Final

from ingest.parsers.office.package import DAMAGE, read_part, related_parts, safe_parser
from ingest.parsers.office.titles import FILE_NAME
from ingest.parsers.outline_writer import one_line

_MAIN: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_THREADED: Final = "{http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments}"
_DRAWING: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_CHART: Final = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_PLACED: Final = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}"
_RELATION_ID: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships id"
#: Lines of one sheet.
_MOST: Final = 5_000


class SheetExtras:
    """Reader of what stands beside the cells of sheets; a part that several share is read with the first."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._read: set[str] = set()

    def lines(self, sheet: str) -> Iterator[str]:
        """Yield a line for each, as far as the parts can be read."""
        with suppress(*DAMAGE, SyntaxError):  # of lxml
            related = related_parts(self._archive, sheet)
            threaded = self._threaded(sheet)
            refs = {ref for ref, _ in threaded}
            yield from (line for ref, line in self._notes(sheet) if line and ref not in refs)
            yield from (line for _, line in threaded if line)
            if any(kind.endswith("/hyperlink") for kind, _, _ in related.values()):
                yield from _links(self._archive, sheet, {id_: each[1] for id_, each in related.items()})
            for drawing in self._parts(sheet, "/drawing"):
                yield from self._drawn_lines(drawing)

    def _parts(self, part: str, kind: str) -> Iterator[str]:
        """Yield the related parts of a kind that were not read yet."""
        for type_, target, is_external in related_parts(self._archive, part).values():
            if type_.endswith(kind) and not is_external and target not in self._read:
                self._read.add(target)
                yield target

    def _elements(self, part: str, *tags: str) -> Iterator[Any]:
        """Yield the elements of a part with these tags; each is emptied after its turn."""
        from lxml import etree  # type: ignore[import-untyped]  # lxml has no types

        with self._archive.open(part) as file:
            for _, element in etree.iterparse(file, tag=tags, resolve_entities=False, huge_tree=False):
                yield element
                element.clear()

    def _notes(self, sheet: str) -> list[tuple[str, str]]:
        notes = []
        for part in self._parts(sheet, "/comments"):
            authors: list[str] = []
            for element in self._elements(part, f"{_MAIN}author", f"{_MAIN}comment"):
                if element.tag == f"{_MAIN}author":
                    authors.append(element.text or "")
                    continue
                number = element.get("authorId") or ""
                author = authors[int(number)] if number.isdecimal() and int(number) < len(authors) else ""
                text = one_line("".join(each.text or "" for each in element.iter(f"{_MAIN}t")))
                text = text.removeprefix(f"{author}:").strip()
                ref = element.get("ref") or ""
                notes.append((ref, f"Note{_by(author)} on {ref}: {text}" if text else ""))
        return notes[:_MOST]

    @cached_property
    def _people(self) -> dict[str | None, str]:
        return {
            person.get("id"): person.get("displayName") or ""
            for part in self._archive.namelist()
            if part.startswith("xl/persons/") and part.endswith(".xml")
            for person in self._elements(part, f"{_THREADED}person")
        }

    def _threaded(self, sheet: str) -> list[tuple[str, str]]:
        return [
            (
                ref := comment.get("ref") or "",
                f"Comment{_by(self._people.get(comment.get('personId'), ''))} on {ref}: {text}",
            )
            for part in self._parts(sheet, "/threadedComment")
            for comment in self._elements(part, f"{_THREADED}threadedComment")
            if (text := one_line("".join(each.text or "" for each in comment.iter(f"{_THREADED}text"))))
        ][:_MOST]

    def _drawn_lines(self, drawing: str) -> Iterator[str]:
        for element in self._elements(drawing, f"{_PLACED}cNvPr"):
            described = one_line(element.get("descr") or "")
            if described and FILE_NAME.fullmatch(described) is None:
                yield f"[{described}]"
        for chart in self._parts(drawing, "/chart"):
            for title in self._elements(chart, f"{_CHART}title"):
                if text := one_line("".join(each.text or "" for each in title.iter(f"{_DRAWING}t"))):
                    yield f"Chart: {text}"


def _by(author: str) -> str:
    return f" by {one_line(author)}" if author.strip() else ""


def _links(archive: zipfile.ZipFile, sheet: str, targets: dict[str, str]) -> Iterator[str]:
    """Yield the targets outside of the file; the sheet is streamed, as it may be large."""
    links: list[tuple[str, str]] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if name.endswith(" hyperlink") and len(links) < _MOST:
            links.append((attributes.get("ref", ""), attributes.get(_RELATION_ID, "")))

    parser = safe_parser()
    parser.StartElementHandler = start
    read_part(archive, sheet, parser.Parse)
    for ref, id_ in links:
        target = one_line(targets.get(id_, ""))
        if target and not target.startswith("#"):
            yield f"Link in {ref}: {target}"
