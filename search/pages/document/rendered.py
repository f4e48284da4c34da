"""A Markdown document as it is meant to be read: a stretch of it, rendered, with the cited lines marked."""

from dataclasses import dataclass
from typing import BinaryIO, ClassVar

from django.utils.safestring import SafeString

from search.corpus.blobs import open_blob
from search.documents.line_window import LineWindow, read_lines
from search.models import Document
from search.pages.document.cited_range import Cited, ShownPart
from search.pages.document.related import Neighbours
from search.pages.markdown.headings import lower_headings
from search.pages.markdown.html import written
from search.pages.markdown.landmarks import MAX_BYTES, Landmarks, landmarks_of
from search.pages.markdown.line_ids import mark_places
from search.pages.markdown.links import Links, resolve
from search.pages.markdown.stretches import MAX_LINE_CHARS, Stretch, stretch_at
from search.pages.markdown.tokens import parse


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedReading(ShownPart):
    """A stretch of a Markdown document."""

    template: ClassVar[str] = "search/rendered.html"

    cited: Cited
    html: SafeString
    #: The lines that are shown, from 1, and how many there are.
    first: int
    last: int
    total: int
    #: Whether a line is longer than what is shown of it.
    is_cut: bool
    earlier: int | None
    later: int | None

    @property
    def shown(self) -> range:
        """Return the numbers of the lines that are shown."""
        return range(self.first, self.last + 1)


def read_rendered(neighbours: Neighbours, cited: Cited) -> RenderedReading:
    """Return the stretch that the address names, else that of the cited lines. Raises FileNotFoundError."""
    document = neighbours.document
    with open_blob(document.workspace_id, document.content_hash) as content:
        stretch = stretch_at(content, cited.first or cited.start or 1)
        content.seek(0)
        count = stretch.last - stretch.first + 1
        window = read_lines(content, first=stretch.first, count=count, max_line_chars=MAX_LINE_CHARS)
        landmarks = _landmarks(content, document, is_all=count == window.total)
    return RenderedReading(
        cited=cited,
        html=_rendered(stretch, window, landmarks, neighbours, cited),
        first=stretch.first,
        last=stretch.last,
        total=window.total,
        is_cut=any(line.is_cut for line in window.lines),
        earlier=stretch.earlier,
        later=stretch.last + 1 if stretch.last < window.total else None,
    )


def _landmarks(content: BinaryIO, document: Document, *, is_all: bool) -> Landmarks:
    """Look for what lies outside of the stretch, if anything does."""
    if is_all or document.size_bytes > MAX_BYTES:
        return Landmarks()
    content.seek(0)
    return landmarks_of(content)


def _rendered(
    stretch: Stretch, window: LineWindow, landmarks: Landmarks, neighbours: Neighbours, cited: Cited
) -> SafeString:
    tokens = parse(
        [line.text for line in window.lines],
        first=stretch.first,
        opening=stretch.opening,
        references=landmarks.references,
        is_mdx=neighbours.document.mime == "text/mdx",
    )
    headings = lower_headings(tokens)

    def elsewhere() -> dict[str, str]:
        lines = landmarks.lines_by_name()
        return {name: f"?{cited.address(line)}#L{line}" for name, line in lines.items()}

    resolve(tokens, Links.of(tokens, neighbours, headings, elsewhere))
    marked = range(cited.start, (cited.end or cited.start) + 1) if cited.start else range(0)
    return written(mark_places(tokens, first=stretch.first, last=stretch.last, cited=marked))
