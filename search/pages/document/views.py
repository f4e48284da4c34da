"""Pages of a document: its text, its chunks, and its pictures."""

import logging
import re
import uuid
from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

from django.http import HttpRequest, HttpResponse
from django.utils.html import escape
from django.utils.translation import gettext as _

from kebab.database.querysets import first_or_not_found
from kebab.errors import NotFound
from kebab.identity.caller import Access
from kebab.identity.models import Role, Workspace
from kebab.pages.page import WorkspacePage, list_page
from search.access.restrictions import visible_documents
from search.access.scope import resolve_scope
from search.api.querysets import chunks_of
from search.corpus.blobs import open_blob, read_blob
from search.documents.addresses import place_path
from search.documents.pdf_render.page import PageNotDrawn, page_png
from search.engine.outdated_pages import find_outdated
from search.models import Chunk, Document, MediaKind
from search.pages.ask.presentation import load_passage
from search.pages.bookmarks import bookmark_address, bookmarked
from search.pages.document.cited_range import CitedRange, place_label, source_link
from search.pages.document.media import SHOWN_PICTURES, CueReading, PageReading, PictureReading
from search.pages.document.outline import Section, build_outline
from search.pages.document.query_words import QueryWords
from search.pages.document.related import RelatedDocuments
from search.pages.document.rendition import RenditionReading
from search.pages.document.window import AnyReading, RenderedReading, document_views, read_document
from search.pages.file_kind import file_kind
from search.pages.search.form import SearchInput
from search.pages.search.start import remember_opened
from search.retrieval.citation import Citation
from search.retrieval.outdated import STATUS, VERIFIED
from search.retrieval.query.filters import SearchFilters
from search.retrieval.types import PageLink

#: The most characters shown of a chunk; chunks within an embedder's limit are shorter.
MAX_CHARS = 6_000
#: What would end the words of a Markdown link.
_MARKDOWN_ESCAPES = str.maketrans({"[": "\\[", "]": "\\]", "\n": " "})


def chunks_from_cited(chunks: Any, cited: CitedRange) -> Any:
    """Return a document's chunks from the cited one on; all of them if none is cited."""
    if cited.chunk_id is None:
        return chunks
    ordinals = chunks.filter(chunk_id=uuid.UUID(hex=cited.chunk_id)).values_list("ordinal", flat=True)
    return chunks.filter(ordinal__gte=ordinals.first() or 0)


def present_chunks(workspace: Workspace, chunks: Iterable[Chunk], cited: CitedRange) -> list[dict[str, Any]]:
    """Return view models of the chunks, in their order, numbered from 1. Their documents must be loaded."""
    return [
        {
            "chunk": chunk,
            "number": chunk.ordinal + 1,
            "uri": chunk.citation.uri,
            "address": place_path(workspace, chunk.document.doc_id, chunk.citation, chunk.chunk_id.hex),
            "text": chunk.text[:MAX_CHARS],
            "is_cut": len(chunk.text) > MAX_CHARS,
            "is_cited": chunk.chunk_id.hex == cited.chunk_id,
        }
        for chunk in chunks
    ]


def cited_chunk(document: Document, cited: CitedRange) -> Chunk | None:
    """Return the chunk of the document that the address cites; None if there is none."""
    if cited.chunk_id is None:
        return None
    chunks = Chunk.objects.in_workspace(document.workspace_id).select_related("document")
    return chunks.filter(document=document, chunk_id=cited.chunk_id).first()


def cited_uri(document: Document, cited: CitedRange, chunk: Chunk | None) -> str:
    """Return the citation of the cited place; '' if there is none."""
    if chunk is None and cited.start and document.media in (MediaKind.TEXT, MediaKind.CODE):
        return Citation(kind="line", path=document.path, start=cited.start, end=cited.end).uri
    return "" if chunk is None else chunk.citation.uri


def cited_fragment(cited: CitedRange, chunk: Chunk | None) -> str:
    """Return the fragment of the page's address that leads to the cited place; '' if there is none."""
    if cited.start:
        return f"#L{cited.start}"
    return "" if chunk is None else f"#chunk-{chunk.chunk_id.hex}"


def markdown_citation(document: Document, citation: str, link: str) -> str:
    """Return a Markdown link to the cited place."""
    place = citation.removeprefix(document.path)
    words = f"{document.title or document.path} {place}".strip().translate(_MARKDOWN_ESCAPES)
    return f"[{words}]({link})"


#: An end of a line after many words, before one that is no item.
_MARGIN = re.compile(r"(?<=[^\n|]{40})\n(?=[\w(\"'“„«])")


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
            lines = [{**line, "html": words.mark(line["html"])} for line in reading.lines]
            return replace(reading, lines=lines)


def present_passages(document: Document, chunks: Iterable[Chunk], words: QueryWords) -> list[dict[str, Any]]:
    """Return view models of the passages of a reading; a heading is '' where it would repeat the title."""
    return [
        {
            "chunk": chunk,
            "heading": "" if chunk.section_label == document.title else chunk.section_label,
            "place": _place(document, chunk),
            "html": words.mark(escape(_shown_text(document, chunk))),
        }
        for chunk in chunks
    ]


def _shown_text(document: Document, chunk: Chunk) -> str:
    """Return the passage's text, without the title at its start, which the page has already.

    Lines of a PDF end at the page's margin; long ones are joined.
    """
    first, _, rest = chunk.text.partition("\n")
    text = rest.lstrip() if chunk.ordinal == 0 and rest and first.strip() == document.title else chunk.text
    return _MARGIN.sub(" ", text) if document.media == MediaKind.PDF else text


def _place(document: Document, chunk: Chunk) -> str:
    """Return the number of the slide or sheet that a passage is on."""
    span = chunk.source_spans[0] if chunk.source_spans else {}
    if document.media != MediaKind.OFFICE or span.get("kind") != "page":
        return ""
    is_slide = "presentation" in document.mime or "powerpoint" in document.mime
    return (_("Slide %(number)s") if is_slide else _("Sheet %(number)s")) % {"number": span.get("page")}


logger = logging.getLogger(__name__)


@WorkspacePage.of(tab="search")
def document_page(page: WorkspacePage, doc_id: uuid.UUID) -> HttpResponse:
    """Return a document's text with the cited lines marked. Raises NotFound."""
    request, access = page.request, page.access
    document = _document(access, doc_id)
    readable = visible_documents(access.workspace, access.reader)
    related = RelatedDocuments(workspace=access.workspace, document=document, readable=readable)
    cited = CitedRange.from_parameters(request.GET)
    chunk = cited_chunk(document, cited)
    search_input, reading = SearchInput.from_parameters(request.GET), read_document(related, cited, chunk)
    words = QueryWords(search_input.text, document.lang)
    citation, link = cited_uri(document, cited, chunk), _link(request, cited, chunk)
    is_bookmarked = bool(bookmarked(access, [doc_id.hex]))
    context = {
        "asked": search_input,
        "document": document,
        "title": _title(document),
        "kind": file_kind(document.path, "code" if document.media == MediaKind.CODE else None),
        "folders": document.path.split("/")[:-1],
        "reading": mark_reading(reading, words),
        "passages": present_passages(document, getattr(reading, "passages", ()), words),
        "views": document_views(document, cited),
        "outline": _outline(document, cited, reading),
        "chunk": chunk,
        "citation": citation,
        "link": link,
        "markdown": markdown_citation(document, citation, link),
        "fragment": cited_fragment(cited, chunk),
        "is_editor": access.role is not None and access.role.level >= Role.EDITOR.level,
        "mark": document.overrides.get(STATUS),
        "is_verified": document.metadata.get(STATUS) == VERIFIED,
        "is_bookmarked": is_bookmarked,
        "bookmark": bookmark_address(access.workspace, doc_id.hex, is_set=is_bookmarked),
        "place": place_label(document, cited, chunk),
        "source_link": source_link(document, cited),
        "versions": related.versions(),
        "unread": [each.translate(_) for each in document.omission_views if not each.is_on_purpose],
        "left_out": [each.translate(_) for each in document.omission_views if each.is_on_purpose],
        "kept": parse_qsl(search_input.address),
        "outdated": _outdated(access, document),
    }
    response = page.render(request, "search/document.html", **context)
    return remember_opened(request, response, doc_id)


def _outdated(access: Access, document: Document) -> dict[str, PageLink | None] | None:
    """Return what replaces the document if it is outdated, else None."""
    scope = resolve_scope(access.workspace, SearchFilters(), access.reader)
    found = find_outdated(access.workspace, scope, [document.doc_id.hex])
    return {"by": found[document.doc_id.hex]} if found else None


def _outline(document: Document, cited: CitedRange, reading: AnyReading) -> tuple[Section, ...]:
    options: dict[str, Any] = {}
    if isinstance(reading, RenditionReading):
        options = {"headings": reading.headings, "cited_line": reading.cited_line}
    return build_outline(document, cited, reading.shown_range, **options)


def _link(request: HttpRequest, cited: CitedRange, chunk: Chunk | None) -> str:
    """Return the full address of the cited place, without the search that led to it."""
    query = cited.address(cited.first)
    address = request.build_absolute_uri(request.path)
    return f"{address}{'?' if query else ''}{query}{cited_fragment(cited, chunk)}"


@WorkspacePage.of(tab="search")
def document_chunks_page(page: WorkspacePage, doc_id: uuid.UUID) -> HttpResponse:
    """Return the indexed text of a document: its chunks in order, from the cited one on; for htmx a preview.

    Raises NotFound, InvalidCursor.
    """
    access, cited = page.access, CitedRange.from_parameters(page.request.GET)
    document = _document(access, doc_id)
    if page.request.htmx:
        return _preview(page, document, cited)
    chunks = chunks_of(access.workspace, access.reader, doc_id)
    rows = chunks_from_cited(chunks, cited)
    shown = list_page(page, page.request, rows, ordering=("ordinal", "chunk_id"))
    context = {
        "document": document,
        "total": chunks.count(),
        "list": shown,
        "chunks": present_chunks(access.workspace, shown.rows, cited),
        "begins_later": bool(shown.rows) and shown.rows[0].ordinal > 0,
    }
    return page.render(page.request, "search/chunks.html", **context)


def _preview(page: WorkspacePage, document: Document, cited: CitedRange) -> HttpResponse:
    """Return the cited passage and its neighbours with the words of the query marked. Raises NotFound."""
    chunk = cited_chunk(document, cited)
    if chunk is None:
        raise NotFound
    words = QueryWords(SearchInput.from_parameters(page.request.GET).text, document.lang)
    passage = load_passage(page.access, chunk.chunk_id.hex)
    around = {place: [words.mark(each) for each in passage[place]] for place in ("before", "after")}
    context = {
        "title": _title(document),
        "citation": chunk.citation.uri,
        "address": place_path(page.access.workspace, document.doc_id, chunk.citation, chunk.chunk_id.hex),
        "passage": passage | around | {"here": words.mark(passage["here"])},
    }
    return page.render(page.request, "search/preview.html", **context)


@WorkspacePage.of()
def document_sheet(view: WorkspacePage, doc_id: uuid.UUID, page: int) -> HttpResponse:
    """Return a page of a PDF as a picture. Raises NotFound if there is none or it can't be rendered."""
    document = _document(view.access, doc_id)
    if document.media != MediaKind.PDF:
        raise NotFound
    try:
        with open_blob(document.workspace_id, document.content_hash) as content:
            return HttpResponse(page_png(content, page), content_type="image/png")
    except FileNotFoundError as error:
        raise NotFound from error
    except PageNotDrawn as error:
        logger.warning("document %s: %s", doc_id, error)
        raise NotFound from error


@WorkspacePage.of()
def document_picture(page: WorkspacePage, doc_id: uuid.UUID) -> HttpResponse:
    """Return the original of a picture, if its type is one that browsers only show. Raises NotFound."""
    document = _document(page.access, doc_id)
    if document.media != MediaKind.IMAGE or document.mime not in SHOWN_PICTURES:
        raise NotFound
    try:
        content = read_blob(document.workspace_id, document.content_hash)
        return HttpResponse(content, content_type=document.mime)
    except FileNotFoundError as error:
        raise NotFound from error


def _title(document: Document) -> str:
    """Return the document's title, or the name of its file."""
    return document.path.rpartition("/")[2] if document.title in ("", document.path) else document.title


def _document(access: Access, doc_id: uuid.UUID) -> Document:
    """Return the document with its source and version. Raises NotFound."""
    documents = visible_documents(access.workspace, access.reader).filter(doc_id=doc_id)
    return first_or_not_found(documents.select_related("source", "version"))
