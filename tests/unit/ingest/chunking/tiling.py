"""Assertion that chunks of code tile their file."""

from collections.abc import Sequence

from ingest.chunking.types import MAX_TOKENS, ChunkDraft
from ingest.parsers.decode import decode, split_lines
from search.embedders.bert.tokenizer import TokenCounter


def assert_tiled(content: str | bytes, chunks: Sequence[ChunkDraft], exact_counter: TokenCounter) -> None:
    """Assert that every line lies in exactly one span, in order, and each chunk fits in the embedder."""
    lines = split_lines(decode(content.encode() if isinstance(content, str) else content))
    chunks = [chunk for chunk in chunks if chunk.text]  # a file without text has one that names it
    next_line = 1
    spans = list(dict.fromkeys((c.spans[0]["start"], c.spans[0]["end"]) for c in chunks))
    for start, end in spans:
        assert start == next_line
        next_line = end + 1
    assert not chunks or next_line == len(lines) + 1
    for chunk in chunks:
        start, end = chunk.spans[0]["start"], chunk.spans[0]["end"]
        whole = "\n".join(lines[start - 1 : end])
        assert chunk.text == whole or chunk.text in whole
        assert chunk.text.strip()
        assert exact_counter.count(chunk.breadcrumb + "\n" + chunk.text) <= MAX_TOKENS
        assert chunk.kind == "code"
