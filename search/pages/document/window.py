"""The window of a document on its page: lines, or passages if the document has no lines.

PDF pages, transcript cues and pictures have their own view models (`search.pages.document.media`).
"""

import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Final

from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

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
from search.pages.document.rendition import NotDrawn, RenditionReading, is_drawn, read_rendition
from search.pages.markdown.html import add_line_ids, render_html
from search.pages.markdown.landmarks import (
    MAX_BYTES,
    MAX_LINE_CHARS,
    Landmarks,
    Stretch,
    drop_title,
    find_landmarks,
    find_stretch,
    lower_headings,
)
from search.pages.markdown.links import Links, resolve_links
from search.pages.markdown.tokens import is_markdown, parse


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedReading(ShownPart):
    """A stretch of a Markdown document."""

    html: SafeString
    #: The lines shown, from 1, and the number of all lines.
    first: int
    last: int
    total: int
    #: Whether a line was truncated.
    is_cut: bool


def read_rendered(related: RelatedDocuments, cited: CitedRange) -> RenderedReading:
    """Return the stretch at the address's line, else at the cited lines. Raises FileNotFoundError."""
    document = related.document
    with open_blob(document.workspace_id, document.content_hash) as content:
        stretch = find_stretch(content, cited.first or cited.start or 1)
        content.seek(0)
        count = stretch.last - stretch.first + 1
        window = read_lines(content, first=stretch.first, count=count, max_line_chars=MAX_LINE_CHARS)
        landmarks = _find_landmarks(content, document, is_all=count == window.total)
    return RenderedReading(
        template="search/rendered.html",
        cited=cited,
        shown_range=range(stretch.first, stretch.last + 1),
        html=_render_stretch(stretch, window, landmarks, related, cited),
        first=stretch.first,
        last=stretch.last,
        total=window.total,
        is_cut=any(line.is_cut for line in window.lines),
        earlier=stretch.earlier,
        later=stretch.last + 1 if stretch.last < window.total else None,
    )


def _find_landmarks(content: BinaryIO, document: Document, *, is_all: bool) -> Landmarks:
    """Find headings and references outside of the stretch; none if the stretch is the whole document."""
    if is_all or document.size_bytes > MAX_BYTES:
        return Landmarks()
    content.seek(0)
    return find_landmarks(content)


def _render_stretch(
    stretch: Stretch, window: LineWindow, landmarks: Landmarks, related: RelatedDocuments, cited: CitedRange
) -> SafeString:
    tokens = parse(
        [line.text for line in window.lines],
        first=stretch.first,
        opening=stretch.opening,
        references=landmarks.references,
        is_mdx=related.document.mime == "text/mdx",
    )
    tokens = drop_title(tokens, related.document.title)
    headings = lower_headings(tokens)

    def other_headings() -> dict[str, str]:
        lines = landmarks.lines_by_name()
        return {name: f"?{cited.address(line)}#L{line}" for name, line in lines.items()}

    resolve_links(tokens, Links.look_up(tokens, related, headings, other_headings))
    marked = range(cited.start, (cited.end or cited.start) + 1) if cited.start else range(0)
    return render_html(add_line_ids(tokens, first=stretch.first, last=stretch.last, cited=marked))


logger = logging.getLogger(__name__)

#: Lines or passages shown at once; the cited place starts LEAD_… after the window's start.
WINDOW_LINES, LEAD_LINES = 400, 60
WINDOW_PASSAGES, LEAD_PASSAGES = 30, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(ShownPart):
    """A window of a document: lines or passages, with the cited place and links to the windows around it."""

    window: LineWindow | None
    #: The window's lines.
    lines: Sequence[Mapping[str, Any]] = ()
    passages: tuple[Chunk, ...]
    first: int
    last: int
    total: int


AnyReading = Reading | RenderedReading | RenditionReading | PageReading | CueReading | PictureReading
#: Types of mails that are text.
_MAIL_TEXT: Final = frozenset({"message/rfc822", "application/mbox"})


def read_document(related: RelatedDocuments, cited: CitedRange, chunk: Chunk | None) -> AnyReading:
    """Return the window of the document around the cited place; `chunk` is the cited one.

    Passages are shown instead if the bytes are missing, as while the document is being replaced, or if the
    document doesn't match its media type.
    """
    document = related.document
    try:
        if not cited.is_source or not has_source(document):
            if is_markdown(document.mime) and document.media == MediaKind.TEXT:
                return read_rendered(related, cited)
            if is_drawn(document):
                return read_rendition(related, cited, chunk)
        return _reader(document, cited)(document, cited)
    except NotDrawn as reason:
        logger.info("%s", reason)
        return _reader_without_rendition(related, cited)
    except NoCues:
        return _read_lines(document, cited)
    except (NoPages, FileNotFoundError):
        return _read_passages(document, cited)


def _reader(document: Document, cited: CitedRange) -> "Callable[[Document, CitedRange], AnyReading]":
    if cited.is_source and has_source(document):
        return _read_lines
    return _READERS.get(MediaKind(document.media), _read_passages)


def _reader_without_rendition(related: RelatedDocuments, cited: CitedRange) -> AnyReading:
    try:
        return _reader(related.document, cited)(related.document, cited)
    except FileNotFoundError:
        return _read_passages(related.document, cited)


def has_source(document: Document) -> bool:
    """Return whether the document is text, whose lines can be shown."""
    return document.media in (MediaKind.TEXT, MediaKind.CODE) or document.mime in _MAIL_TEXT


def document_views(document: Document, cited: CitedRange) -> list[dict[str, Any]]:
    """Return the views of the cited place, as links; none if there is only one."""
    is_rendered = is_markdown(document.mime) or is_drawn(document)
    if not (is_rendered and has_source(document)):
        return []
    return [
        {
            "label": label,
            "address": replace(cited, is_source=is_source).address(cited.first),
            "is_current": cited.is_source is is_source,
        }
        for label, is_source in ((_("Document"), False), (_("Source"), True))
    ]


def _read_lines(document: Document, cited: CitedRange) -> Reading:
    first = max(1, cited.first or (cited.start or 1) - LEAD_LINES)
    if cited.first is None and (cited.end or 1) <= WINDOW_LINES:
        first = 1
    with open_blob(document.workspace_id, document.content_hash) as content:
        window = read_lines(content, first=first, count=WINDOW_LINES)
    last = first + len(window.lines) - 1
    return Reading(
        template="search/lines.html",
        cited=cited,
        shown_range=range(first, last + 1),
        window=window,
        lines=_highlight_window(window, document.path),
        passages=(),
        first=first,
        last=last,
        total=window.total,
        earlier=max(1, min(first, window.total + 1) - WINDOW_LINES) if first > 1 else None,
        later=last + 1 if last < window.total and window.lines else None,
    )


def _highlight_window(window: LineWindow, path: str) -> list[dict[str, Any]]:
    """Return the window's lines highlighted; a comment that starts before the window isn't recognised."""
    code = Code(lines=[line.text for line in window.lines], language=language_of_path(path))
    [highlighted] = highlight_lines([code])
    return [
        {"number": line.number, "html": html, "is_cut": line.is_cut}
        for line, html in zip(window.lines, highlighted, strict=True)
    ]


def _read_passages(document: Document, cited: CitedRange) -> Reading:
    chunks = Chunk.objects.in_workspace(document.workspace_id).filter(document=document)
    first = cited.first if cited.first is not None else _ordinal(chunks, cited) - LEAD_PASSAGES
    first = max(0, first)
    passages = tuple(chunks.filter(ordinal__gte=first).order_by("ordinal")[:WINDOW_PASSAGES])
    total = chunks.count()
    last = first + len(passages)
    return Reading(
        template="search/passages.html",
        cited=cited,
        shown_range=range(first, last),
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
