"""What a parser gives: lines to read, blocks over them, and where they lie in the file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

BlockKind = Literal["heading", "paragraph", "list", "quote", "table", "code", "html", "front_matter"]
Media = Literal["text", "code", "pdf", "office", "email", "image", "transcript"]


@dataclass(frozen=True, slots=True)
class LineSpan:
    """Lines `start` to `end`, 1-based, both included."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileType:
    """What a file is, from its content and name; `parsers` is the ladder, best first."""

    path: str
    mime: str
    media: Media
    parsers: tuple[str, ...]
    #: programming or markup language of the file as a whole, where it has one
    language: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block of the outline, in document order; blocks never overlap."""

    kind: BlockKind
    #: lines of `Outline.lines` that the block covers
    span: LineSpan
    #: plain text of a heading, without markup; empty for every other kind
    text: str = ""
    #: 1 to 6 for a heading, else 0
    level: int = 0
    #: language of a code block as its fence names it, lower case
    language: str | None = None
    #: lines at which a block too long for a chunk is best cut (list items, rows), ascending
    breaks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """What one parser read: readable lines, blocks over them, and what the file says of itself."""

    #: lines of readable text without line ends; for Markdown, text and code the file's own lines
    lines: Sequence[str]
    blocks: Sequence[Block]
    #: per line of `lines`, the lines of the file it was read from; None when they are the same
    origins: Sequence[LineSpan] | None = None
    #: title that the file states itself (front matter, HTML title), or None
    title: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """A parsed file, ready to be chunked."""

    title: str
    #: language of the prose as a BCP 47 code, `und` when unsure
    lang: str
    outline: Outline
    mime: str
    media: Media
    #: language of the file as a whole (code, data formats), or None
    language: str | None
    #: name of the parser that read it
    parser: str
    metadata: Mapping[str, Any]
    tags: tuple[str, ...]
    warnings: tuple[str, ...]

    def source_span(self, start: int, end: int) -> LineSpan:
        """Lines of the file that lines `start` to `end` of the outline were read from."""
        origins = self.outline.origins
        if origins is None:
            return LineSpan(start, end)
        touched = origins[start - 1 : end]
        return LineSpan(min(span.start for span in touched), max(span.end for span in touched))
