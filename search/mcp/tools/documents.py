"""Documents for agents: lookup by id or URI, and their text by lines or by passages."""

import re
import uuid
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

from django.db.models import Q, QuerySet

from kebab.errors import InvalidRequest, NotFound
from kebab.http.api.views import KeysetPage
from kebab.identity.caller import Access
from kebab.identity.models import Workspace
from search.access.restrictions import visible_documents
from search.answers import AnswerCitation
from search.context import (
    Budget,
    BudgetUnit,
    CodeRequest,
    ContextPack,
    ResponseMode,
    pack_text,
    retrieve_code,
)
from search.corpus.blobs import open_blob
from search.documents.addresses import place_path
from search.documents.line_window import read_lines
from search.mcp.call_context import Call
from search.mcp.tools.arguments import CodebaseArguments
from search.mcp.tools.outputs import CodeOutput, ToolOutput, dump
from search.mcp.tools.token_budget import Frame, fit_blocks, join_parts, room_in_frame
from search.models import Chunk, Document
from search.retrieval.citation import Citation, build_uri, citation_from_span, parse_uri, split_uri
from search.retrieval.errors import preview
from search.retrieval.fusion.legs import missing_part_message
from search.retrieval.text.sanitize import is_storable
from search.retrieval.types import SearchHit

#: `kebab://handbook/guides/install.md#L7-L12`, `kebab://react@v18/…`
SCHEME: Final = "kebab"
#: The most lines, or passages, that are read for one answer.
MOST_LINES: Final = 5_000
MOST_PASSAGES: Final = 1_000
MOST_LISTED: Final = 100
_BY_LINE: Final = frozenset({"text", "code"})
_HEX32: Final = re.compile("[0-9a-f]{32}")
_LINES: Final = re.compile(r"L?([1-9][0-9]{0,11})(?:-L?([1-9][0-9]{0,11}))?")
_MOST_SHOWN: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedDocument:
    """The target of an id or a URI."""

    document: Document
    #: The chunk, if the id was a chunk's.
    chunk: Chunk | None = None
    #: The cited place, if there was one.
    citation: Citation | None = None


def document_uri(document: Document) -> str:
    """Return the resource URI of a document. Its source and version must be loaded."""
    return resource_uri(document.source.key, document.version.tag, document.path)


def resource_uri(source: str, tag: str, path: str) -> str:
    """Return the resource URI of a path in a version of a source."""
    place = source + (f"@{quote(tag, safe='')}" if tag else "")
    return f"{SCHEME}://{place}/{quote(path)}"


def passage_url(call: Call, workspace: Workspace, passage: SearchHit | AnswerCitation) -> str:
    """Return the address of a passage's page; if the site's address isn't known, of its resource."""
    if call.site:
        doc_id = uuid.UUID(hex=passage.doc_id)
        return call.site + place_path(workspace, doc_id, passage.citation, passage.chunk_id)
    return resource_uri(passage.source, passage.version or "", passage.citation.path)


def resolve_id(access: Access, text: str) -> ResolvedDocument:
    """Look up a chunk's or document's id, or a citation. Raises NotFound, InvalidRequest."""
    if _HEX32.fullmatch(text) is None:
        return resolve_uri(access, text)
    id_ = uuid.UUID(hex=text)
    documents = _documents(access)
    chunks = Chunk.objects.in_workspace(access.workspace).filter(chunk_id=id_, document__in=documents)
    chunk = chunks.first()
    document = documents.filter(Q(doc_id=id_) if chunk is None else Q(pk=chunk.document_id)).first()
    if document is None:
        raise NotFound("There is no chunk and no document of this id that you may see; search for it.")
    return ResolvedDocument(document=document, chunk=chunk)


def resolve_uri(access: Access, uri: str) -> ResolvedDocument:
    """Look up a resource URI, or a bare citation. Raises NotFound, InvalidRequest."""
    address = _Address.read(uri)
    found = _documents(access).filter(path=address.path, version__tag=address.tag)
    if address.source:
        found = found.filter(source__key=address.source)
    documents = list(found.order_by("source__key")[: _MOST_SHOWN + 1])
    if not documents:
        raise NotFound("There is no such document that you may see; search for it.")
    if len(documents) > 1:
        choices = ", ".join(document_uri(document) for document in documents[:_MOST_SHOWN])
        raise InvalidRequest(f"Several sources have this path; name one of: {choices}")
    return ResolvedDocument(document=documents[0], citation=address.citation)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Address:
    source: str
    tag: str
    path: str
    citation: Citation | None

    @classmethod
    def read(cls, uri: str) -> "_Address":
        is_whole = uri.startswith(f"{SCHEME}://")
        before, fragment = split_uri(uri)
        place, _, quoted = uri.partition("#")[0].removeprefix(f"{SCHEME}://").partition("/")
        source, _, tag = place.partition("@") if is_whole else ("", "", "")
        path = unquote(quoted) if is_whole else before
        if not path or not is_storable(unquote(uri)) or (is_whole and not source):
            raise InvalidRequest(
                f"{preview(uri)} is neither id nor citation; copy one of a hit, like guides/install.md#L7."
            )
        citation = parse_uri(build_uri(path, fragment)) if fragment else None
        return cls(source=unquote(source), tag=unquote(tag), path=path, citation=citation)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineRange:
    """Lines of a document, from 1, both included."""

    first: int
    last: int

    @classmethod
    def read(cls, text: str) -> "LineRange":
        """Parse a range such as `10-40`, `L10-L40` or `10`. Raises InvalidRequest."""
        form = _LINES.fullmatch(text.strip())
        if form is None or int(form[2] or form[1]) < int(form[1]):
            raise InvalidRequest(f"lines: {preview(text)} is not a range; write 10-40, or 10 for one line.")
        return cls(first=int(form[1]), last=int(form[2] or form[1]))

    def widen(self, before: int, after: int) -> "LineRange":
        """Return the range with so many more lines on each side."""
        return LineRange(first=max(1, self.first - before), last=self.last + after)


def has_lines(document: Document) -> bool:
    """Return whether the document is cited by lines, and its indexed text is that of its lines."""
    return document.media in _BY_LINE and document.is_read_verbatim


def lines_of(document: Document, wanted: LineRange) -> tuple[list[str], int]:
    """Return the existing lines of a range, and the number of the document's lines.

    At most 5,000 lines, each cut after 2,000 characters.
    Raises InvalidRequest for a document that isn't cited by lines, NotFound if its bytes are gone.
    """
    if not has_lines(document):
        raise InvalidRequest("lines: this document is not cited by lines; leave them out.")
    count = min(wanted.last - wanted.first + 1, MOST_LINES)
    try:
        with open_blob(document.workspace_id, document.content_hash) as content:
            window = read_lines(content, first=wanted.first, count=count)
    except FileNotFoundError as error:
        raise NotFound("The document is being replaced this moment; ask again.") from error
    return [f"{line.text}…" if line.is_cut else line.text for line in window.lines], window.total


def passages_of(
    document: Document, *, around: Chunk | None = None, before: int = 0, after: int = 0
) -> list[Chunk]:
    """Return the document's chunks in its order, 1,000 at most, or those around one."""
    chunks = _chunks_of(document)
    if around is not None:
        chunks = chunks.filter(ordinal__range=(around.ordinal - before, around.ordinal + after))
    return list(chunks[:MOST_PASSAGES])


def passages_at(document: Document, place: Citation, *, before: int = 0, after: int = 0) -> list[Chunk]:
    """Return the chunks at a cited place and their neighbours, 1,000 at most.

    For a citation of lines these are the chunks that overlap the lines.
    """
    spans = _chunks_of(document).values_list("ordinal", "source_spans")
    found = [
        ordinal
        for ordinal, places in spans.iterator()
        if any(_overlap(place, citation_from_span(document.path, None, each)) for each in places)
    ]
    ranges = (range(max(0, each - before), each + after + 1) for each in found[:MOST_PASSAGES])
    wanted = sorted(set().union(*ranges))[:MOST_PASSAGES]
    return list(_chunks_of(document).filter(ordinal__in=wanted))


def list_documents(access: Access, cursor: str | None) -> tuple[list[Document], str | None]:
    """Return a page of the documents that the caller may read, and the next cursor. Raises InvalidCursor."""
    salt = f"kebab.mcp.documents:{access.workspace.pk}:{access.identity}"
    page = KeysetPage.after_cursor(cursor, ordering=("id",), limit=MOST_LISTED, salt=salt)
    return page.fetch(_documents(access))


def _overlap(cited: Citation, other: Citation) -> bool:
    if cited.start is None or cited.end is None or other.start is None or other.end is None:
        return cited == other
    return cited.start <= other.end and other.start <= cited.end


def _chunks_of(document: Document) -> "QuerySet[Chunk]":
    chunks: QuerySet[Chunk] = Chunk.objects.in_workspace(document.workspace_id).filter(document=document)
    return chunks.order_by("ordinal", "chunk_id")


def _documents(access: Access) -> "QuerySet[Document]":
    workspace = access.workspace
    readable = visible_documents(workspace, access.reader)
    return readable.filter(source__workspace=workspace.pk, version__workspace=workspace.pk).select_related(
        "source", "version"
    )


def codebase_tool(call: Call, given: CodebaseArguments) -> ToolOutput:
    """Return the overview or the text of the best files, each in its file's order."""
    access = call.access
    call.step(0, 2, "searching")
    pack = retrieve_code(access.workspace, access.reader, _request(given))
    call.step(1, 2, f"{len(pack.files)} files")
    shortcomings = map(missing_part_message, pack.degraded)
    text = fit_blocks(given.max_tokens, _frame_pack(pack), [*shortcomings, *pack.warnings], lambda kept: "")
    cited = tuple(segment.citation.uri for file in pack.files for segment in file.segments)
    return ToolOutput(text=text, data=dump(CodeOutput(text=text, citations=cited)))


def _request(given: CodebaseArguments) -> CodeRequest:
    return CodeRequest(
        information_request=given.information_request,
        technical_terms=given.technical_terms,
        source=given.source,
        version=given.version,
        include=given.include,
        exclude=given.exclude,
        languages=given.languages,
        response_mode=ResponseMode(given.response_mode),
        budget=Budget(unit=BudgetUnit.TOKENS, total=room_in_frame(given.max_tokens)),
    )


def _frame_pack(pack: ContextPack) -> str:
    if pack.files or (pack.overview is not None and pack.overview.files):
        text = pack_text(pack)
        frame = Frame([text])
        return join_parts(frame.notice, frame.passage(text))
    if pack.left_out:
        return "Nothing that was found fits; ask with a larger max_tokens."
    return "Nothing was found. Try other words or terms, or fewer filters."
