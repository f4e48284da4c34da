"""Entry point of chunking: a parsed document becomes chunks."""

from collections.abc import Iterable
from dataclasses import replace

from ingest.chunking.lines import ExactCounter, SizedLines, TokenCounts
from ingest.chunking.prose import breadcrumb_of, chunk_prose
from ingest.chunking.syntax import Piece, SyntaxCut, lines_label
from ingest.chunking.types import MAX_TOKENS, ChunkDraft, ChunkKind, Drafts, SectionContext
from ingest.chunking.windows import Windows
from ingest.parsers.types import LineSpan, ParsedDocument, Syntax
from search.markup.plain_text import stored_plain_text


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


class Chunker:
    """Chunker for one embedder's tokenizer; it caches word counts across documents."""

    def __init__(self, exact: ExactCounter) -> None:
        self._counts = TokenCounts(exact)

    def chunk(self, parsed: ParsedDocument, path: str, *, max_tokens: int = MAX_TOKENS) -> list[ChunkDraft]:
        """Return the chunks of `parsed` in document order, ordinals from 0.

        Breadcrumb and text of each have at most `max_tokens` together. A document without text has one chunk
        without text, whose breadcrumb is its title.
        """
        if parsed.media == "code":
            chunks = chunk_code(parsed, path, self._counts, max_tokens)
        else:
            chunks = chunk_prose(parsed, self._counts, max_tokens)
        return [
            replace(chunk, plain=stored_plain_text(chunk.text, path, is_code=bool(chunk.language)))
            for chunk in chunks or self._without_text(parsed)
        ]

    def _without_text(self, parsed: ParsedDocument) -> list[ChunkDraft]:
        drafts = Drafts(parsed=parsed)
        crumb = breadcrumb_of(parsed.title, (), self._counts)
        context = SectionContext(breadcrumb=crumb.text, section_label=parsed.title)
        kind: ChunkKind = "code" if parsed.media == "code" else "info"
        drafts.add(context, LineSpan(1, 1), text="", tokens=0, kind=kind, code_language=parsed.language)
        return drafts.chunks
