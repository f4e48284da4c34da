"""Inputs, limits and results of digesting a document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from ingest.chunking.types import MAX_TOKENS, ChunkDraft
from ingest.parsers.types import Media
from kebab.sandbox.process import Deadline
from search.documents.omissions import StoredOmissions


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """Fields that a person or source states for a document; None leaves them to the parser."""

    title: str | None = None
    lang: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """A document parsed and cut into chunks."""

    title: str
    #: BCP 47, `und` when unsure
    lang: str
    tags: tuple[str, ...]
    mime: str
    media: Media
    #: metadata stated in the file (front matter), plain JSON
    metadata: Mapping[str, Any]
    #: the parser that read it
    parser: str
    #: equals `parser_version_for(path)`, whichever parser of the ladder read it
    parser_version: str
    chunker_version: str
    omissions: StoredOmissions
    warnings: tuple[str, ...]
    #: in document order
    chunks: tuple[ChunkDraft, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestLimits:
    """Limits on one document, at which its parser is stopped."""

    #: address space above that of the idle process
    memory_bytes: int = 1024**3
    #: wall-clock time of any document
    seconds: float = 30.0
    #: additional time per MB of content
    seconds_per_mb: float = 5.0
    #: time from each progress report of a parser (OCR of a band of a page takes some 5 s), and in total
    seconds_per_step: float = 60.0
    most_seconds: float = 1_800.0

    def start_deadline(self, size_bytes: int) -> Deadline:
        """Return the deadline of a document of this size that is parsed from now on."""
        return Deadline(
            self.seconds + self.seconds_per_mb * size_bytes / 1_000_000,
            seconds_per_step=self.seconds_per_step,
            most_seconds=self.most_seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One document to digest; `key` comes back with the result."""

    key: Any
    content: bytes
    path: str
    overrides: Overrides = field(default_factory=Overrides)
    #: tokens of a chunk, at most
    chunk_tokens: int = MAX_TOKENS


CHUNK_FIELDS = tuple(each.name for each in fields(ChunkDraft) if each.name != "ordinal")


def chunk_to_wire(chunk: ChunkDraft) -> list[Any]:
    """Return the chunk as a JSON list in the order of CHUNK_FIELDS.

    Its ordinal is its position in the stream.
    """
    return [getattr(chunk, name) for name in CHUNK_FIELDS]


def chunk_from_wire(ordinal: int, values: Sequence[Any]) -> ChunkDraft:
    """Return the chunk of a JSON list, the inverse of `chunk_to_wire`."""
    named = dict(zip(CHUNK_FIELDS, values, strict=True))
    named["heading_path"] = tuple(named["heading_path"])
    named["spans"] = tuple(named["spans"])
    return ChunkDraft(ordinal=ordinal, **named)
