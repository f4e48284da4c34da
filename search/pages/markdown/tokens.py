"""Parsing of Markdown to tokens with raw HTML apart, bounded paragraphs, and the document's line numbers."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

#: A longer paragraph stays source text: brackets in it would take quadratic time.
MAX_INLINE_CHARS = 10_000
# A line drawn above a heading, as in reStructuredText.
_OVERLINE = re.compile(r"\A(?:\s*([=\-~^*+#_.:\"'])\1{2,}\s*\n)+")
_FRONT_MATTER = {"---": ("---", "..."), "+++": ("+++",)}
_MAX_FRONT_MATTER_LINES = 400


def parse(
    lines: Sequence[str],
    *,
    first: int,
    opening: str = "",
    references: Sequence[str] = (),
    is_mdx: bool = False,
) -> list[Token]:
    """Return the tokens of lines, the first of which has number `first`.

    Maps are line numbers from 1, both included. `opening` is the line that opened a fence before them, as in
    `Stretch`; `references` are lines that define references. The front matter of a file becomes a fence.
    """
    header = _front_matter_lines(lines) if first == 1 else 0
    source = [*([opening] if opening else ()), *lines[header:]]
    parser = _parser(is_mdx=is_mdx)
    known: dict[str, Any] = {}
    parser.parse("\n".join(references), known)
    tokens = parser.parse("\n".join(source), known)
    shift = first + header - (1 if opening else 0)
    for token in tokens:
        if token.map is not None:
            token.map = [max(first, token.map[0] + shift), token.map[1] + shift - 1]
        if opening and token.type == "fence":
            opening, token.meta = "", {"is_begun": True}
    return [*_header(lines[:header]), *tokens]


def is_markdown(mime: str) -> bool:
    """Return whether documents of a type can be rendered."""
    return mime in ("text/markdown", "text/mdx")


@cache
def _parser(*, is_mdx: bool) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.core.ruler.at("inline", _parse_inline)
    # in MDX indented text is not code
    return parser.disable("code") if is_mdx else parser


def _parse_inline(state: StateCore) -> None:
    for before, token in pairwise(state.tokens):
        if token.type != "inline":
            continue
        if before.type == "heading_open":
            token.content = _OVERLINE.sub("", token.content)
        token.children = []
        if len(token.content) <= MAX_INLINE_CHARS:
            state.md.inline.parse(token.content, state.md, state.env, token.children)
        else:
            token.children.append(Token("text", "", 0, content=token.content))


def _front_matter_lines(lines: Sequence[str]) -> int:
    """Return the number of lines of the front matter, both fences included; 0 if there is none."""
    ends = _FRONT_MATTER.get(lines[0].rstrip(), ()) if lines else ()
    for index, line in enumerate(lines[1:_MAX_FRONT_MATTER_LINES], start=2):
        if line.rstrip() in ends:
            return index
    return 0


def _header(lines: Sequence[str]) -> Iterator[Token]:
    if lines:
        language = "toml" if lines[0].startswith("+") else "yaml"
        content = "\n".join(lines[1:-1])
        yield Token("fence", "code", 0, map=[1, len(lines)], info=language, content=content, block=True)


def plain_text(token: Token) -> str:
    """Return the text of an inline token without its markup, on one line."""
    text = "".join(_visible_text(child) for child in token.children or ())
    return " ".join(text.split())


def _visible_text(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return " "
    return token.content if token.type in ("text", "text_special", "code_inline", "image") else ""


def slug_of(heading: str) -> str:
    """Return the name by which links address a heading, built as git hosts do."""
    words = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return words.replace(" ", "-")[:200]
