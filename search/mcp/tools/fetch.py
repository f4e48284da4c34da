"""`fetch`: the text of a document, or the text around a hit."""

from collections.abc import Sequence
from contextlib import suppress

from kebab.http.api.errors import NotFound
from kebab.tenancy.current_workspace import acting_in
from search.mcp.call_context import Call
from search.mcp.tools.arguments import FetchArguments
from search.mcp.tools.documents import (
    LineRange,
    ResolvedDocument,
    has_lines,
    lines_of,
    passages_at,
    passages_of,
    resolve_id,
)
from search.mcp.tools.token_budget import (
    Frame,
    count_fitting,
    count_tokens,
    fit_blocks,
    join_parts,
    on_one_line,
)
from search.models import Chunk, Document
from search.retrieval.citation import Citation, citation_of


def fetch_tool(call: Call, given: FetchArguments) -> str:
    """Return the requested lines or passages, as many as fit the budget."""
    target = _resolve(call, given.id)
    with acting_in(target.document.workspace_id):
        return _text(target, given)


def _text(target: ResolvedDocument, given: FetchArguments) -> str:
    wanted = _requested_lines(target, given)
    if wanted is not None:
        return _lines_text(target.document, wanted.widen(given.before, given.after), given.max_tokens)
    place = target.citation
    chunks = (
        passages_at(target.document, place, before=given.before, after=given.after)
        if place is not None
        else passages_of(target.document, around=target.chunk, before=given.before, after=given.after)
    )
    return _passages_text(target.document, chunks, given.max_tokens)


def _resolve(call: Call, text: str) -> ResolvedDocument:
    """Look an id or citation up in the workspaces of the call. Raises NotFound, InvalidRequest."""
    *before, last = call.accesses
    for access in before:
        with suppress(NotFound), acting_in(access.workspace.pk):
            return resolve_id(access, text)
    with acting_in(last.workspace.pk):
        return resolve_id(last, text)


def _requested_lines(target: ResolvedDocument, given: FetchArguments) -> LineRange | None:
    if given.lines is not None:
        return LineRange.read(given.lines)
    place = target.citation
    if place is None or place.start is None or place.end is None or not has_lines(target.document):
        return None
    return LineRange(first=place.start, last=place.end)


def _lines_text(document: Document, wanted: LineRange, max_tokens: int) -> str:
    found = lines_of(document, wanted)
    texts, total = found.texts, found.total
    if not texts:
        return f"The document has {total} lines; there is none from line {wanted.first} on."
    frame = Frame(texts)

    def quote_lines(kept: int) -> str:
        last = wanted.first + max(1, kept) - 1
        cited = Citation(kind="line", path=document.path, start=wanted.first, end=last)
        return frame.passage(cited.uri, "\n".join(texts[:kept]), **_origin(document))

    def foot(kept: int) -> str:
        if kept == 0:
            return _too_small(texts[0])
        after = wanted.first + kept
        is_all = after > min(wanted.last, total)
        return "" if is_all else f"The document has {total} lines; go on with lines={after}-{total}."

    def compose(kept: int) -> str:
        return join_parts(frame.notice, quote_lines(kept) if kept else "", foot(kept))

    kept = count_fitting(max_tokens, join_parts(frame.notice, quote_lines(0)), texts, foot)
    while kept and count_tokens(compose(kept)) > max_tokens:  # the last line's number may take a token more
        kept -= 1
    return compose(kept)


def _passages_text(document: Document, chunks: Sequence[Chunk], max_tokens: int) -> str:
    if not chunks:
        return "There is no text at this place of the document."
    frame = Frame(chunk.text for chunk in chunks)
    blocks = [
        frame.passage(
            citation_of(document.path, chunk.section_label, chunk.source_spans).uri,
            on_one_line(chunk.breadcrumb),
            chunk.text,
            chunk=chunk.chunk_id.hex,
            **_origin(document),
        )
        for chunk in chunks
    ]

    def foot(kept: int) -> str:
        if kept == 0:
            return _too_small(blocks[0])
        left = len(chunks) - kept
        return f"{left} more had no room; go on with id={chunks[kept].chunk_id.hex}." if left else ""

    return fit_blocks(max_tokens, frame.notice, blocks, foot)


def _too_small(block: str) -> str:
    return f"The first takes {count_tokens(block)} tokens; ask with a larger max_tokens."


def _origin(document: Document) -> dict[str, str]:
    return {
        "source": document.source.key,
        "version": document.version.tag,
        "trust": document.trust_level,
    }
