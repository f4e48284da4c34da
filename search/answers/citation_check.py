"""Check of an answer's citations against the current version of their documents."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from search.access.restrictions import visible_documents
from search.answers.types import AnswerCitation
from search.models import Chunk
from search.retrieval.citation import Citation
from search.retrieval.wire_types import Rank


class CitationState(StrEnum):
    """State of a cited text in the current version of its document."""

    #: The document still contains the text, at `citation`.
    STANDS = "stands"
    #: The document exists and no longer contains the text.
    CHANGED = "changed"
    #: The document doesn't exist, or the reader may not read it.
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedCitation:
    """A citation of an answer and its current state."""

    #: The number of its marker.
    n: Rank
    #: Where the text stood when the answer was given.
    cited_uri: str
    #: stands: the text is in the document, where `citation` says; changed: the document is there and doesn't
    #: say it any more; gone: there is no such document.
    state: CitationState
    #: Current location of the text; None when it isn't found.
    citation: Citation | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCheck:
    """The check of an answer's citations."""

    answer_id: uuid.UUID
    citations: tuple[CheckedCitation, ...]


def check_citations(
    workspace: Workspace, reader: Reader, citations: Sequence[AnswerCitation]
) -> tuple[CheckedCitation, ...]:
    """Return the state and the current location of each citation's text, ignoring white space. One query."""
    chunks = _chunks_of(workspace, reader, {each.doc_id for each in citations})
    found = ((each, *_check(each, chunks.get(each.doc_id))) for each in citations)
    return tuple(
        CheckedCitation(n=each.n, cited_uri=each.uri, state=state, citation=citation)
        for each, state, citation in found
    )


def _chunks_of(workspace: Workspace, reader: Reader, doc_ids: set[str]) -> Mapping[str, list[Chunk]]:
    """Return the chunks, in order, of the documents that the reader may read, by document id."""
    ids = [uuid.UUID(hex=doc_id) for doc_id in doc_ids]
    documents = visible_documents(workspace, reader).filter(doc_id__in=ids)
    found: dict[str, list[Chunk]] = {doc_id.hex: [] for doc_id in documents.values_list("doc_id", flat=True)}
    rows = (
        Chunk.objects.in_workspace(workspace)
        .filter(document__in=documents.order_by().values("pk"), document__workspace=workspace)
        .select_related("document")
        .order_by("document_id", "ordinal")
    )
    for chunk in rows:
        found[chunk.document.doc_id.hex].append(chunk)
    return found


def _check(cited: AnswerCitation, chunks: Sequence[Chunk] | None) -> tuple[CitationState, Citation | None]:
    if chunks is None:
        return CitationState.GONE, None
    same = [chunk for chunk in chunks if chunk.chunk_id.hex == cited.chunk_id]
    quote = _fold_white_space(cited.quote)
    holder = next((chunk for chunk in (*same, *chunks) if quote in _fold_white_space(chunk.text)), None)
    if holder is not None:
        return CitationState.STANDS, holder.citation
    first = _first_chunk_of_span(quote, chunks)
    return (CitationState.CHANGED, None) if first is None else (CitationState.STANDS, first.citation)


def _first_chunk_of_span(quote: str, chunks: Sequence[Chunk]) -> Chunk | None:
    """Return the first chunk of a quote that spans several chunks; None when the document lacks it."""
    texts = [_fold_white_space(chunk.text) for chunk in chunks]
    at = " ".join(texts).find(quote)
    if at < 0:
        return None
    end = -1
    for chunk, text in zip(chunks, texts, strict=True):
        end += len(text) + 1
        if at < end:
            return chunk
    return None


def _fold_white_space(text: str) -> str:
    return " ".join(text.split())
