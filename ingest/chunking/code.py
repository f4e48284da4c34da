"""Chunker of code: chunks tile the file, cut by its syntax tree, or by windows of lines without one."""

from collections.abc import Iterable

from ingest.chunking.breadcrumbs import breadcrumb_of
from ingest.chunking.drafts import Drafts, SectionContext
from ingest.chunking.lines import SizedLines
from ingest.chunking.syntax import Piece, SyntaxCut, lines_label
from ingest.chunking.tokens import TokenCounts
from ingest.chunking.types import MAX_TOKENS, ChunkDraft
from ingest.chunking.windows import Windows
from ingest.parsers.types import LineSpan, ParsedDocument, Syntax


def chunk_code(
    parsed: ParsedDocument, path: str, counts: TokenCounts, max_tokens: int = MAX_TOKENS
) -> list[ChunkDraft]:
    """Return chunks whose spans tile the file; a line too long for a chunk makes several with its number."""
    sized = SizedLines(parsed.outline.lines, counts)
    drafts = Drafts(parsed=parsed)
    for piece in _pieces(_syntax_of(parsed), path, sized, max_tokens):
        crumb = breadcrumb_of(path, piece.headings, counts)
        context = SectionContext(
            heading_path=piece.headings, breadcrumb=crumb.text, section_label=piece.label
        )
        windows = Windows(sized, max_tokens=max_tokens - crumb.tokens)
        for text, tokens in windows.texts(piece.start, piece.end):
            drafts.add(
                context,
                LineSpan(piece.start, piece.end),
                text=text,
                tokens=tokens,
                kind="code",
                code_language=parsed.language,
            )
    return drafts.chunks


def _syntax_of(parsed: ParsedDocument) -> Syntax | None:
    return next((block.syntax for block in parsed.outline.blocks if block.syntax is not None), None)


def _pieces(syntax: Syntax | None, path: str, sized: SizedLines, max_tokens: int) -> Iterable[Piece]:
    if syntax is not None:
        return SyntaxCut(syntax, path, sized, max_tokens).pieces()
    windows = Windows(sized, max_tokens=max_tokens - breadcrumb_of(path, (), sized.counts).tokens)
    return (
        Piece(start=start, end=end, label=lines_label(start, end))
        for start, end in windows.tile(1, len(sized.lines))
    )
