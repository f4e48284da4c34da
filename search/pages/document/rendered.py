"""Rendered Markdown documents: one stretch at a time, with the cited lines marked."""

from dataclasses import dataclass
from typing import BinaryIO, ClassVar

from django.utils.safestring import SafeString

from search.corpus.blobs import open_blob
from search.documents.line_window import LineWindow, read_lines
from search.models import Document
from search.pages.document.cited_range import CitedRange, ShownPart
from search.pages.document.related import RelatedDocuments
from search.pages.markdown.headings import drop_title, lower_headings
from search.pages.markdown.html import add_line_ids, render_html
from search.pages.markdown.landmarks import MAX_BYTES, Landmarks, find_landmarks
from search.pages.markdown.links import Links, resolve_links
from search.pages.markdown.stretches import MAX_LINE_CHARS, Stretch, find_stretch
from search.pages.markdown.tokens import parse


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedReading(ShownPart):
    """A stretch of a Markdown document."""

    template: ClassVar[str] = "search/rendered.html"

    cited: CitedRange
    html: SafeString
    #: The lines shown, from 1, and the number of all lines.
    first: int
    last: int
    total: int
    #: Whether a line was truncated.
    is_cut: bool
    earlier: int | None
    later: int | None

    @property
    def shown_range(self) -> range:
        """Return the numbers of the lines shown."""
        return range(self.first, self.last + 1)


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
        cited=cited,
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
