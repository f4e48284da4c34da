"""Markdown and MDX: block structure with line numbers."""

import re
from collections.abc import Iterator, Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ingest.parsers.blocks import cover_lines
from ingest.parsers.decode import decode, split_lines
from ingest.parsers.file_types import extension_of
from ingest.parsers.markup.front_matter import FrontMatter, read_front_matter
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
MARKUP = re.compile(r"[`*_\[\]<>&\\!~{]")
HEADING_ID = re.compile(r"\s*\{#[^}]*\}\s*$")
#: characters of a heading that are parsed; far more than a breadcrumb holds
MARKUP_CHARS = 1_000
FENCE_LANGUAGE = re.compile(r"[\w+#.-]+")


def parse_markdown(content: bytes, file: FileType) -> Outline:
    """Return the blocks of a Markdown or MDX file; every non-blank line lies in one of them.

    In MDX indented text is text, not code, as its specification has it; imports, exports and JSX are blocks
    of their own.
    """
    lines = split_lines(decode(content))
    front_matter = read_front_matter(lines)
    blocks = list(_front_matter_block(front_matter))
    blocks += markdown_blocks(lines, front_matter.last_line, is_mdx=extension_of(file.path) == "mdx")
    return Outline(
        lines=lines,
        blocks=blocks,
        title=front_matter.title,
        tags=front_matter.tags,
        metadata=front_matter.metadata,
        warnings=(front_matter.warning,) if front_matter.warning else (),
    )


def markdown_blocks(lines: Sequence[str], offset: int = 0, *, is_mdx: bool = False) -> Iterator[Block]:
    """Return the blocks of the lines after the first `offset` ones; every non-blank line lies in one."""
    tokens = _block_parser(is_mdx=is_mdx).parse("\n".join(lines[offset:]))
    return cover_lines(lines, offset, _blocks(tokens, offset))


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
    return Block(kind="heading", span=span, text=plain_text(content), level=int(token.tag[1]))


def plain_text(markup: str) -> str:
    """Return inline Markdown as one line of plain text, without emphasis, link targets, tags and ids."""
    text = HEADING_ID.sub("", markup[:MARKUP_CHARS])
    if MARKUP.search(text):
        inline = _inline_parser().parseInline(text)[0].children or []
        text = "".join(_inline_text(inline)) or text
    return " ".join(text.split())


def _inline_text(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type in ("text", "code_inline", "text_special", "image"):
            yield token.content
        elif token.type in ("softbreak", "hardbreak"):
            yield " "


def _fence_language(token: Token) -> str | None:
    named = FENCE_LANGUAGE.match(token.info.strip().lstrip("{.")) if token.type == "fence" else None
    return named[0].lower() if named else None
