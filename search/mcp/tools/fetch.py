"""`fetch`: the text of a document, or around a hit."""

from collections.abc import Sequence

from search.mcp.call_context import Call
from search.mcp.tools.arguments import FetchArguments
from search.mcp.tools.documents import (
    LineRange,
    Named,
    has_lines,
    lines_of,
    named_by_id,
    passages_at,
    passages_of,
)
from search.mcp.tools.token_budget import Frame, count_tokens, fitted, joined, kept_within, on_one_line
from search.models import Chunk, Document
from search.retrieval.citation import Citation, citation_of


def fetch_tool(call: Call, given: FetchArguments) -> str:
    """Answer with the lines or passages that are asked for, as many as there is room for."""
    named = named_by_id(call.access, given.id)
    wanted = _lines_wanted(named, given)
    if wanted is not None:
        return _lines_text(named.document, wanted.widened(given.before, given.after), given.max_tokens)
    place = named.citation
    chunks = (
        passages_at(named.document, place, before=given.before, after=given.after)
        if place is not None
        else passages_of(named.document, around=named.chunk, before=given.before, after=given.after)
    )
    return _passages_text(named.document, chunks, given.max_tokens)


def _lines_wanted(named: Named, given: FetchArguments) -> LineRange | None:
    if given.lines is not None:
        return LineRange.read(given.lines)
    place = named.citation
    if place is None or place.start is None or place.end is None or not has_lines(named.document):
        return None
    return LineRange(first=place.start, last=place.end)


def _lines_text(document: Document, wanted: LineRange, max_tokens: int) -> str:
    found = lines_of(document, wanted)
    texts, total = found.texts, found.total
    if not texts:
        return f"The document has {total} lines; there is none from line {wanted.first} on."
    frame = Frame(texts)

    def quoted(kept: int) -> str:
        last = wanted.first + max(1, kept) - 1
        cited = Citation(kind="line", path=document.path, start=wanted.first, end=last)
        return frame.passage(cited.uri, "\n".join(texts[:kept]), **_origin(document))

    def foot(kept: int) -> str:
        if kept == 0:
            return _too_small(texts[0])
        after = wanted.first + kept
        is_all = after > min(wanted.last, total)
        return "" if is_all else f"The document has {total} lines; go on with lines={after}-{total}."

    def said(kept: int) -> str:
        return joined(frame.notice, quoted(kept) if kept else "", foot(kept))

    kept = kept_within(max_tokens, joined(frame.notice, quoted(0)), texts, foot)
    while kept and count_tokens(said(kept)) > max_tokens:  # the last line's number may take a token more
        kept -= 1
    return said(kept)


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

    return fitted(max_tokens, frame.notice, blocks, foot)


def _too_small(block: str) -> str:
    return f"The first takes {count_tokens(block)} tokens; ask with a larger max_tokens."


def _origin(document: Document) -> dict[str, str]:
    return {
        "source": document.source.key,
        "version": document.version.tag,
        "trust": document.trust_level,
    }
