"""Line ids of a rendered stretch: one element per line has its number as id; cited lines are marked."""

from collections.abc import Iterable, Iterator, Sequence

from markdown_it.token import Token

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
