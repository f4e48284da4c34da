"""Program of the sandboxed process that parses documents and cuts them into chunks.

Run as `python -m ingest.digest.child`, by `ingest.digest.digester`.
"""

import gc
import logging
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from ingest.chunking.chunker import Chunker
from ingest.chunking.types import chunker_version
from ingest.digest.types import Overrides, chunk_to_wire
from ingest.parsers.errors import ParseRefused
from ingest.parsers.omissions import omissions_to_wire
from ingest.parsers.registry import parse, parser_version_for
from ingest.parsers.types import ParsedDocument
from kebab.sandbox.child import serve
from kebab.sandbox.program import Header
from search.embedders.bert.tokenizer import TokenCounter

#: chunks in one frame, so that a large document is not held twice
FRAME_CHUNKS = 400


def main() -> None:
    """Digest documents until standard input ends."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(name)s: %(message)s")
    chunker = Chunker(TokenCounter())
    # parsed documents have no reference cycles: collection after every 700 objects took an eighth of the time
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    serve(partial(digest, chunker))


def digest(chunker: Chunker, header: Header, content: bytes) -> Iterator[Header]:
    """Yield frames with the chunks, then one with the document; or one with the reason for a refusal."""
    path = header["path"]
    overrides = Overrides(**header["overrides"])
    began = time.monotonic()
    try:
        parsed = parse(content, path, first_rung=header["first_rung"])
        # The title also begins the breadcrumbs of chunks.
        parsed = parsed if overrides.title is None else replace(parsed, title=overrides.title)
        tokens = header["chunk_tokens"]
        parsed_at = time.monotonic()
        chunks = chunker.chunk(parsed, path, max_tokens=tokens)
        took_s = {"parse": parsed_at - began, "chunk": time.monotonic() - parsed_at}
        for start in range(0, len(chunks), FRAME_CHUNKS):
            yield {"chunks": [chunk_to_wire(chunk) for chunk in chunks[start : start + FRAME_CHUNKS]]}
        parsed = parsed if overrides.lang is None else replace(parsed, lang=overrides.lang)
        yield {"document": _document(parsed, path, tokens), "took_s": took_s}
    except ParseRefused as refusal:
        yield {"refused": refusal.code, "detail": refusal.detail}


def _document(parsed: ParsedDocument, path: str, chunk_tokens: int) -> Header:
    return {
        "title": parsed.title,
        "lang": parsed.lang,
        "tags": parsed.tags,
        "mime": parsed.mime,
        "media": parsed.media,
        "metadata": dict(parsed.metadata),
        "parser": parsed.parser,
        "parser_version": parser_version_for(path),
        "chunker_version": chunker_version(chunk_tokens),
        "omissions": omissions_to_wire(parsed.omissions),
        "warnings": parsed.warnings,
    }


if __name__ == "__main__":
    main()
