"""The chunks of a document, as the page of what the index saw shows them."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from kebab.people.models import Workspace
from search.models import Chunk, Document, MediaKind
from search.pages.document.cited_range import Cited
from search.retrieval.citation import Citation

#: More of a chunk's text isn't shown; a chunk that an embedder reads whole has less.
MAX_CHARS = 6_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownChunk:
    """A chunk with what is made of it for the page."""

    chunk: Chunk
    #: In the document, from 1.
    number: int
    #: Its citation.
    uri: str
    #: Of its place on the document's page.
    address: str
    text: str
    is_cut: bool
    #: Whether the address names it.
    is_cited: bool


def from_cited(chunks: Any, cited: Cited) -> Any:
    """Return those of a document's chunks that the named one begins; all of them when none is named."""
    if cited.chunk_id is None:
        return chunks
    ordinals = chunks.filter(chunk_id=uuid.UUID(hex=cited.chunk_id)).values_list("ordinal", flat=True)
    return chunks.filter(ordinal__gte=ordinals.first() or 0)


def shown_chunks(workspace: Workspace, chunks: Iterable[Chunk], cited: Cited) -> list[ShownChunk]:
    """Return the chunks for the page, in their order; their documents are loaded."""
    return [
        ShownChunk(
            chunk=chunk,
            number=chunk.ordinal + 1,
            uri=chunk.citation.uri,
            address=_address(workspace, chunk),
            text=chunk.text[:MAX_CHARS],
            is_cut=len(chunk.text) > MAX_CHARS,
            is_cited=chunk.chunk_id.hex == cited.chunk_id,
        )
        for chunk in chunks
    ]


def cited_uri(document: Document, cited: Cited) -> str:
    """Return the citation of the place that an address names; '' where it names none."""
    chunks = Chunk.objects.in_workspace(document.workspace_id).select_related("document")
    chunk = chunks.filter(document=document, chunk_id=cited.chunk_id).first() if cited.chunk_id else None
    if chunk is None and cited.start and document.media in (MediaKind.TEXT, MediaKind.CODE):
        return Citation(kind="line", path=document.path, start=cited.start, end=cited.end).uri
    return "" if chunk is None else chunk.citation.uri


def _address(workspace: Workspace, chunk: Chunk) -> str:
    page = reverse("document", args=[workspace.slug, chunk.document.doc_id])
    citation, chunk_id = chunk.citation, chunk.chunk_id.hex
    if citation.kind != "line":
        return f"{page}?{urlencode({'chunk': chunk_id})}#chunk-{chunk_id}"
    place = {"start": citation.start, "end": citation.end, "chunk": chunk_id}
    return f"{page}?{urlencode(place)}#L{citation.start}"
