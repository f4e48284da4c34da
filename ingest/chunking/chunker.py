"""Entry point of chunking: a parsed document becomes chunks."""

from dataclasses import replace

from ingest.chunking.breadcrumbs import breadcrumb_of
from ingest.chunking.code import chunk_code
from ingest.chunking.drafts import Drafts, SectionContext
from ingest.chunking.prose import chunk_prose
from ingest.chunking.tokens import ExactCounter, TokenCounts
from ingest.chunking.types import MAX_TOKENS, ChunkDraft, ChunkKind
from ingest.parsers.types import LineSpan, ParsedDocument
from search.markup.plain_text import stored_plain_text


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
