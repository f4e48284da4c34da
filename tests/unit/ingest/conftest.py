"""Fixtures of parser tests: the real tokenizer, the real parsers and one limited process."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from ingest.chunking.chunker import Chunker
from ingest.chunking.lines import comparable
from ingest.chunking.types import ChunkDraft
from ingest.digest.digester import Digester
from ingest.parsers.registry import parse
from ingest.parsers.types import ParsedDocument
from search.embedders.bert.tokenizer import TokenCounter

ChunkFile = Callable[[str | bytes, str], list[ChunkDraft]]
ChunkParsed = Callable[[ParsedDocument, str], list[ChunkDraft]]


class ComparableCounter(TokenCounter):
    """The tokenizer, for texts of every script as the chunker measures them."""

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return the offsets of the tokens in the comparable text."""
        return super().offsets(comparable(text))


@pytest.fixture(scope="session")
def exact_counter() -> TokenCounter:
    return ComparableCounter()


@pytest.fixture(scope="session")
def chunk_parsed(exact_counter: TokenCounter) -> ChunkParsed:
    """Return a function that chunks a parsed document, as the limited process does."""
    return Chunker(exact_counter).chunk


@pytest.fixture(scope="session")
def chunk_file(chunk_parsed: ChunkParsed) -> ChunkFile:
    """Return a function that chunks a file's content, as the limited process does."""

    def chunk(content: str | bytes, path: str) -> list[ChunkDraft]:
        as_bytes = content.encode() if isinstance(content, str) else content
        return chunk_parsed(parse(as_bytes, path), path)

    return chunk


@pytest.fixture(scope="session")
def shared_digester() -> Iterator[Digester]:
    """Yield one limited process for all tests that only read files in it."""
    with closing(Digester()) as digester:
        yield digester
