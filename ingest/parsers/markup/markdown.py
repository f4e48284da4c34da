"""Markdown and MDX: block structure with line numbers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ingest.parsers.blocks import cover_lines, shift_block
from ingest.parsers.decode import decode, split_lines
from ingest.parsers.file_types import extension_of
from ingest.parsers.markup.front_matter import FrontMatter, read_front_matter, read_trailing_fields
from ingest.parsers.markup.html import read_fragment
from ingest.parsers.markup.inline_html import end_tag_names, has_html, split_fences, strip_html, strip_mdx
from ingest.parsers.types import Block, BlockKind, FileType, LineSpan, Outline

KINDS: dict[str, BlockKind] = {
    "paragraph_open": "paragraph",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "blockquote_open": "quote",
    "table_open": "table",
    "fence": "code",
    "code_block": "code",
    "html_block": "html",
    "hr": "paragraph",
}
#: tokens at whose start, at any depth, a block too long for a chunk may be cut
BREAKS = frozenset({"list_item_open", "paragraph_open", "fence"})
#: characters that may begin markup; an underscore inside a word never does
MARKUP = re.compile(r"[`*\[<&\\]|(?<!\w)_|_(?!\w)")
CODE_SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
#: lines above a heading that only draw a line, as in reStructuredText, and headings of nothing else
OVERLINE = re.compile(r"\A(?:\s*([=\-~^*+#_.:\"'])\1{2,}\s*(?:\n|\Z))+")
REFERENCE_LINK = re.compile(r"(?<!!)\[([^\[\]]+)\]\[[^\[\]]*\]")
HEADING_ID = re.compile(r"\s*\{#[^}]*\}\s*$")
#: characters of a heading that are parsed; far more than a breadcrumb holds
MARKUP_CHARS = 1_000
FENCE_LANGUAGE = re.compile(r"[\w+#.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkdownText:
    """Readable lines of Markdown, and the blocks over them."""

    lines: Sequence[str]
    blocks: Sequence[Block]
    #: per line its lines in the file; None where the lines are the file's own
    origins: Sequence[LineSpan] | None = None


def parse_markdown(content: bytes, file: FileType) -> Outline:
    """Return the blocks of a Markdown or MDX file; every line with text for readers lies in one of them.

    In MDX indented text is text, not code, as its specification has it.
    """
    lines = split_lines(decode(content))
    front_matter = read_front_matter(lines)
    trailing = read_trailing_fields(lines)
    text = read_markdown(lines, front_matter.last_line, is_mdx=extension_of(file.path) == "mdx")
    return Outline(
        lines=text.lines,
        blocks=[*_front_matter_block(front_matter), *text.blocks],
        origins=text.origins,
        title=front_matter.title or trailing.title,
        tags=tuple(dict.fromkeys((*front_matter.tags, *trailing.tags))),
        metadata={**trailing.metadata, **front_matter.metadata},
        warnings=(front_matter.warning,) if front_matter.warning else (),
    )


def read_markdown(lines: Sequence[str], offset: int = 0, *, is_mdx: bool = False) -> MarkdownText:
    """Return the text after the first `offset` lines, which stay in front of it.

    HTML is read as text: blocks of it as pages are, tags in prose are left out. So is the markup of MDX.
    """
    if is_mdx:
        lines = [*lines[:offset], *strip_mdx(lines[offset:])]
    tokens = _block_parser(is_mdx=is_mdx).parse("\n".join(lines[offset:]))
    blocks = list(cover_lines(lines, offset, _blocks(tokens, offset)))
    if not any("<" in line for block in blocks if block.kind != "code" for line in _lines_of(block, lines)):
        return MarkdownText(lines=lines, blocks=blocks)
    return _HtmlReader(lines, offset, _code_lines(tokens, offset)).read(blocks)


def _lines_of(block: Block, lines: Sequence[str]) -> Sequence[str]:
    return lines[block.span.start - 1 : block.span.end]


def _code_lines(tokens: Sequence[Token], offset: int) -> frozenset[int]:
    """Return the numbers of the lines of code at any depth."""
    spans = (token.map for token in tokens if token.type in ("fence", "code_block") and token.map)
    return frozenset(number + offset for first, end in spans for number in range(first + 1, end + 1))


class _HtmlReader:
    """Reader that writes the lines of Markdown anew, without HTML."""

    def __init__(self, lines: Sequence[str], offset: int, code_lines: frozenset[int]) -> None:
        self._source = lines
        self._code_lines = code_lines
        self._ended = end_tag_names(lines)
        self._lines = list(lines[:offset])
        self._origins = [LineSpan(number, number) for number in range(1, offset + 1)]
        self._blocks: list[Block] = []

    def read(self, blocks: Sequence[Block]) -> MarkdownText:
        """Return the text of the blocks, separated as in the file."""
        above = len(self._lines)
        for block in blocks:
            for number in range(above + 1, block.span.start):
                self._add("", LineSpan(number, number))
            above = block.span.end
            source = _lines_of(block, self._source)
            if block.kind == "html" and has_html("\n".join(source), self._ended):
                self._read_html(block)
            elif block.kind == "code" or not any("<" in line for line in source):
                self._copy_unchanged(block, source)
            else:
                self._copy(block, self._strip(block))
        return MarkdownText(lines=self._lines, blocks=self._blocks, origins=self._origins)

    def _add(self, line: str, origin: LineSpan) -> None:
        self._lines.append(line)
        self._origins.append(origin)

    def _strip(self, block: Block) -> Sequence[str]:
        """Return the lines of a block without tags outside of code."""
        stripped: list[str] = []
        numbers = range(block.span.start, block.span.end + 1)
        for is_code, group in groupby(numbers, key=self._code_lines.__contains__):
            part = [self._source[number - 1] for number in group]
            stripped += part if is_code else strip_html("\n".join(part), self._ended).split("\n")
        return stripped

    def _copy_unchanged(self, block: Block, lines: Sequence[str]) -> None:
        """Add a block with its own lines."""
        by = len(self._lines) + 1 - block.span.start
        self._blocks.append(shift_block(block, by) if by else block)
        self._lines += lines
        self._origins += [LineSpan(number, number) for number in range(block.span.start, block.span.end + 1)]

    def _copy(self, block: Block, lines: Sequence[str]) -> None:
        """Add the lines of a block, without those that only markup stood on."""
        start = len(self._lines) + 1
        places: dict[int, int] = {}
        for number, line in enumerate(lines, start=block.span.start):
            places[number] = len(self._lines) + 1
            if line.strip() or not self._source[number - 1].strip():
                self._add(line, LineSpan(number, number))
        end = len(self._lines)
        if end < start:
            return
        kind: BlockKind = "paragraph" if block.kind == "html" else block.kind
        breaks = sorted({places[number] for number in block.breaks} - {start, end + 1})
        self._blocks.append(replace(block, kind=kind, span=LineSpan(start, end), breaks=tuple(breaks)))

    def _read_html(self, block: Block) -> None:
        """Add the text of a block of HTML, with fences of code in it as code."""
        first = block.span.start
        for is_code, part in split_fences(_lines_of(block, self._source)):
            if is_code:
                self._copy_unchanged(Block(kind="code", span=LineSpan(first, first + len(part) - 1)), part)
            else:
                page = read_fragment("\n".join(part))
                by = len(self._lines)
                self._lines += page.lines
                self._origins += [
                    LineSpan(span.start + first - 1, span.end + first - 1) for span in page.origins
                ]
                self._blocks += [shift_block(each, by) for each in page.blocks]
            first += len(part)


@cache
def _block_parser(*, is_mdx: bool) -> MarkdownIt:
    """Return a parser of block structure only: inline parsing would take two thirds of the time."""
    parser = MarkdownIt("commonmark").enable("table").disable(["inline", "text_join"])
    # a reference definition produces no token, so its line would be lost
    parser.disable("reference")
    return parser.disable("code") if is_mdx else parser


@cache
def _inline_parser() -> MarkdownIt:
    return MarkdownIt("commonmark")


def _front_matter_block(front_matter: FrontMatter) -> Iterator[Block]:
    if front_matter.last_line:
        yield Block(kind="front_matter", span=LineSpan(1, front_matter.last_line))


def _blocks(tokens: Sequence[Token], offset: int) -> Iterator[Block]:
    """Yield the top-level blocks; `offset` lines precede the parsed text."""
    index = 0
    while index < len(tokens):
        token = tokens[index]
        closing = _closing_index(tokens, index)
        if token.map is not None:
            span = LineSpan(token.map[0] + 1 + offset, token.map[1] + offset)
            if token.type == "heading_open":
                yield _heading(token, tokens[index + 1].content, span)
            elif token.type in KINDS:
                breaks = _breaks(tokens[index + 1 : closing], offset)
                yield Block(kind=KINDS[token.type], span=span, language=_fence_language(token), breaks=breaks)
        index = closing + 1


def _closing_index(tokens: Sequence[Token], index: int) -> int:
    if tokens[index].nesting != 1:
        return index
    closing = index + 1
    while tokens[closing].level > 0:
        closing += 1
    return closing


def _breaks(tokens: Sequence[Token], offset: int) -> tuple[int, ...]:
    if len(tokens) < 4:
        return ()
    starts = {token.map[0] + 1 + offset for token in tokens if token.type in BREAKS and token.map}
    return tuple(sorted(starts))


def _heading(token: Token, content: str, span: LineSpan) -> Block:
    text = plain_text(OVERLINE.sub("", content))
    if not text:  # a picture without words, a line that was drawn
        return Block(kind="paragraph", span=span)
    return Block(kind="heading", span=span, text=text, level=int(token.tag[1]))


def plain_text(markup: str) -> str:
    """Return inline Markdown as one line of plain text, without emphasis, link targets, tags and ids."""
    text = HEADING_ID.sub("", markup[:MARKUP_CHARS])
    if not MARKUP.search(CODE_SPAN.sub(" ", text)):
        text = CODE_SPAN.sub(r"\1", text)
    else:
        without_tags = strip_html(text, end_tag_names([text])) if "<" in text else text
        inline = _inline_parser().parseInline(REFERENCE_LINK.sub(r"\1", without_tags))[0].children or []
        words = "".join(_inline_text(inline)).strip()
        # Badges beside words are no part of them.
        text = words or " ".join(token.content for token in inline if token.type == "image")
    return " ".join(text.split())


def _inline_text(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type in ("text", "code_inline", "text_special", "html_inline"):
            yield token.content
        elif token.type in ("softbreak", "hardbreak"):
            yield " "


def _fence_language(token: Token) -> str | None:
    named = FENCE_LANGUAGE.match(token.info.strip().lstrip("{.")) if token.type == "fence" else None
    return named[0].lower() if named else None
