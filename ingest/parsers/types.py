"""Result types of the parsers: readable lines, blocks over them, and their places in the file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeGuard, get_args

from ingest.parsers.omissions import Omission, OmissionLog

BlockKind = Literal["heading", "paragraph", "list", "quote", "table", "code", "html", "front_matter"]
Media = Literal["text", "code", "pdf", "office", "email", "image", "transcript"]


def is_media(text: str) -> TypeGuard[Media]:
    """Return whether `text` is a media type."""
    return text in get_args(Media)


@dataclass(frozen=True, slots=True)
class LineSpan:
    """Lines `start` to `end`, 1-based, inclusive."""

    start: int
    end: int

    @classmethod
    def around(cls, spans: Sequence[Self]) -> Self:
        """Return the span from the first to the last line of all `spans`."""
        return cls(min(span.start for span in spans), max(span.end for span in spans))

    def to_wire(self) -> dict[str, str | int]:
        """Return the span as it is stored with a chunk."""
        return {"kind": "line", "start": self.start, "end": self.end}


@dataclass(frozen=True, slots=True)
class PageSpan:
    """A page, a slide or a sheet, from 1."""

    page: int

    @classmethod
    def around(cls, spans: Sequence[Self]) -> Self:
        """Return the first page of `spans`; no chunk covers two (`Outline.walls`)."""
        return min(spans, key=lambda span: span.page)

    def to_wire(self) -> dict[str, str | int]:
        """Return the span as it is stored with a chunk."""
        return {"kind": "page", "page": self.page}


@dataclass(frozen=True, slots=True)
class RegionSpan:
    """A rectangle of an image: pixels from the left and the top, width and height of 1 or more."""

    x: int
    y: int
    w: int
    h: int

    @classmethod
    def around(cls, spans: Sequence[Self]) -> Self:
        """Return the smallest rectangle that holds all `spans`."""
        x, y = min(span.x for span in spans), min(span.y for span in spans)
        right, bottom = max(span.x + span.w for span in spans), max(span.y + span.h for span in spans)
        return cls(x, y, right - x, bottom - y)

    def to_wire(self) -> dict[str, str | int]:
        """Return the span as it is stored with a chunk."""
        return {"kind": "region", "x": self.x, "y": self.y, "w": self.w, "h": self.h}


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A stretch of a recording, in milliseconds from its start."""

    start_ms: int
    end_ms: int

    @classmethod
    def around(cls, spans: Sequence[Self]) -> Self:
        """Return the stretch from the first start to the last end of all `spans`."""
        return cls(min(span.start_ms for span in spans), max(span.end_ms for span in spans))

    def to_wire(self) -> dict[str, str | float]:
        """Return the span as it is stored with a chunk, in seconds."""
        return {"kind": "time", "start_s": self.start_ms / 1000, "end_s": self.end_ms / 1000}


#: place in the file that readable text comes from
Origin = LineSpan | PageSpan | RegionSpan | TimeSpan


@dataclass(frozen=True, slots=True, kw_only=True)
class FileType:
    """The type of a file, from its content and name; `parsers` is the ladder, best first."""

    path: str
    mime: str
    media: Media
    parsers: tuple[str, ...]
    #: programming or markup language of the file as a whole, where it has one
    language: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeUnit:
    """A function, a class or another named part of a source file."""

    #: the language's term for it: "function", "class", "method"
    kind: str
    name: str
    #: its lines with the comments, decorators and attributes that belong to it
    span: LineSpan
    #: the units inside it, in order; no two share a line
    members: tuple["CodeUnit", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Syntax:
    """The places of a syntax tree at which code is best cut."""

    #: the outermost units in order; no two share a line
    units: tuple[CodeUnit, ...]
    #: by line the depth of the statement that begins there, 0 the outermost; none begins on other lines
    statements: Mapping[int, int]


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
    #: syntax of a source file in a language with a grammar; None: it is cut at windows of lines
    syntax: Syntax | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The result of one parser: readable lines, blocks over them, and the metadata stated in the file."""

    #: lines of readable text without line ends; for Markdown, text and code the file's own lines
    lines: Sequence[str]
    blocks: Sequence[Block]
    #: per line of `lines` its place in the file, all of one type; None: the lines are the file's own. Without
    #: text one of the whole file, if it has pages or regions
    origins: Sequence[Origin] | None = None
    #: per line of `lines` the name of its part of the file, for citations: "cell 3, In [5]"
    names: Sequence[str] | None = None
    #: lines of `lines` that begin another page, ascending; no chunk crosses one
    walls: tuple[int, ...] = ()
    #: title stated in the file (front matter, HTML title), or None
    title: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    #: what is not in the lines
    omissions: tuple[Omission, ...] = ()
    #: remarks about text that is in the lines
    warnings: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class OutlineDraft:
    """The lines, blocks, origins, walls and omissions of an outline that is being written."""

    lines: list[str] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    origins: list[Any] = field(default_factory=list)
    walls: list[int] = field(default_factory=list)
    omissions: OmissionLog = field(default_factory=OmissionLog)

    def omitted(self, kind: str, amount: int = 1, where: str = "") -> None:
        """Report text that is not in the lines: a kind of OMISSION_KINDS, an amount in its unit, a place."""
        self.omissions.omitted(kind, amount, where)

    def outline(self, **stated: Any) -> Outline:
        """Return the outline, with what the document states."""
        origins, walls = self.origins or None, tuple(self.walls)
        omissions = self.omissions.listed()
        return Outline(
            lines=self.lines, blocks=self.blocks, origins=origins, walls=walls, omissions=omissions, **stated
        )


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
    omissions: tuple[Omission, ...]
    warnings: tuple[str, ...]

    def source_span(self, start: int, end: int) -> Origin:
        """Return the place in the file of lines `start` to `end` of the outline."""
        origins = self.outline.origins
        if not origins:
            return LineSpan(start, end)
        return type(origins[start - 1]).around(origins[start - 1 : end])  # type: ignore[arg-type]  # all origins of an outline are of one class

    def part_name(self, start: int, end: int) -> str:
        """Return the name of the part of the file that lines `start` to `end` are from, '' without names."""
        names = self.outline.names
        if not names:
            return ""
        first, last = names[start - 1], names[end - 1]
        return first if first == last else f"{first.partition(',')[0]} to {last.partition(',')[0]}"
