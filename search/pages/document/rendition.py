"""Documents drawn from their parts: office documents, mails, web pages, wikis, notebooks and tables.

An app that reads such documents contributes the drawing (`Extension.document_drawers`).
"""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from django.utils.safestring import SafeString
from markdown_it.token import Token

from kebab.contributions import contributions
from search.corpus.blobs import read_blob
from search.models import Chunk, Document, MediaKind
from search.pages.document.cited_range import CitedRange, ShownPart
from search.pages.document.part_tokens import MalformedPart, lines_of, part_tokens, text_of
from search.pages.document.related import RelatedDocuments
from search.pages.markdown.html import add_line_ids, render_html
from search.pages.markdown.landmarks import drop_title, lower_headings
from search.pages.markdown.links import Links, resolve_links

#: Larger documents are shown by their passages or their source lines.
MAX_BYTES: Final = 20_000_000
#: Renditions kept by each process, each of some megabytes at most.
_KEPT: Final = 8
#: From this size on, in characters, the next part begins another stretch.
STRETCH_SIZE: Final = 40_000
#: Types of text that are drawn; office documents and mails all are.
_DRAWN_TEXT: Final = frozenset(
    {
        *("text/html", "application/xhtml+xml", "text/x-rst", "text/asciidoc", "text/x-wiki"),
        *("application/x-tex", "text/org", "application/x-ipynb+json", "text/csv"),
        "text/tab-separated-values",
    }
)
_DRAWN_MEDIA: Final = frozenset({MediaKind.OFFICE, MediaKind.EMAIL})
#: Characters by which a passage is found among the parts of its page.
_TELLING_CHARS: Final = 60


class NotDrawn(Exception):
    """The document can't be drawn within the limits."""


def is_drawn(document: Document) -> bool:
    """Return whether documents of this type are drawn from parts."""
    return document.media in _DRAWN_MEDIA or document.mime in _DRAWN_TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class RenditionReading(ShownPart):
    """A stretch of a document that is drawn from its parts."""

    html: SafeString
    #: The lines of the stretch, in the file or in the document's text.
    first: int
    last: int
    #: The number of this stretch, from 1, and of all.
    number: int
    count: int
    #: Whether the document goes on after the last stretch.
    is_cut: bool
    #: The first cited line; None without one.
    cited_line: int | None
    #: The headings of the whole document: level, text and line.
    headings: tuple[tuple[int, str, int], ...]


def read_rendition(related: RelatedDocuments, cited: CitedRange, chunk: Chunk | None) -> RenditionReading:
    """Return the stretch at the address's line, else at the cited place.

    Raises NotDrawn, FileNotFoundError.
    """
    rendition = _load(related.document)
    try:
        return _read(rendition, related, cited, chunk)
    except (MalformedPart, LookupError, TypeError, ValueError, AttributeError) as error:
        raise NotDrawn(f"The rendition of {related.document.path} is malformed.") from error


def _load(document: Document) -> Mapping[str, Any]:
    if document.size_bytes > MAX_BYTES:
        raise NotDrawn(f"{document.size_bytes} bytes are too many to draw.")
    text = _drawn(document.workspace_id, document.content_hash, document.path)
    rendition: Mapping[str, Any] = {} if text is None else json.loads(text)
    if not rendition.get("parts"):
        raise NotDrawn(f"There is no rendition of {document.path}.")
    return rendition


@lru_cache(maxsize=_KEPT)
def _drawn(workspace_id: uuid.UUID, content_hash: str, path: str) -> str | None:
    content = read_blob(workspace_id, content_hash)
    for draw in contributions("document_drawers"):
        rendition = draw(content, path)
        return None if rendition is None else json.dumps(rendition)
    return None


def _read(
    rendition: Mapping[str, Any], related: RelatedDocuments, cited: CitedRange, chunk: Chunk | None
) -> RenditionReading:
    parts = rendition["parts"]
    marked = _cited_lines(rendition, cited, chunk)
    stretches = list(_stretches(parts))
    wanted = cited.first if cited.first is not None else (marked.start if marked else 1)
    number = _find_stretch(stretches, wanted)
    shown = stretches[number] if stretches else []
    spans = [lines_of(part) for part in shown] or [[1, 1]]
    first, last = min(start for start, _ in spans), max(end for _, end in spans)
    tokens = drop_title(part_tokens(shown), related.document.title)
    names = lower_headings(tokens)
    resolve_links(tokens, Links.look_up(tokens, related, names, dict))
    tokens = add_line_ids(tokens, first=first, last=last, cited=marked)
    return RenditionReading(
        template="search/rendered.html",
        cited=cited,
        shown_range=range(first, last + 1),
        html=render_html(list(_with_place(tokens, chunk, marked))),
        first=first,
        last=last,
        number=number + 1,
        count=len(stretches),
        is_cut=bool(rendition["is_cut"]) and number + 1 >= len(stretches),
        earlier=lines_of(stretches[number - 1][0])[0] if number else None,
        later=lines_of(stretches[number + 1][0])[0] if number + 1 < len(stretches) else None,
        cited_line=marked.start if marked else None,
        headings=tuple(_headings(parts)),
    )


def _with_place(tokens: Sequence[Token], chunk: Chunk | None, marked: range) -> Iterator[Token]:
    """Yield the tokens, with the id that links to a passage use in the first marked one, beside its own."""
    wanted = "" if chunk is None or not marked else f"chunk-{chunk.chunk_id.hex}"
    is_due = False
    for token in tokens:
        is_code = token.type == "code_block" and token.map is not None and token.map[1] >= marked.start
        is_due = is_due or is_code or "cited" in str(token.attrGet("class") or "").split()
        if not (wanted and is_due) or token.type == "tr_open":  # a row has cells only
            yield token
            continue
        place = Token("place", "", 0, content=wanted)
        yield from (token, place) if token.nesting == 1 else (place, token)
        wanted = ""


def _stretches(parts: Sequence[Any]) -> Iterator[list[Any]]:
    stretch: list[Any] = []
    size = 0
    for part in parts:
        if stretch and size + int(part["size"]) > STRETCH_SIZE:
            yield stretch
            stretch, size = [], 0
        stretch.append(part)
        size += int(part["size"])
    if stretch:
        yield stretch


def _find_stretch(stretches: Sequence[Sequence[Any]], line: int) -> int:
    """Return the index of the stretch with the line, else of the last one that begins before it."""
    before = 0
    for index, stretch in enumerate(stretches):
        for start, end in map(lines_of, stretch):
            if start <= line <= end:
                return index
            if start <= line:
                before = index
    return before


def _headings(parts: Sequence[Any]) -> Iterator[tuple[int, str, int]]:
    for part in parts:
        if part["is"] == "heading":
            yield int(part["level"]), " ".join(text_of(part["text"]).split()), lines_of(part)[0]


def _cited_lines(rendition: Mapping[str, Any], cited: CitedRange, chunk: Chunk | None) -> range:
    """Return the cited lines; of a passage on a page, slide or sheet, those of its parts there."""
    if cited.start:
        return range(cited.start, (cited.end or cited.start) + 1)
    spans = chunk.source_spans if chunk is not None else []
    if chunk is None or not spans:
        return range(0)
    if spans[0].get("kind") == "line":
        return range(spans[0]["start"], spans[0]["end"] + 1)
    pages = [(int(page), int(line)) for page, line in rendition["pages"]]
    starts = [line for page, line in pages if page == spans[0].get("page")]
    if not starts:
        return range(0)
    end = min((line for _, line in pages if line > starts[0]), default=int(rendition["lines"]) + 1)
    return _lines_of_passage(rendition["parts"], range(starts[0], end), chunk.text) or range(starts[0], end)


def _lines_of_passage(parts: Sequence[Any], page: range, text: str) -> range:
    passage = "".join(text.split())
    found = [
        lines_of(leaf)
        for part in parts
        if lines_of(part)[0] in page
        for leaf in ((*part["header"], *part["rows"]) if part["is"] == "table" else (part,))
        if (telling := _telling(leaf)) and telling in passage
    ]
    return range(min(start for start, _ in found), max(end for _, end in found) + 1) if found else range(0)


def _telling(leaf: Any) -> str:
    """Return the beginning of a paragraph, a heading or a row, without white space."""
    text = "|".join(map(text_of, leaf["cells"])) if "cells" in leaf else text_of(leaf.get("text", ()))
    return "".join(text.split())[:_TELLING_CHARS]
