"""Fill a workspace with files as ingestion does: parsed, chunked, with their bytes."""

import json
from pathlib import Path
from typing import Any

from ingest.chunking.chunker import Chunker
from ingest.parsers.registry import parse
from search.corpus import DocumentDraft, WriteResult, replace_document
from search.corpus.blobs import store_blob
from search.embedders.bert.tokenizer import TokenCounter
from tests.support.corpus import make_place
from tests.support.search import embed, sync


def put_file(
    workspace: Any,
    path: str,
    text: str | bytes,
    *,
    source: str = "docs",
    version: str = "",
    **fields: Any,
) -> WriteResult:
    """Write the file into the workspace, with its bytes."""
    content = text.encode() if isinstance(text, str) else text
    parsed = parse(content, path)
    values: dict[str, Any] = {
        "title": parsed.title,
        "lang": "en",
        "tags": (),
        "trust_level": "unknown",
        "mime": parsed.mime,
        "media": parsed.media,
        "size_bytes": len(content),
        "content_hash": store_blob(workspace.pk, content),
        "parser_version": "p1",
        "chunker_version": "c1",
        "chunks": Chunker(TokenCounter()).chunk(parsed, path),
        **fields,
    }
    return replace_document(
        make_place(workspace, path, source=source, version=version), DocumentDraft(**values)
    )


def index(workspace: Any) -> None:
    """Index all documents, by words and by vectors."""
    sync(workspace)
    embed(workspace)


def json_package() -> dict[str, str]:
    """Return the files of a real Python package, by path: the standard library's `json`."""
    root = Path(json.__file__).parent
    return {f"json/{file.name}": file.read_text() for file in sorted(root.glob("*.py"))}


def cited_lines(text: str, segment: dict[str, Any]) -> str:
    """Return the lines of a file that a segment cites."""
    citation = segment["citation"]
    return "\n".join(text.split("\n")[citation["start"] - 1 : citation["end"]])
