"""A document's outline: the headings that its chunks lie below, each with the way to it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Min

from search.models import Chunk, Document, MediaKind
from search.pages.document.cited_range import Cited

#: More sections aren't listed.
MAX_SECTIONS = 300
#: Those further down are not indented further.
DEEPEST = 4
_BY_LINE = frozenset({MediaKind.TEXT, MediaKind.CODE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading of the outline."""

    heading: str
    #: How many headings it lies below.
    depth: int
    #: The query string of where it is shown; '' when that is this page already.
    query: str
    #: The id of the element that it begins with.
    element: str
    #: Whether the shown or cited place lies in it, and in none further down.
    is_current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """Where a section begins: its line, its page, or the ordinal of its passage, and the element there."""

    path: Sequence[str]
    at: int
    element: str


def outline_of(document: Document, cited: Cited, shown: range) -> tuple[Section, ...]:
    """Return the sections in order; `shown` are the lines, pages or ordinals that the page shows.

    A document with one heading, or with none, has no outline.
    """
    begun = list(_with_headings_above(_without_title(list(_begun(document)))))[:MAX_SECTIONS]
    if len(begun) < 2 or not shown:
        return ()
    position = next((at for at in (cited.first, cited.start) if at is not None), shown.start)
    current = max((index for index, each in enumerate(begun) if each.at <= position), default=None)
    return tuple(
        Section(
            heading=each.path[-1],
            depth=min(len(each.path), DEEPEST) - 1,
            query="" if each.at in shown else cited.address(each.at),
            element=each.element,
            is_current=index == current,
        )
        for index, each in enumerate(begun)
    )


def _begun(document: Document) -> Iterator[_Begun]:
    chunks = Chunk.objects.in_workspace(document.workspace_id).filter(document=document)
    below = chunks.exclude(heading_path=[]).values("heading_path").annotate(begins=Min("ordinal"))
    found = list(below.order_by("begins").values_list("begins", "heading_path")[:MAX_SECTIONS])
    rows = chunks.filter(ordinal__in=[ordinal for ordinal, _ in found]).order_by("-chunk_id")
    chunk_at = {chunk.ordinal: chunk for chunk in rows.only("ordinal", "chunk_id", "source_spans")}
    place = _PLACES.get(MediaKind(document.media), _line if document.media in _BY_LINE else _passage)
    for ordinal, path in found:
        placed = place(chunk_at[ordinal]) if ordinal in chunk_at else None
        if placed is not None:
            yield _Begun(path=path, at=placed[0], element=placed[1])


def _line(chunk: Chunk) -> tuple[int, str] | None:
    at = _of_span(chunk, "line", "start")
    return None if at is None else (at, f"L{at}")


def _page(chunk: Chunk) -> tuple[int, str] | None:
    at = _of_span(chunk, "page", "page")
    return None if at is None else (at, f"chunk-{chunk.chunk_id.hex}")


def _passage(chunk: Chunk) -> tuple[int, str] | None:
    return chunk.ordinal, f"chunk-{chunk.chunk_id.hex}"


_PLACES: dict[MediaKind, Callable[[Chunk], tuple[int, str] | None]] = {MediaKind.PDF: _page}


def _of_span(chunk: Chunk, kind: str, name: str) -> int | None:
    span: Any = chunk.source_spans[0] if chunk.source_spans else {}
    return int(span[name]) if span.get("kind") == kind and name in span else None


def _without_title(begun: Sequence[_Begun]) -> list[_Begun]:
    """Leave out the one heading that all others lie below: it is the document's title."""
    roots = {each.path[0] for each in begun}
    if len(roots) != 1:
        return list(begun)
    return [replace(each, path=each.path[1:]) for each in begun if len(each.path) > 1]


def _with_headings_above(begun: Sequence[_Begun]) -> Iterator[_Begun]:
    """Return the sections, before each the ones above it that have no text of their own."""
    listed: set[tuple[str, ...]] = set()
    for each in begun:
        path = tuple(each.path)
        for depth in range(1, len(path) + 1):
            if path[:depth] not in listed:
                listed.add(path[:depth])
                yield replace(each, path=path[:depth])
