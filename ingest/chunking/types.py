"""Types, limits and version of the chunker, and its drafts of chunks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from ingest.parsers.errors import ParseRefused
from ingest.parsers.types import LineSpan, ParsedDocument

#: incremented whenever the same document would yield other chunks
CHUNKER_VERSION: Final = "c7"
#: tokens of breadcrumb and text together: the embedder's 256 less its two marks
MAX_TOKENS: Final = 254
#: a section of prose with fewer tokens shares a chunk with its neighbours
MIN_SECTION_TOKENS: Final = 64
#: smallest chunk size of a workspace: 32 tokens are left for text, however long the breadcrumb is
LEAST_TOKENS: Final = 128
#: tokens of a breadcrumb; a longer one is shortened, so that every chunk has room for text
MAX_BREADCRUMB_TOKENS: Final = 96
#: characters of a chunk's text; the limit for text with few tokens (rules, encoded bytes)
MAX_CHARS: Final = 4_000

#: chunks of one document; the worker that stores them takes some 8 KB of memory for each
MAX_CHUNKS: Final = 40_000

#: characters of a code chunk's language; a longer one is ignored
MAX_LANGUAGE_CHARS: Final = 40

ChunkKind = Literal["code", "info"]


def chunker_version(chunk_tokens: int = MAX_TOKENS) -> str:
    """Return the chunker's version for chunks of at most `chunk_tokens`; another version, other chunks."""
    return CHUNKER_VERSION if chunk_tokens == MAX_TOKENS else f"{CHUNKER_VERSION}-{chunk_tokens}"


def has_chunk_size(version: str, chunk_tokens: int) -> bool:
    """Return whether a chunker version, of this or another chunker, is for chunks of `chunk_tokens`."""
    return version.partition("-")[2] == chunker_version(chunk_tokens).partition("-")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkDraft:
    """A chunk before it has an id."""

    #: position among the document's chunks, from 0
    ordinal: int
    kind: ChunkKind
    #: language of a code chunk, lower case, or None
    language: str | None
    #: headings above the chunk, outermost first, its own last; of code the units: "class A", "method run"
    heading_path: tuple[str, ...]
    #: title (of code the path) and headings, joined by " > "; embedded together with `text`
    breadcrumb: str
    section_label: str
    #: lines `start` to `end` of the first span joined by "\\n", unless one line was too long for a chunk
    text: str
    #: `text` without markup, as `search.markup` has it stored
    plain: str = ""
    #: {"kind": "line", "start", "end"}: first the lines of the text, then the heading and front-matter
    #: lines that the breadcrumb comes from
    spans: tuple[Mapping[str, Any], ...]
    #: tokens of `text` alone
    token_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionContext:
    """The fields that the chunks of one section share."""

    heading_path: tuple[str, ...] = ()
    breadcrumb: str = ""
    section_label: str = ""


@dataclass(slots=True, kw_only=True)
class Drafts:
    """The chunks of a document so far."""

    parsed: ParsedDocument
    chunks: list[ChunkDraft] = field(default_factory=list)
    #: heading and front-matter lines to be added to the next chunk
    outline_lines: list[LineSpan] = field(default_factory=list)

    def add(
        self,
        context: SectionContext,
        span: LineSpan,
        *,
        text: str,
        tokens: int,
        code_language: str | None = None,
        kind: ChunkKind = "info",
    ) -> None:
        """Append a chunk; the pending outline lines become its further spans.

        Raises:
            ParseRefused: the document makes more than MAX_CHUNKS (`too_many_chunks`).
        """
        if len(self.chunks) == MAX_CHUNKS:
            raise too_many_chunks()
        part = self.parsed.part_name(span.start, span.end)
        spans, self.outline_lines = [span, *self.outline_lines], []
        sources = (self.parsed.source_span(span.start, span.end) for span in spans)
        draft = ChunkDraft(
            ordinal=len(self.chunks),
            kind=kind,
            language=code_language if len(code_language or "") <= MAX_LANGUAGE_CHARS else None,
            heading_path=context.heading_path,
            breadcrumb=context.breadcrumb,
            section_label=f"{context.section_label} ({part})" if part else context.section_label,
            text=text,
            spans=tuple(source.to_wire() for source in dict.fromkeys(sources)),
            token_count=tokens,
        )
        self.chunks.append(draft)


def too_many_chunks() -> ParseRefused:
    """Return the refusal of a document that makes more than MAX_CHUNKS chunks."""
    return ParseRefused(
        "too_many_chunks", f"it makes more than {MAX_CHUNKS:,} passages; split it into several files"
    )
