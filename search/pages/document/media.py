"""View models of PDF pages, transcripts and pictures."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.utils.safestring import SafeString

from search.corpus.blobs import open_blob
from search.documents.line_window import read_lines
from search.documents.subtitles import Cue, NoCues, read_cues
from search.models import Chunk, Document
from search.pages.document.cited_range import CitedRange, ShownPart

#: Cues shown at once; the first cited one has LEAD_CUES before it.
WINDOW_CUES, LEAD_CUES = 400, 20
#: A larger transcript is shown by its passages. A cue takes some 80 bytes, an hour's talk 100,000.
MAX_TRANSCRIPT_BYTES = 5_000_000
#: Passages shown of one page, or below a picture.
MAX_PASSAGES = 100
#: Types that browsers show as a picture and never run.
SHOWN_PICTURES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})


_NO_HTML: Final = SafeString()


class NoPages(Exception):
    """No passage of the document is on a page, whatever its media type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReading(ShownPart):
    """One page of a document, as a picture and as text."""

    #: The page's number, from 1, and the number of pages.
    page: int
    total: int
    #: The cited page; None if none is cited.
    cited_page: int | None
    passages: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCue:
    """A cue prepared for the page, with its number from 1."""

    number: int
    cue: Cue
    is_cited: bool
    #: Whether it is the first cited cue.
    is_first_cited: bool
    #: Whether the speaker changes, or it is the first cue shown or cited.
    names_speaker: bool
    #: Its text with the words of the query marked; '' before that.
    html: SafeString = _NO_HTML

    @property
    def time(self) -> str:
        """Return its start time as players show it, such as 1:02:03."""
        seconds = self.cue.start_ms // 1000
        hours, minutes = seconds // 3600, seconds // 60 % 60
        return f"{hours}:{minutes:02}:{seconds % 60:02}" if hours else f"{minutes}:{seconds % 60:02}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CueReading(ShownPart):
    """A window of a transcript."""

    cues: tuple[ShownCue, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureReading(ShownPart):
    """A picture with the cited region, and the text recognised in it."""

    #: Whether browsers show its type.
    is_shown: bool
    #: Width and height in pixels; None if they are unknown.
    size: tuple[int, int] | None
    #: The cited rectangle, in pixels.
    region: Mapping[str, int] | None
    passages: tuple[Chunk, ...]


def read_page(document: Document, cited: CitedRange) -> PageReading:
    """Return a PDF's page: the one that the address gives, else the cited one, else the first.

    Raises NoPages.
    """
    chunks = _chunks(document)
    last_page = _page_of(_span_of(chunks.order_by("ordinal").last()))
    if last_page is None:
        raise NoPages(f"No passage of {document.path} lies on a page.")
    cited_page = _page_of(_cited_span(chunks, cited))
    total = max(_positive_int(document.metadata, "pages"), last_page)
    page = min(max(1, cited.first if cited.first is not None else cited_page or 1), total)
    on_page = chunks.filter(source_spans__contains=[{"kind": "page", "page": page}])
    # a heading at the foot of a page is a later span of a chunk on the next page
    shown = [
        chunk for chunk in on_page.order_by("ordinal")[:MAX_PASSAGES] if _page_of(_span_of(chunk)) == page
    ]
    return PageReading(
        template="search/paged.html",
        cited=cited,
        shown_range=range(page, page + 1),
        earlier=page - 1 if page > 1 else None,
        later=page + 1 if page < total else None,
        page=page,
        total=total,
        cited_page=cited_page,
        passages=tuple(shown),
    )


def read_transcript(document: Document, cited: CitedRange) -> CueReading:
    """Return a window of the transcript's cues. Raises NoCues, FileNotFoundError."""
    if document.size_bytes > MAX_TRANSCRIPT_BYTES:
        raise NoCues(f"{document.size_bytes} bytes are too many to show by cue.")
    with open_blob(document.workspace_id, document.content_hash) as content:
        lines = read_lines(content, first=1, count=MAX_TRANSCRIPT_BYTES).lines
    cues = read_cues([line.text for line in lines]).cues
    span = _cited_span(_chunks(document), cited)
    marked = _cues_within(cues, span)
    first = cited.first if cited.first is not None else (marked.start + 1 - LEAD_CUES if marked else 1)
    first = max(1, first)
    last = min(first + WINDOW_CUES, len(cues) + 1)
    shown = tuple(
        _present_cue(cues, number, marked, is_first=number == first) for number in range(first, last)
    )
    start, end = (first, last - 1) if shown else (len(cues) + 1, len(cues))
    return CueReading(
        template="search/cues.html",
        cited=cited,
        earlier=max(1, start - WINDOW_CUES) if start > 1 else None,
        later=end + 1 if end < len(cues) else None,
        cues=shown,
        total=len(cues),
    )


def _present_cue(cues: tuple[Cue, ...], number: int, marked: range, *, is_first: bool) -> ShownCue:
    is_first_cited = bool(marked) and number - 1 == marked.start
    is_other_speaker = number == 1 or cues[number - 2].speaker != cues[number - 1].speaker
    return ShownCue(
        number=number,
        cue=cues[number - 1],
        is_cited=number - 1 in marked,
        is_first_cited=is_first_cited,
        names_speaker=is_first or is_first_cited or is_other_speaker,
    )


def read_picture(document: Document, cited: CitedRange) -> PictureReading:
    """Return the picture with its recognised text."""
    chunks = _chunks(document)
    size = _positive_int(document.metadata, "width"), _positive_int(document.metadata, "height")
    return PictureReading(
        template="search/picture.html",
        cited=cited,
        is_shown=document.mime in SHOWN_PICTURES,
        size=size if min(size) > 0 else None,
        region=_region_of(_cited_span(chunks, cited)),
        passages=tuple(chunks.order_by("ordinal")[:MAX_PASSAGES]),
    )


def _chunks(document: Document) -> Any:
    return Chunk.objects.in_workspace(document.workspace_id).filter(document=document)


def _cited_span(chunks: Any, cited: CitedRange) -> Mapping[str, Any]:
    if cited.chunk_id is None:
        return {}
    return _span_of(chunks.filter(chunk_id=cited.chunk_id).first())


def _span_of(chunk: Chunk | None) -> Mapping[str, Any]:
    """Return the first span, which citations use; empty if there is none."""
    return chunk.source_spans[0] if chunk is not None and chunk.source_spans else {}


def _page_of(span: Mapping[str, Any]) -> int | None:
    return _positive_int(span, "page") or None


def _region_of(span: Mapping[str, Any]) -> dict[str, int] | None:
    if span.get("kind") != "region":
        return None
    return {side: _positive_int(span, side) for side in ("x", "y", "w", "h")}


def _cues_within(cues: tuple[Cue, ...], span: Mapping[str, Any]) -> range:
    """Return the indexes of the cues within a time span, which starts and ends with a cue."""
    if span.get("kind") != "time":
        return range(0)
    start, end = round(1000 * span["start_s"]), round(1000 * span["end_s"])
    within = [index for index, cue in enumerate(cues) if start <= cue.start_ms and cue.end_ms <= end]
    return range(within[0], within[-1] + 1) if within else range(0)


def _positive_int(fields: Mapping[str, Any], name: str) -> int:
    """Return the positive integer `name`, else 0: a document's metadata may hold anything."""
    value = fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
