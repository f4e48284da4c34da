"""Collection of a document's chunks, with ordinals and spans of the file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ingest.chunking.types import MAX_CHUNKS, MAX_LANGUAGE_CHARS, ChunkDraft, ChunkKind
from ingest.parsers.errors import ParseRefused
from ingest.parsers.types import LineSpan, ParsedDocument


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
        draft = ChunkDraft(
            ordinal=len(self.chunks),
            kind=kind,
            language=code_language if len(code_language or "") <= MAX_LANGUAGE_CHARS else None,
            heading_path=context.heading_path,
            breadcrumb=context.breadcrumb,
            section_label=f"{context.section_label} ({part})" if part else context.section_label,
            text=text,
            spans=self._source_spans(spans),
            token_count=tokens,
        )
        self.chunks.append(draft)

    def _source_spans(self, spans: Sequence[LineSpan]) -> tuple[Mapping[str, Any], ...]:
        sources = (self.parsed.source_span(span.start, span.end) for span in spans)
        return tuple(source.to_wire() for source in dict.fromkeys(sources))


def too_many_chunks() -> ParseRefused:
    """Return the refusal of a document that makes more than MAX_CHUNKS chunks."""
    return ParseRefused(
        "too_many_chunks", f"it makes more than {MAX_CHUNKS:,} passages; split it into several files"
    )
