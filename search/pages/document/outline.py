"""A document's outline: the headings of its chunks, each with a link."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Min

from search.models import Chunk, Document, MediaKind
from search.pages.document.cited_range import CitedRange

#: The most sections listed.
MAX_SECTIONS = 300
#: Deeper headings are not indented further.
DEEPEST = 4
#: Level, text and line.
Heading = tuple[int, str, int]
_BY_LINE = frozenset({MediaKind.TEXT, MediaKind.CODE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading of the outline."""

    heading: str
    #: The number of headings above it in the hierarchy.
    depth: int
    #: The query string of the part that shows it; '' if this page does.
    query: str
    #: The id of its first element.
    element: str
    #: Whether it is the last section that starts at or before the shown or cited place.
    is_current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _SectionStart:
    """The start of a section: its line, page or passage ordinal, and the id of the element there."""

    path: Sequence[str]
    at: int
    element: str
    #: Tells equal headings apart.
    number: int = 0


def build_outline(
    document: Document,
    cited: CitedRange,
    shown: range,
    *,
    headings: Sequence[Heading] | None = None,
    cited_line: int | None = None,
) -> tuple[Section, ...]:
    """Return the sections in order; `shown` are the lines, pages or ordinals that the page shows.

    `headings` are those of a document that is drawn, else they are those of its chunks; `cited_line` is where
    its cited passage begins. The outline of a document with fewer than two headings is empty.
    """
    found = list(_section_starts(document)) if headings is None else list(_nest(headings))
    starts = list(_add_headings_above(_drop_title(found)))[:MAX_SECTIONS]
    if len(starts) < 2 or not shown:
        return ()
    position = next((at for at in (cited.first, cited.start, cited_line) if at is not None), shown.start)
    current = max((index for index, each in enumerate(starts) if each.at <= position), default=None)
    return tuple(
        Section(
            heading=each.path[-1],
            depth=min(len(each.path), DEEPEST) - 1,
            query="" if each.at in shown else cited.address(each.at),
            element=each.element,
            is_current=index == current,
        )
        for index, each in enumerate(starts)
    )


def _nest(headings: Sequence[Heading]) -> Iterator[_SectionStart]:
    """Yield the headings, each with those above it in the hierarchy."""
    above: list[tuple[int, str]] = []
    for number, (level, text, line) in enumerate(headings[:MAX_SECTIONS]):
        while above and above[-1][0] >= level:
            above.pop()
        above.append((level, text))
        path = [heading for _, heading in above]
        yield _SectionStart(path=path, at=line, element=f"L{line}", number=number)


def _section_starts(document: Document) -> Iterator[_SectionStart]:
    chunks = Chunk.objects.in_workspace(document.workspace_id).filter(document=document)
    below = chunks.exclude(heading_path=[]).values("heading_path").annotate(begins=Min("ordinal"))
    found = list(below.order_by("begins").values_list("begins", "heading_path")[:MAX_SECTIONS])
    rows = chunks.filter(ordinal__in=[ordinal for ordinal, _ in found]).order_by("-chunk_id")
    chunk_at = {chunk.ordinal: chunk for chunk in rows.only("ordinal", "chunk_id", "source_spans")}
    get_position = _POSITIONS.get(
        MediaKind(document.media), _line_position if document.media in _BY_LINE else _passage_position
    )
    for ordinal, path in found:
        position = get_position(chunk_at[ordinal]) if ordinal in chunk_at else None
        if position is not None:
            yield _SectionStart(path=path, at=position[0], element=position[1])


def _line_position(chunk: Chunk) -> tuple[int, str] | None:
    at = _span_value(chunk, "line", "start")
    return None if at is None else (at, f"L{at}")


def _page_position(chunk: Chunk) -> tuple[int, str] | None:
    at = _span_value(chunk, "page", "page")
    return None if at is None else (at, f"chunk-{chunk.chunk_id.hex}")


def _passage_position(chunk: Chunk) -> tuple[int, str] | None:
    return chunk.ordinal, f"chunk-{chunk.chunk_id.hex}"


_POSITIONS: dict[MediaKind, Callable[[Chunk], tuple[int, str] | None]] = {MediaKind.PDF: _page_position}


def _span_value(chunk: Chunk, kind: str, name: str) -> int | None:
    span: Any = chunk.source_spans[0] if chunk.source_spans else {}
    return int(span[name]) if span.get("kind") == kind and name in span else None


def _drop_title(starts: Sequence[_SectionStart]) -> list[_SectionStart]:
    """Drop the heading that all others are below: it is the document's title."""
    roots = {each.path[0] for each in starts}
    if len(roots) != 1:
        return list(starts)
    return [replace(each, path=each.path[1:]) for each in starts if len(each.path) > 1]


def _add_headings_above(starts: Sequence[_SectionStart]) -> Iterator[_SectionStart]:
    """Yield the sections, each preceded by the headings above it that have no text of their own."""
    listed: set[tuple[str, ...]] = set()
    for each in starts:
        path = tuple(each.path)
        for depth in range(1, len(path) + 1):
            if path[:depth] not in listed or (each.number and depth == len(path)):
                listed.add(path[:depth])
                yield replace(each, path=path[:depth])
