"""The window of a document on its page: lines, or passages if the document has no lines.

PDF pages, transcript cues and pictures have their own view models (`search.pages.document.media`).
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from django.utils.safestring import SafeString

from search.corpus.blobs import open_blob
from search.documents.line_window import LineWindow, read_lines
from search.documents.subtitles import NoCues
from search.models import Chunk, Document, MediaKind
from search.pages.document.cited_range import CitedRange, ShownPart
from search.pages.document.highlighted_code import Code, highlight_lines, language_of_path
from search.pages.document.media import (
    CueReading,
    NoPages,
    PageReading,
    PictureReading,
    read_page,
    read_picture,
    read_transcript,
)
from search.pages.document.related import RelatedDocuments
from search.pages.document.rendered import RenderedReading, read_rendered
from search.pages.markdown.tokens import is_markdown

#: Lines or passages shown at once; the cited place starts LEAD_… after the window's start.
WINDOW_LINES, LEAD_LINES = 400, 60
WINDOW_PASSAGES, LEAD_PASSAGES = 30, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownLine:
    """A highlighted line of a document."""

    #: From 1.
    number: int
    html: SafeString
    #: Whether it was truncated.
    is_cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(ShownPart):
    """A window of a document: lines or passages, with the cited place and links to the windows around it."""

    cited: CitedRange
    window: LineWindow | None
    #: The window's lines.
    lines: tuple["ShownLine", ...] = ()
    passages: tuple[Chunk, ...]
    first: int
    last: int
    total: int
    #: The starts of the previous and of the next window; None at either end.
    earlier: int | None
    later: int | None

    @property
    def template(self) -> str:
        """Return the name of the template that shows it."""
        return "search/passages.html" if self.window is None else "search/lines.html"

    @property
    def shown_range(self) -> range:
        """Return the numbers of the lines shown, or the ordinals of the passages."""
        return range(self.first - (self.window is None), self.last + (self.window is not None))


AnyReading = Reading | RenderedReading | PageReading | CueReading | PictureReading


def read_document(related: RelatedDocuments, cited: CitedRange) -> AnyReading:
    """Return the window of the document around the cited place.

    Passages are shown instead if the bytes are missing, as while the document is being replaced, or if the
    document doesn't match its media type.
    """
    document = related.document
    try:
        if is_rendered(document) and not cited.is_source:
            return read_rendered(related, cited)
        return _READERS.get(MediaKind(document.media), _read_passages)(document, cited)
    except NoCues:
        return _read_lines(document, cited)
    except (NoPages, FileNotFoundError):
        return _read_passages(document, cited)


def is_rendered(document: Document) -> bool:
    """Return whether the document is shown rendered unless its source lines are requested."""
    return is_markdown(document.mime) and document.media == MediaKind.TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownView:
    """One of the views of a document, as a link."""

    label: str
    address: str
    is_current: bool


def document_views(document: Document, cited: CitedRange) -> tuple[ShownView, ...]:
    """Return the views of the cited place; empty if there is only one."""
    if not is_rendered(document):
        return ()
    views = (("Rendered", False), ("Source lines", True))
    return tuple(
        ShownView(
            label=label,
            address=replace(cited, is_source=is_source).address(cited.first),
            is_current=cited.is_source is is_source,
        )
        for label, is_source in views
    )


def _read_lines(document: Document, cited: CitedRange) -> Reading:
    first = max(1, cited.first or (cited.start or 1) - LEAD_LINES)
    if cited.first is None and (cited.end or 1) <= WINDOW_LINES:
        first = 1
    with open_blob(document.workspace_id, document.content_hash) as content:
        window = read_lines(content, first=first, count=WINDOW_LINES)
    last = first + len(window.lines) - 1
    return Reading(
        cited=cited,
        window=window,
        lines=_highlight_window(window, document.path),
        passages=(),
        first=first,
        last=last,
        total=window.total,
        earlier=max(1, min(first, window.total + 1) - WINDOW_LINES) if first > 1 else None,
        later=last + 1 if last < window.total and window.lines else None,
    )


def _highlight_window(window: LineWindow, path: str) -> tuple[ShownLine, ...]:
    """Return the window's lines highlighted; a comment that starts before the window isn't recognised."""
    code = Code(lines=[line.text for line in window.lines], language=language_of_path(path))
    [highlighted] = highlight_lines([code])
    return tuple(
        ShownLine(number=line.number, html=html, is_cut=line.is_cut)
        for line, html in zip(window.lines, highlighted, strict=True)
    )


def _read_passages(document: Document, cited: CitedRange) -> Reading:
    chunks = Chunk.objects.in_workspace(document.workspace_id).filter(document=document)
    first = cited.first if cited.first is not None else _ordinal(chunks, cited) - LEAD_PASSAGES
    first = max(0, first)
    passages = tuple(chunks.filter(ordinal__gte=first).order_by("ordinal")[:WINDOW_PASSAGES])
    total = chunks.count()
    last = first + len(passages)
    return Reading(
        cited=cited,
        window=None,
        passages=passages,
        first=first + 1,
        last=last,
        total=total,
        earlier=max(0, min(first, total) - WINDOW_PASSAGES) if first > 0 else None,
        later=last if last < total and passages else None,
    )


def _ordinal(chunks: Any, cited: CitedRange) -> int:
    if cited.chunk_id is None:
        return 0
    ordinals = chunks.filter(chunk_id=uuid.UUID(hex=cited.chunk_id)).values_list("ordinal", flat=True)
    return ordinals.first() or 0


_READERS: Final[dict[MediaKind, Callable[[Document, CitedRange], AnyReading]]] = {
    MediaKind.TEXT: _read_lines,
    MediaKind.CODE: _read_lines,
    MediaKind.PDF: read_page,
    MediaKind.TRANSCRIPT: read_transcript,
    MediaKind.IMAGE: read_picture,
}
