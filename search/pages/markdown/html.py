"""Rendering of tokens as HTML. All text is escaped; raw HTML is shown as text, never run."""

import re
from collections.abc import Sequence
from typing import Any

from django.utils.safestring import SafeString, mark_safe
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from search.pages.document.highlighted_code import Code, highlight_lines, language_of_fence
from search.pages.markdown.line_ids import CODE, code_lines
from search.pages.markdown.links import HEADING_PREFIX

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
        fences = {index: _code(token) for index, token in enumerate(tokens) if token.type in CODE}
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
            _code_line(number, html, is_cited=number in cited)
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


def _code(token: Token) -> Code:
    return Code(lines=code_lines(token.content), language=language_of_fence(token.info))


def _code_line(number: int, html: str, *, is_cited: bool) -> str:
    return f'<span class="line{" cited" if is_cited else ""}" id="L{number}">{html}\n</span>'


def _raw(text: str) -> str:
    return f'<code class="raw">{escapeHtml(text)}</code>' if text else ""
