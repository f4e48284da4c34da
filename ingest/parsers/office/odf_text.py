"""Names of OpenDocument elements, and the text of paragraphs with what is anchored in them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from ingest.parsers.office.links import comment_line, described, link_line
from ingest.parsers.outline_writer import one_line

_URN: Final = "urn:oasis:names:tc:opendocument:xmlns"
OFFICE, TEXT, TABLE, DRAW, STYLE, SHOW, META, SVG, CHART = (
    f"{{{_URN}:{name}:1.0}}"
    for name in (
        *("office", "text", "table", "drawing", "style", "presentation", "meta", "svg-compatible", "chart"),
    )
)
DC: Final = "{http://purl.org/dc/elements/1.1/}"
HREF: Final = "{http://www.w3.org/1999/xlink}href"
PARAGRAPH, HEADING, LIST, TABLES = f"{TEXT}p", f"{TEXT}h", f"{TEXT}list", f"{TABLE}table"
ANNOTATION, FRAME, BOX, OBJECT, GROUP = (
    f"{OFFICE}annotation",
    *(f"{DRAW}{name}" for name in ("frame", "text-box", "object", "g")),
)
PAGE_NUMBERS: Final = (f"{TEXT}page-number", f"{TEXT}page-count")
_SIGNS: Final = {f"{TEXT}tab": "\t", f"{TEXT}line-break": "\n"}
_LEFT_OUT: Final = frozenset(
    {*(f"{TEXT}{name}" for name in ("number", "ruby-text", "script", "tracked-changes")), f"{DRAW}image"}
)
#: white space counts as one blank (section 6.1.2)
_BLANKS: Final = re.compile("[ \t\r\n]+")
_SOFT_HYPHEN: Final = "\xad"
#: blanks that one element may stand for
_MOST_BLANKS: Final = 100


@dataclass(slots=True)
class Anchored:
    """Notes, comments, links and shapes anchored in paragraphs, which are written apart from them."""

    notes: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    #: shapes, and tables in lists
    blocks: list[Any] = field(default_factory=list)


def paragraph_text(paragraph: Any, anchored: Anchored | None = None) -> str:
    """Return the text of a paragraph, and add what is anchored in it to `anchored`."""
    pieces = _pieces(paragraph, Anchored() if anchored is None else anchored)
    return "".join(pieces).replace(_SOFT_HYPHEN, "")


def _pieces(element: Any, anchored: Anchored) -> Iterator[str]:
    yield _BLANKS.sub(" ", element.text or "")
    for child in element.iterchildren():
        tag = child.tag if isinstance(child.tag, str) else ""
        if tag == f"{TEXT}s":
            yield " " * min(_MOST_BLANKS, attribute_number(child, f"{TEXT}c", 1))
        elif tag in _SIGNS:
            yield _SIGNS[tag]
        elif tag == f"{TEXT}note":
            anchored.notes += [all_text(body) for body in child.iterchildren(f"{TEXT}note-body")]
        elif tag == ANNOTATION:
            anchored.comments.append(comment_text(child))
        elif tag.startswith(DRAW) and tag != f"{DRAW}a":
            anchored.blocks.append(child)
        elif tag and tag not in _LEFT_OUT:
            if tag == f"{TEXT}a":
                anchored.links.append(link_line("".join(child.itertext()), child.get(HREF) or ""))
            yield from _pieces(child, anchored)
        yield _BLANKS.sub(" ", child.tail or "")


def all_text(element: Any, anchored: Anchored | None = None) -> str:
    """Return the text of all paragraphs in an element on one line, without those anchored in others."""
    return one_line(" ".join(paragraph_text(each, anchored) for each in _paragraphs(element)))


def _paragraphs(element: Any) -> Iterator[Any]:
    for child in element.iterchildren():
        if child.tag in (PARAGRAPH, HEADING):
            yield child
        elif child.tag != ANNOTATION:
            yield from _paragraphs(child)


def comment_text(comment: Any, place: str = "") -> str:
    """Return a comment with its author and its place, '' without text."""
    return comment_line(one_line(comment.findtext(f"{DC}creator") or ""), all_text(comment), place)


def description(shape: Any) -> str:
    """Return the description of a shape in brackets, else its title; '' without one or for a file's name."""
    return described(shape.findtext(f"{SVG}desc")) or described(shape.findtext(f"{SVG}title"))


def attribute_number(element: Any, name: str, default: int) -> int:
    """Return a number in an attribute, `default` without one."""
    text = element.get(name) or ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else default
