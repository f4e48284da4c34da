"""Lines about what stands behind the text of office files: targets of links, and embedded files."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from ingest.parsers.outline_writer import one_line
from ingest.parsers.types import FileType

#: types of the relations to embedded files end with these
EMBEDDED: Final = ("/package", "/oleObject")
#: a field that is a link, but not to a place (`\l`) of the document
_FIELD: Final = re.compile(r'\bHYPERLINK\s+(?:\\[a-km-z]\s+)*(?:"([^"]+)"|([^\s"\\]\S*))')


def link_line(text: str, target: str) -> str:
    """Return a link as a line; '' for one inside of the document and where the text has its target."""
    text, target = one_line(text), one_line(target)
    if not target or target.startswith("#") or target.rstrip("/").removeprefix("mailto:") in text:
        return ""
    return f"Link: {text} ({target})" if text else f"Link: {target}"


def field_links(instructions: str, shown: str) -> Iterator[str]:
    """Yield a line for each HYPERLINK field whose target isn't `shown`."""
    for found in _FIELD.finditer(instructions):
        target = found[1] or found[2]
        if target not in shown:
            yield link_line("", target)


def embedded_line(part: str) -> str:
    """Return the name of an embedded file, which isn't read, as a line."""
    return f"Embedded file: {part.rpartition('/')[2]}"


def comment_line(author: str, text: str, place: str = "") -> str:
    """Return a comment with its author and its place as a line, '' without text."""
    by, on = f" by {author}" if author else "", f" on {place}" if place else ""
    return f"Comment{by}{on}: {text}" if text else ""


def described(text: str | None) -> str:
    """Return the description of a picture or shape in brackets; '' without one, and for a file's name."""
    text = one_line(text or "")
    return f"[{text}]" if text and FILE_NAME.fullmatch(text) is None else ""


#: titles that programs write by default, and names of files
MEANINGLESS = re.compile(
    r"(?:microsoft\s+(?:office\s+)?(?:word|excel|powerpoint)\b.*"
    r"|(?:microsoft\s+)?(?:word|excel|powerpoint)(?:[\s-]+(?:document|workbook|presentation|dokument|pr[äa]sentation))?"
    r"|(?:untitled|document|presentation|book|workbook|slide|sheet|title|template|new|blank|dokument"
    r"|pr[äa]sentation|mappe|folie|titel|unbenannt|classeur|présentation|libro|documento|presentación)"
    r"[\s\d._()-]*"
    r"|\S*\.(?:docx?|dotx?|docm|pptx?|potx?|ppsx?|xlsx?|xltx?|odt|odp|ods|rtf|pdf|txt|html?))",
    re.IGNORECASE,
)
#: an alternative text that a program made of the picture's file name
FILE_NAME = re.compile(r"\S+\.(?:png|jpe?g|gif|bmp|tiff?|emf|wmf|svg)", re.IGNORECASE)
#: a sheet that nobody named: Sheet1, Tabelle2, Лист1
UNNAMED_SHEET = re.compile(r"[^\W\d_]+\s?\d{1,2}")


def sensible_title(title: str | None) -> str | None:
    """Return `title`, or None when it does not describe the document."""
    if not title or MEANINGLESS.fullmatch(title) or not any(character.isalpha() for character in title):
        return None
    return title


def sensible_sheet(name: str) -> str | None:
    """Return the name of a sheet as a title, or None when the program named it."""
    return None if UNNAMED_SHEET.fullmatch(name) else sensible_title(name)


def workbook_title(stated: str | None, sheet_names: Iterable[str], file: FileType) -> str:
    """Return the stated title of a workbook, else a given name of its first sheet, else the file's name."""
    first = next(iter(sheet_names), "")
    name = file.path.rpartition("/")[2]
    return sensible_title(stated) or sensible_sheet(first) or name.rpartition(".")[0] or name
