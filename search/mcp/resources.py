"""MCP resources: documents by citation URIs."""

from contextlib import suppress
from dataclasses import dataclass

from kebab.errors import InvalidRequest, NotFound
from kebab.identity.caller import Access
from kebab.tenancy.current_workspace import acting_in
from search.mcp.call_context import Call
from search.mcp.tools.documents import (
    MOST_LINES,
    MOST_PASSAGES,
    LineRange,
    document_uri,
    has_lines,
    lines_of,
    list_documents,
    passages_at,
    passages_of,
    resolve_uri,
)
from search.mcp.tools.registry import READ
from search.models import Document
from search.retrieval.citation import Citation

_BETWEEN = "\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedDocument:
    """A document in a list of resources."""

    uri: str
    name: str
    title: str
    mime: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPage:
    """A page of documents, and the cursor of the next page; None at the end."""

    documents: tuple[ListedDocument, ...]
    next_cursor: str | None


def list_resources(call: Call, cursor: str | None) -> DocumentPage:
    """Return a page of the documents that the caller may read. Raises Forbidden, InvalidCursor.

    Of several workspaces none are listed: their addresses don't name the workspace.
    """
    access = call.access
    READ.check(access)
    if call.others:
        return DocumentPage(documents=(), next_cursor=None)
    with acting_in(access.workspace.pk):
        documents, next_cursor = list_documents(access, cursor)
        return DocumentPage(documents=tuple(map(_describe_document, documents)), next_cursor=next_cursor)


def read_resource(call: Call, uri: str) -> str:
    """Return the text at a URI, of the first workspace that has it.

    Raises Forbidden, NotFound, InvalidRequest, InvalidCitation.
    """
    *before, last = [access for access in call.accesses if READ.allows(access)] or [call.access]
    for access in before:
        with suppress(NotFound):
            return _read(access, uri)
    return _read(last, uri)


def _read(access: Access, uri: str) -> str:
    READ.check(access)
    with acting_in(access.workspace.pk):
        target = resolve_uri(access, uri)
        return _text(target.document, target.citation)


def _text(document: Document, place: Citation | None) -> str:
    if place is None:
        return _whole(document)
    if place.start is not None and place.end is not None and has_lines(document):
        return "\n".join(lines_of(document, LineRange(first=place.start, last=place.end)).texts)
    return _BETWEEN.join(chunk.text for chunk in passages_at(document, place))


def _whole(document: Document) -> str:
    if not has_lines(document):
        return _all_passages(document)
    found = lines_of(document, LineRange(first=1, last=MOST_LINES))
    if found.total > len(found.texts):
        part = f"{document_uri(document)}#L1-L{MOST_LINES}"
        raise InvalidRequest(f"The document has {found.total} lines; read it in parts, like {part}.")
    return "\n".join(found.texts)


def _all_passages(document: Document) -> str:
    chunks = passages_of(document)
    if len(chunks) == MOST_PASSAGES:
        raise InvalidRequest(f"The document has {MOST_PASSAGES} passages or more; read the places of hits.")
    return _BETWEEN.join(chunk.text for chunk in chunks)


def _describe_document(document: Document) -> ListedDocument:
    return ListedDocument(
        uri=document_uri(document),
        name=document.path,
        title=document.title,
        mime=document.mime,
        size_bytes=document.size_bytes,
    )
