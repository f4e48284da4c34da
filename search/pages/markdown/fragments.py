"""Rendering of short Markdown texts, such as answers and passages: no links, no ids, an optional mark."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from django.utils.safestring import SafeString, mark_safe
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from search.pages.markdown.html import CODE, OPTIONS, HtmlWriter, Tokens, code_lines
from search.pages.markdown.tokens import parse

# Private characters around the marked part of a text.
_START, _END = "\ue0f0", "\ue0f1"
_MARKS: Final = re.compile(f"([{_START}{_END}])")
# What begins a block on its line, and ends a row; a mark must not come between it and the edge of the line.
_BLOCK_START: Final = re.compile(r"[ \t]*(?:(?:[-*+>|]|\d{1,9}[.)]|#{1,6})[ \t]*)*")
_FENCE: Final = re.compile(r"[ \t]*(?:`{3,}|~{3,})[^\n]*\n?")
_BLOCK_END: Final = re.compile(r"(?:\n[ \t]*(?:`{3,}|~{3,})[ \t]*|[ \t]*\|[ \t]*)\Z")

Replace = Callable[[str], SafeString | None]


def render_fragment(
    text: str,
    *,
    marked: tuple[int, int] | None = None,
    pattern: re.Pattern[str] | None = None,
    replace: Replace = lambda _: None,
) -> SafeString:
    """Return a text as HTML, with the span `marked` in `mark` elements.

    What `pattern` finds outside of code is replaced by what `replace` returns for it, unless that is None.
    """
    text = _MARKS.sub("", text) if marked is None else _with_marks(text, *marked)
    # Only a document's first line can begin its front matter.
    tokens = parse(text.splitlines(), first=2)
    prepared = list(_Preparation(pattern, replace).prepare(tokens))
    return mark_safe(_FragmentWriter(prepared).render(prepared, OPTIONS, {}))  # noqa: S308  as `render_html`


def _with_marks(text: str, start: int, end: int) -> str:
    before, inside, after = (_MARKS.sub("", each) for each in (text[:start], text[start:end], text[end:]))
    prefix = ""
    if not before or before.endswith("\n"):
        found = _FENCE.match(inside) or _BLOCK_START.match(inside)
        prefix = found[0] if found else ""
    inside = inside[len(prefix) :]
    suffix = found[0] if (found := _BLOCK_END.search(inside)) else ""
    return f"{before}{prefix}{_START}{inside[: len(inside) - len(suffix)]}{_END}{suffix}{after}"


class _Preparation:
    """Removal of links, and division of texts at marks and patterns."""

    def __init__(self, pattern: re.Pattern[str] | None, replace: Replace) -> None:
        self._pattern, self._replace = pattern, replace
        self._is_marked = False

    def prepare(self, tokens: Tokens) -> Iterator[Token]:
        for token in tokens:
            if token.type in ("heading_open", "heading_close"):
                token.type, token.tag = token.type.replace("heading", "paragraph"), "p"
                if token.nesting > 0:
                    token.attrJoin("class", "heading")
            elif token.type in CODE:
                token.meta = token.meta | {"cited": self._read_code(token)}
            elif token.children:
                token.children = [part for child in token.children for part in self._split(child)]
            elif _MARKS.search(token.content):
                token.content = _MARKS.sub("", token.content)
            yield token

    def _read_code(self, token: Token) -> frozenset[int]:
        """Remove the marks from code, and return the indexes of the marked lines."""
        cited = set()
        for index, line in enumerate(code_lines(token.content)):
            self._is_marked |= _START in line
            if self._is_marked:
                cited.add(index)
            self._is_marked &= _END not in line
        token.content = _MARKS.sub("", token.content)
        return frozenset(cited)

    def _split(self, child: Token) -> Iterator[Token]:
        if child.type in ("link_open", "link_close"):
            return
        if child.type == "image":
            child = Token("text", "", 0, content=child.content)
        if child.type not in ("text", "code_inline"):
            yield child
            return
        for piece in _MARKS.split(child.content):
            if piece in (_START, _END):
                self._is_marked = piece == _START
            elif piece:
                yield from self._replaced(child, piece)

    def _replaced(self, child: Token, text: str) -> Iterator[Token]:
        at = 0
        found_all = self._pattern.finditer(text) if self._pattern and child.type == "text" else ()
        for found in found_all:
            html = self._replace(found[0])
            if html is not None:
                yield self._piece(child, text[at : found.start()])
                yield Token("replacement", "", 0, content=html)
                at = found.end()
        yield self._piece(child, text[at:])

    def _piece(self, child: Token, text: str) -> Token:
        meta = {"is_marked": self._is_marked and bool(text)}
        return Token(child.type, child.tag, 0, content=text, markup=child.markup, meta=meta)


class _FragmentWriter(HtmlWriter):
    """Render rules without ids."""

    def text(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        return _mark(tokens[idx], super().text(tokens, idx, options, env))

    def code_inline(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        return _mark(tokens[idx], super().code_inline(tokens, idx, options, env))

    def replacement(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        return tokens[idx].content

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Any) -> str:
        cited = tokens[idx].meta["cited"]
        return render_code(self.highlighted[idx], cited)

    code_block = fence


def render_code(lines: Sequence[SafeString], cited: frozenset[int] = frozenset()) -> SafeString:
    """Return highlighted lines as a block; `cited` are the indexes of its marked lines."""
    classes = (("line", "line cited")[index in cited] for index in range(len(lines)))
    spans = (f'<span class="{name}">{line}\n</span>' for name, line in zip(classes, lines, strict=True))
    html = f'<pre class="fence" tabindex="0" translate="no"><code>{"".join(spans)}</code></pre>\n'
    return mark_safe(html)  # noqa: S308  the lines are escaped


def _mark(token: Token, html: str) -> str:
    return f"<mark>{html}</mark>" if token.meta.get("is_marked") else html
