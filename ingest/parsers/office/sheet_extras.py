"""Comments, links, boxes of text, forms, charts, pictures, and page headers and footers of a sheet."""

import io
import re
import zipfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, Final

from ingest.parsers.office.docx import BESIDE_PAGE
from ingest.parsers.office.drawings import (
    CHART,
    CHECKED,
    COMPATIBILITY,
    DIAGRAM,
    DRAWING,
    UNCHECKED,
    diagram_texts,
    drawn_text,
)
from ingest.parsers.office.links import EMBEDDED, described, embedded_line
from ingest.parsers.office.package import DAMAGE, Relation, read_part, relations, safe_parser
from ingest.parsers.outline_writer import OutlineWriter, one_line

_MAIN: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_THREADED: Final = "{http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments}"
_PLACED: Final = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}"
_RELATION_ID: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships id"
_VML: Final = "{urn:schemas-microsoft-com:vml}"
_CONTROL: Final = "{urn:schemas-microsoft-com:office:excel}"
#: codes of page headers and footers (section 18.3.1.39): fonts, colours, sizes, else a value or a place
_EDGE_CODE: Final = re.compile(r'&(?:"[^"]*"|K[0-9A-Fa-f+-]{6}|\d{1,3}|([A-Z&+-]))', re.IGNORECASE)
_OPEN_BREAK: Final = re.compile(rb"<br\s*>", re.IGNORECASE)
#: Lines of one sheet.
_MOST: Final = 5_000


class SheetExtras:
    """Reader of what stands beside the cells of sheets; a part that several share is read with the first."""

    def __init__(self, archive: zipfile.ZipFile, writer: OutlineWriter) -> None:
        self._writer = writer
        self._archive = archive
        self._read: set[str] = set()

    def lines(self, sheet: str, *, has_edges: bool) -> Iterator[str]:
        """Yield a line for each, as far as the parts can be read."""
        with suppress(*DAMAGE, SyntaxError):  # of lxml
            threaded = self._threaded(sheet)
            refs = {ref for ref, _ in threaded}
            yield from (line for ref, line in self._notes(sheet) if line and ref not in refs)
            yield from (line for _, line in threaded if line)
            related = self._related(sheet)
            if has_edges or any(each.type.endswith("/hyperlink") for each in related.values()):
                yield from _beside_cells(self._archive, sheet, related)
            controls = [line for part in self._parts(sheet, "/vmlDrawing") for line in self._controls(part)]
            yield from controls
            for drawing in self._parts(sheet, "/drawing"):
                yield from self._drawn_lines(
                    drawing, {line.strip(f"{CHECKED}{UNCHECKED} ") for line in controls}
                )
            for part in self._parts(sheet, *EMBEDDED):
                self._writer.omitted("embedded_files", where=part)
                yield embedded_line(part)

    def _related(self, part: str) -> Mapping[str, Relation]:
        with suppress(KeyError):
            return relations(self._archive, part)
        return {}

    def _parts(self, part: str, *kinds: str) -> Iterator[str]:
        """Yield the related parts of these kinds that were not read yet."""
        for type_, target, is_external in self._related(part).values():
            if type_.endswith(kinds) and not is_external and target not in self._read:
                self._read.add(target)
                yield target

    def _elements(self, part: str, *tags: str) -> Iterator[Any]:
        """Yield the elements of a part with these tags; each is emptied after its turn."""
        from lxml import etree  # type: ignore[import-untyped]  # lxml has no types

        with self._archive.open(part) as file:
            # Excel doesn't close the breaks of lines in VML
            source = io.BytesIO(_OPEN_BREAK.sub(b"<br/>", file.read())) if part.endswith(".vml") else file
            for _, element in etree.iterparse(source, tag=tags, resolve_entities=False, huge_tree=False):
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

    def _controls(self, part: str) -> Iterator[str]:
        """Yield the controls of a form with their labels, those that can be checked with their states."""
        for shape in self._elements(part, f"{_VML}shape"):
            control = shape.find(f"{_CONTROL}ClientData")
            kind = "" if control is None else control.get("ObjectType") or ""
            label = one_line(
                " ".join(text for box in shape.iter(f"{_VML}textbox") for text in box.itertext())
            )
            if kind in ("Checkbox", "Radio"):
                is_checked = control.findtext(f"{_CONTROL}Checked") == "1"
                yield f"{CHECKED if is_checked else UNCHECKED} {label}"
            elif label and kind != "Note":
                yield label

    def _drawn_lines(self, drawing: str, labels: Collection[str]) -> Iterator[str]:
        """Yield what is read of a drawing, but for the `labels` of controls."""
        for element in self._elements(drawing, f"{_PLACED}cNvPr", f"{_PLACED}txBody"):
            if text := described(element.get("descr")):
                yield text
            is_repeated = any(element.iterancestors(f"{COMPATIBILITY}Fallback"))
            text = "" if is_repeated else drawn_text(element)
            if text and text not in labels:
                yield text
        for diagram in self._parts(drawing, "/diagramData"):
            for model in self._elements(diagram, f"{DIAGRAM}dataModel"):
                yield from diagram_texts(model)
        for chart in self._parts(drawing, "/chart"):
            for title in self._elements(chart, f"{CHART}title"):
                if text := one_line("".join(each.text or "" for each in title.iter(f"{DRAWING}t"))):
                    yield f"Chart: {text}"


def _by(author: str) -> str:
    return f" by {one_line(author)}" if author.strip() else ""


def _beside_cells(archive: zipfile.ZipFile, sheet: str, related: Mapping[str, Relation]) -> Iterator[str]:
    """Yield links out of the file, then page headers and footers; a sheet may be large, so it is streamed."""
    links: list[tuple[str, str]] = []
    edges: list[tuple[str, list[str]]] = []
    is_edge = False

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal is_edge
        local = name.rpartition(" ")[2]
        is_edge = local.endswith(("Header", "Footer")) and len(edges) < _MOST
        if local == "hyperlink" and len(links) < _MOST:
            links.append((attributes.get("ref", ""), attributes.get(_RELATION_ID, "")))
        elif is_edge:
            edges.append((local[-6:], []))

    def gather(text: str) -> None:
        if is_edge:
            edges[-1][1].append(text)

    parser = safe_parser()
    parser.StartElementHandler = start
    parser.CharacterDataHandler = gather
    read_part(archive, sheet, parser.Parse)
    for ref, id_ in links:
        target = one_line(related[id_].target) if id_ in related else ""
        if target and not target.startswith("#"):
            yield f"Link in {ref}: {target}"
    yield from dict.fromkeys(
        f"{name}: {text}" for name, texts in edges if (text := _edge_text("".join(texts)))
    )


def _edge_text(stated: str) -> str:
    """Return the text of a page header or footer, '' if it is no more than the number of the page."""
    text = one_line(_EDGE_CODE.sub(lambda code: "&" if code[1] == "&" else " ", stated))
    return "" if BESIDE_PAGE.fullmatch(text) else text
