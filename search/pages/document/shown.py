"""A reading and its passages as the page shows them, with the words of the query marked."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from django.utils.functional import Promise
from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from search.models import Chunk, Document, MediaKind
from search.pages.document.media import CueReading, PageReading, PictureReading
from search.pages.document.query_words import QueryWords
from search.pages.document.rendered import RenderedReading
from search.pages.document.rendition import RenditionReading
from search.pages.document.window import AnyReading

#: An end of a line after many words, before one that is no item.
_MARGIN = re.compile(r"(?<=[^\n|]{40})\n(?=[\w(\"'“„«])")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPassage:
    """A passage prepared for the page."""

    chunk: Chunk
    #: '' where it would repeat the document's title.
    heading: str
    #: The number of the slide or sheet it is on.
    place: "str | Promise"
    html: SafeString


def mark_reading(reading: AnyReading, words: QueryWords) -> AnyReading:
    """Return the reading with the words of the query marked in its text or lines."""
    match reading:
        case RenderedReading() | RenditionReading():
            return replace(reading, html=words.mark(reading.html))
        case CueReading():
            cues = (replace(shown, html=words.mark(escape(shown.cue.text))) for shown in reading.cues)
            return replace(reading, cues=tuple(cues))
        case PageReading() | PictureReading():
            return reading
        case _:
            lines = (replace(line, html=words.mark(line.html)) for line in reading.lines)
            return replace(reading, lines=tuple(lines))


def present_passages(document: Document, chunks: Iterable[Chunk], words: QueryWords) -> list[ShownPassage]:
    """Return view models of the passages of a reading."""
    return [
        ShownPassage(
            chunk=chunk,
            heading="" if chunk.section_label == document.title else chunk.section_label,
            place=_place(document, chunk),
            html=words.mark(escape(_shown_text(document, chunk))),
        )
        for chunk in chunks
    ]


def _shown_text(document: Document, chunk: Chunk) -> str:
    """Return the passage's text, without the title at its start, which the page has already.

    Lines of a PDF end at the page's margin; long ones are joined.
    """
    first, _, rest = chunk.text.partition("\n")
    text = rest.lstrip() if chunk.ordinal == 0 and rest and first.strip() == document.title else chunk.text
    return _MARGIN.sub(" ", text) if document.media == MediaKind.PDF else text


def _place(document: Document, chunk: Chunk) -> "str | Promise":
    span = chunk.source_spans[0] if chunk.source_spans else {}
    if document.media != MediaKind.OFFICE or span.get("kind") != "page":
        return ""
    is_slide = "presentation" in document.mime or "powerpoint" in document.mime
    return (_("Slide %(number)s") if is_slide else _("Sheet %(number)s")) % {"number": span.get("page")}
