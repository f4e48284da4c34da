"""Whether what an answer cites still stands in the current version of its documents."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from kebab.people.models import Workspace
from kebab.people.reader import Reader
from search.access.querysets import documents_of
from search.answers.types import AnswerCitation
from search.models import Chunk
from search.retrieval.citation import Citation


class CitationState(StrEnum):
    """What has become of a cited text."""

    #: It stands in the document, where `citation` says.
    STANDS = "stands"
    #: The document is there, and doesn't say it any more.
    CHANGED = "changed"
    #: There is no such document for the reader.
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedCitation:
    """A citation of an answer, and what has become of it."""

    cited: AnswerCitation
    state: CitationState
    #: Where the text stands now; None where it doesn't.
    citation: Citation | None


def check_citations(
    workspace: Workspace, reader: Reader, citations: Sequence[AnswerCitation]
) -> tuple[CheckedCitation, ...]:
    """Return for each citation whether its text still stands, white space aside, and where. One query."""
    chunks = _chunks_of(workspace, reader, {each.doc_id for each in citations})
    return tuple(_checked(each, chunks.get(each.doc_id)) for each in citations)


def _chunks_of(workspace: Workspace, reader: Reader, doc_ids: set[str]) -> Mapping[str, list[Chunk]]:
    """Return the chunks of those of the documents that the reader may read, in order, by document."""
    ids = [uuid.UUID(hex=doc_id) for doc_id in doc_ids]
    documents = documents_of(workspace, reader).filter(doc_id__in=ids)
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


def _checked(cited: AnswerCitation, chunks: Sequence[Chunk] | None) -> CheckedCitation:
    if chunks is None:
        return CheckedCitation(cited=cited, state=CitationState.GONE, citation=None)
    same = [chunk for chunk in chunks if chunk.chunk_id.hex == cited.chunk_id]
    quote = _folded(cited.quote)
    standing = next((chunk for chunk in (*same, *chunks) if quote in _folded(chunk.text)), None)
    if standing is not None:
        return CheckedCitation(cited=cited, state=CitationState.STANDS, citation=standing.citation)
    first = _first_of_several(quote, chunks)
    state = CitationState.CHANGED if first is None else CitationState.STANDS
    return CheckedCitation(cited=cited, state=state, citation=None if first is None else first.citation)


def _first_of_several(quote: str, chunks: Sequence[Chunk]) -> Chunk | None:
    """Return where a text begins that other chunks than before hold together; None where it doesn't stand."""
    texts = [_folded(chunk.text) for chunk in chunks]
    at = " ".join(texts).find(quote)
    if at < 0:
        return None
    end = -1
    for chunk, text in zip(chunks, texts, strict=True):
        end += len(text) + 1
        if at < end:
            return chunk
    return None


def _folded(text: str) -> str:
    return " ".join(text.split())
