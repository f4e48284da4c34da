"""View models of a document's chunks, for the page of its indexed text."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kebab.identity.models import Workspace
from search.documents.addresses import place_path
from search.models import Chunk, Document, MediaKind
from search.pages.document.cited_range import CitedRange
from search.retrieval.citation import Citation

#: The most characters shown of a chunk; chunks within an embedder's limit are shorter.
MAX_CHARS = 6_000
#: What would end the words of a Markdown link.
_MARKDOWN_ESCAPES = str.maketrans({"[": "\\[", "]": "\\]", "\n": " "})


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownChunk:
    """A chunk prepared for the page."""

    chunk: Chunk
    #: Its position in the document, from 1.
    number: int
    #: Its citation.
    uri: str
    #: Its place on the document's page.
    address: str
    text: str
    is_cut: bool
    #: Whether the page's address cites it.
    is_cited: bool


def chunks_from_cited(chunks: Any, cited: CitedRange) -> Any:
    """Return a document's chunks from the cited one on; all of them if none is cited."""
    if cited.chunk_id is None:
        return chunks
    ordinals = chunks.filter(chunk_id=uuid.UUID(hex=cited.chunk_id)).values_list("ordinal", flat=True)
    return chunks.filter(ordinal__gte=ordinals.first() or 0)


def present_chunks(workspace: Workspace, chunks: Iterable[Chunk], cited: CitedRange) -> list[ShownChunk]:
    """Return view models of the chunks, in their order. Their documents must be loaded."""
    return [
        ShownChunk(
            chunk=chunk,
            number=chunk.ordinal + 1,
            uri=chunk.citation.uri,
            address=place_path(workspace, chunk.document.doc_id, chunk.citation, chunk.chunk_id.hex),
            text=chunk.text[:MAX_CHARS],
            is_cut=len(chunk.text) > MAX_CHARS,
            is_cited=chunk.chunk_id.hex == cited.chunk_id,
        )
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
