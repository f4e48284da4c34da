"""Sample files that real programs made, and the citations of their passages."""

from ingest.chunking.types import ChunkDraft
from ingest.digest.digester import Digester
from ingest.digest.types import Digest
from search.retrieval.citation import citation_from_span
from tests.support.paths import FILES


def content_of(name: str) -> bytes:
    """Return the bytes of a sample file."""
    return (FILES / name).read_bytes()


def digest_sample(digester: Digester, name: str) -> Digest:
    """Digest a sample file under its own name."""
    return digester.digest(content_of(name), name)


def citation_of(digest: Digest, path: str, words: str) -> str:
    """Return the citation of the one chunk that holds these words."""
    (chunk,) = (chunk for chunk in digest.chunks if words in " ".join(chunk.text.split()))
    return uri_of(path, chunk)


def uri_of(path: str, chunk: ChunkDraft) -> str:
    """Return the citation of a chunk's first span."""
    return citation_from_span(path, None, chunk.spans[0]).uri
