"""Entry point of chunking: a parsed document becomes chunks."""

from ingest.chunking.code import chunk_code
from ingest.chunking.prose import chunk_prose
from ingest.chunking.tokens import ExactCounter, TokenCounts
from ingest.chunking.types import MAX_TOKENS, ChunkDraft
from ingest.parsers.types import ParsedDocument


class Chunker:
    """Chunker for one embedder's tokenizer; it caches word counts across documents."""

    def __init__(self, exact: ExactCounter) -> None:
        self._counts = TokenCounts(exact)

    def chunk(self, parsed: ParsedDocument, path: str, *, max_tokens: int = MAX_TOKENS) -> list[ChunkDraft]:
        """Return the chunks of `parsed` in document order, ordinals from 0; none for one without text.

        Breadcrumb and text of each have at most `max_tokens` together.
        """
        if parsed.media == "code":
            return chunk_code(parsed, path, self._counts, max_tokens)
        return chunk_prose(parsed, self._counts, max_tokens)
