"""The real tokenizer and the real parsers; nothing here is mocked."""

from collections.abc import Callable

import pytest

from ingest.chunking.chunker import Chunker
from ingest.chunking.types import ChunkDraft
from ingest.parsers.registry import parse
from search.embedders.tokenizer import TokenCounter

ChunkFile = Callable[[str | bytes, str], list[ChunkDraft]]


@pytest.fixture(scope="session")
def exact_counter() -> TokenCounter:
    return TokenCounter()


@pytest.fixture(scope="session")
def chunk_file(exact_counter: TokenCounter) -> ChunkFile:
    """Chunks of a file's content, as the limited process makes them."""
    chunker = Chunker(exact_counter)

    def chunk(content: str | bytes, path: str) -> list[ChunkDraft]:
        as_bytes = content.encode() if isinstance(content, str) else content
        return chunker.chunk(parse(as_bytes, path), path)

    return chunk
