"""Rendering of tokens as HTML. All text is escaped; raw HTML is shown as text, never run."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.utils.safestring import SafeString, mark_safe
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from search.pages.document.highlighted_code import Code, highlight_lines, language_of_fence
from search.pages.markdown.links import HEADING_PREFIX

#: Tokens that are marked as a whole if they hold a cited line; in a fence single lines are marked.
_MARKED = frozenset({"paragraph_open", "heading_open", "tr_open", "html_block", "hr"})
CODE = frozenset({"fence", "code_block"})
#: The most lines of a page that each get an anchor.
MAX_ANCHORED_LINES = 2_000


def add_line_ids(tokens: Sequence[Token], *, first: int, last: int, cited: range) -> list[Token]:
    """Return the tokens with line ids on elements that start in a line, and anchors for the other lines."""
    taken: set[int] = set()
    for token in tokens:
        if token.map is None:
            continue
        if token.type in CODE:
            token.meta = token.meta | {"cited": cited, "first": _first_code_line(token)}
            taken |= set(_code_lines(token))
        elif token.type in _MARKED:
            _mark(token, taken, cited)
    if last - first > MAX_ANCHORED_LINES:  # a page of HTML or of JSON has few lines that are seen
        return [_anchors(line for line in cited[:1] if line not in taken), *tokens]
    return list(_with_anchors(tokens, taken, first=first, last=last))


def _mark(token: Token, taken: set[int], cited: range) -> None:
    start, end = token.map or (0, 0)
    if start not in taken:
        taken.add(start)
        token.attrSet("id", f"L{start}")
    if cited and start < cited.stop and end >= cited.start:
        token.attrJoin("class", "cited")


def _first_code_line(token: Token) -> int:
    start = (token.map or [1, 1])[0]
    return start if token.type == "code_block" or token.meta.get("is_begun") else start + 1


def _code_lines(token: Token) -> range:
    first = _first_code_line(token)
    return range(first, first + len(code_lines(token.content)))


def code_lines(content: str) -> list[str]:
    """Return the lines of a fence's content."""
    return content.removesuffix("\n").split("\n")


def _with_anchors(tokens: Sequence[Token], taken: set[int], *, first: int, last: int) -> Iterator[Token]:
    at = first
    for token in tokens:
        if token.level == 0 and token.nesting >= 0 and token.map is not None:
            yield _anchors(line for line in range(at, token.map[1] + 1) if line not in taken)
            at = max(at, token.map[1] + 1)
        yield token
    yield _anchors(line for line in range(at, last + 1) if line not in taken)


def _anchors(lines: Iterable[int]) -> Token:
    return Token("anchors", "", 0, meta={"lines": tuple(lines)})


_COMMENT = re.compile(r"\s*(?:<!--(?:(?!-->).)*-->\s*)+", re.DOTALL)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_ALIGNED = {"text-align:right": "right", "text-align:center": "center"}
OPTIONS = OptionsDict(
    {
        "maxNesting": 20,
        "html": False,
        "linkify": False,
        "typographer": False,
        "quotes": "",
        "xhtmlOut": False,
        "breaks": False,
        "langPrefix": "language-",
        "highlight": None,
    }
)
Tokens = Sequence[Token]


def render_html(tokens: Tokens) -> SafeString:
    """Return the HTML of tokens with resolved links and line ids."""
    html = HtmlWriter(tokens).render(tokens, OPTIONS, {})
    return mark_safe(html)  # noqa: S308  every rule below escapes the document's text


class HtmlWriter(RendererHTML):
    """Render rules that differ from CommonMark's own; each is named after a token type."""

    def __init__(self, tokens: Tokens) -> None:
        super().__init__()
        fences = {
            index: Code(lines=code_lines(token.content), language=language_of_fence(token.info))
            for index, token in enumerate(tokens)
            if token.type in CODE
        }
        #: The highlighted lines of each fence, by its token's index.
        self.highlighted = dict(zip(fences, highlight_lines(list(fences.values())), strict=True))

    def anchors(self, tokens: Tokens, index: int, options: OptionsDict, env: Any) -> str:
        return "".join(f'<span class="at" id="L{line}"></span>' for line in tokens[index].meta["lines"])

    def place(self, tokens: Tokens, index: int, options: OptionsDict, env: Any) -> str:
        return f'<span class="at" id="{escapeHtml(tokens[index].content)}"></span>'

    def label(self, tokens: Tokens, index: int, options: OptionsDict, env: Any) -> str:
        return f'<p class="label">{escapeHtml(tokens[index].content)}</p>'

    def heading_open(self, tokens: Tokens, index: int, options: OptionsDict, env: Any) -> str:
        name = escapeHtml(HEADING_PREFIX + tokens[index].meta["name"])
        return f'{self.renderToken(tokens, index, options, env)}<span class="at" id="{name}"></span>'

    def paragraph_open(self, tokens: Tokens, index: int, options: OptionsDict, env: Any) -> str:
        if not tokens[index].hidden:
            return self.renderToken(tokens, index, options, env)
        tokens[index].attrJoin("class", "tight")
        return f"<span{self.renderAttrs(tokens[index])}>"

    def paragraph_close(self, tokens: Tokens, index: int, options: OptionsDict, env: Any) -> str:
        return "</span>" if tokens[index].hidden else "</p>\n"

    def table_open(self, tokens: Tokens, index: int, options: OptionsDict, env: Any) -> str:
        opened = self.renderToken(tokens, index, options, env)
        return f'<div class="scroll" tabindex="0" role="group" aria-label="Table">{opened}'

    def table_close(self, tokens: Tokens, index: int, options: OptionsDict, env: Any) -> str:
        return "</table></div>\n"

    def th_open(self, tokens: Tokens, index: int, options: OptionsDict, env: Any) -> str:
        side = _ALIGNED.get(str(tokens[index].attrGet("style") or ""))
        return f'<{tokens[index].tag} class="{side}">' if side else f"<{tokens[index].tag}>"

    td_open = th_open

    def picture(self, tokens: Tokens, index: int, options: OptionsDict, env: Any) -> str:
        return self.renderToken(tokens, index, options, env)

    def fence(self, tokens: Tokens, idx: int, options: OptionsDict, env: Any) -> str:
        token = tokens[idx]
        first, cited = token.meta["first"], token.meta["cited"]
        lines = (
            f'<span class="line{" cited" if number in cited else ""}" id="L{number}">{html}\n</span>'
            for number, html in enumerate(self.highlighted[idx], start=first)
        )
        return f'<pre class="fence" tabindex="0" translate="no"><code>{"".join(lines)}</code></pre>\n'

    code_block = fence

    def html_block(self, tokens: Tokens, index: int, options: OptionsDict, env: Any) -> str:
        token = tokens[index]
        text = "" if _COMMENT.fullmatch(token.content) else token.content.strip("\n")
        token.attrJoin("class", "html")
        return f"<div{self.renderAttrs(token)}>{_raw(text)}</div>\n"

    def html_inline(self, tokens: Tokens, index: int, options: OptionsDict, env: Any) -> str:
        text = tokens[index].content
        if _BREAK.fullmatch(text):
            return "<br>"
        return "" if _COMMENT.fullmatch(text) else _raw(text)


def _raw(text: str) -> str:
    return f'<code class="raw">{escapeHtml(text)}</code>' if text else ""
