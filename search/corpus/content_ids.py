"""Content-derived ids: the same bytes under the same name give the same ids, anywhere and at any time.

An id is the first 128 bits of BLAKE3 over length-prefixed fields, so that different field lists never have
the same bytes. Ids don't depend on order or position: inserting a chunk leaves the other chunks' ids
unchanged.
"""

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from blake3 import blake3


def _digest(kind: str, *fields: bytes) -> uuid.UUID:
    hasher = blake3()
    for field in (f"kebab.{kind}.v1".encode(), *fields):
        hasher.update(len(field).to_bytes(8, "little"))
        hasher.update(field)
    return uuid.UUID(bytes=hasher.digest(length=16))


def document_id(corpus_id: uuid.UUID, source_key: str, version_tag: str, path: str) -> uuid.UUID:
    """Return the id of the document at `path` of a source's version; the default version's tag is empty."""
    return _digest("document", corpus_id.bytes, source_key.encode(), version_tag.encode(), path.encode())


def chunk_ids(doc_id: uuid.UUID, chunker_version: str, texts: Iterable[str]) -> Iterator[uuid.UUID]:
    """Yield an id for each chunk text of a document; equal texts differ by their number of occurrence."""
    occurrences: Counter[str] = Counter()
    for text in texts:
        occurrences[text] += 1
        nth = occurrences[text].to_bytes(4, "little")
        yield _digest("chunk", doc_id.bytes, chunker_version.encode(), text.encode(), nth)


def embed_hash(breadcrumb: str, text: str) -> uuid.UUID:
    """Return the hash of the text that is embedded for a chunk."""
    return _digest("embedded", breadcrumb.encode(), text.encode())


def place_key(source_id: uuid.UUID | None, version_tag: str, path: str, fragment: str = "") -> uuid.UUID:
    """Return a key of a document or of a fragment of it, in one source or in any."""
    source = b"" if source_id is None else source_id.bytes
    return _digest("place", source, version_tag.encode(), path.encode(), fragment.encode())


def query_key(query: str) -> uuid.UUID:
    """Return a key of a query's exact text."""
    return _digest("query", query.encode())


def content_hash(content: bytes) -> str:
    """Return the hash of a document's bytes as 64 hex digits; also its blob's name."""
    return blake3(content).hexdigest()


def file_hash(file: BinaryIO) -> str:
    """Return the `content_hash` of a file from its current position on, read in pieces."""
    hasher = blake3()
    while piece := file.read(1_000_000):
        hasher.update(piece)
    return hasher.hexdigest()
