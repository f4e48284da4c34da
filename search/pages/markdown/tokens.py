"""Markdown as tokens: raw HTML apart, each paragraph bounded, lines numbered as in the document."""

import re
from collections.abc import Iterator, Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

#: What is between blank lines and longer stays as it is written: brackets in it would cost their square.
MAX_INLINE_CHARS = 10_000
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
    """Return the tokens of lines that begin with number `first`; maps are line numbers, from 1, both
    included.

    `opening` is the line that opened a fence before them, as `Stretch` says; `references` are lines that say
    where references lead. The header of a file is a fence.
    """
    header = _front_matter_lines(lines) if first == 1 else 0
    source = [*([opening] if opening else ()), *lines[header:]]
    parser, known = _parser(is_mdx=is_mdx), {}
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
    # in MDX indented text is text
    return parser.disable("code") if is_mdx else parser


def _parse_inline(state: StateCore) -> None:
    for token in state.tokens:
        if token.type != "inline":
            continue
        token.children = []
        if len(token.content) <= MAX_INLINE_CHARS:
            state.md.inline.parse(token.content, state.md, state.env, token.children)
        else:
            token.children.append(Token("text", "", 0, content=token.content))


def _front_matter_lines(lines: Sequence[str]) -> int:
    """Return how many lines the header at the top takes, both fences included."""
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
    """Return what an inline token says, without its markup, on one line."""
    said = "".join(_said(child) for child in token.children or ())
    return " ".join(said.split())


def _said(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return " "
    return token.content if token.type in ("text", "text_special", "code_inline", "image") else ""


def slug_of(heading: str) -> str:
    """Return the name that links call a heading by, as git hosts make it."""
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")[:200]
