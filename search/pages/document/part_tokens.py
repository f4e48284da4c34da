"""Tokens of a rendition's parts, which the writer of rendered Markdown turns into HTML.

The parts come from a process that read an untrusted document, so nothing in them is believed: only the tags
below are written, all text is escaped, and links are resolved as those of Markdown are.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from markdown_it.token import Token

from search.pages.markdown.tokens import parse

Part = Any
#: Tags of inline content.
_INLINE: Final = frozenset({"strong", "em", "s", "sub", "sup"})
#: Parts and inline content nested deeper are malformed.
_MAX_DEPTH: Final = 40


class MalformedPart(ValueError):
    """A part is not of the form that `ingest.renditions.parts` describes."""


def part_tokens(parts: Sequence[Part]) -> list[Token]:
    """Return the tokens of parts; their maps are line numbers, both included. Raises MalformedPart."""
    try:
        return [token for part in parts for token in _tokens(part, 0)]
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise MalformedPart(f"{type(error).__name__}: {error}") from error


def _tokens(part: Part, depth: int) -> Iterator[Token]:
    if depth > _MAX_DEPTH:
        raise MalformedPart("The parts are nested too deeply.")
    yield from _WRITERS[part["is"]](part, lines_of(part), depth)


def lines_of(part: Part) -> list[int]:
    """Return the first and the last line of a part."""
    start, end = part["at"]
    return [max(1, int(start)), max(1, int(start), int(end))]


def _element(
    tag: str, name: str, at: list[int], depth: int, inner: Iterator[Token], **attrs: Any
) -> Iterator[Token]:
    yield Token(f"{name}_open", tag, 1, map=at, level=depth, block=True, attrs=attrs)
    yield from inner
    yield Token(f"{name}_close", tag, -1, level=depth, block=True)


def _heading(part: Part, at: list[int], depth: int) -> Iterator[Token]:
    tag = f"h{min(6, max(1, int(part['level'])))}"
    return _element(tag, "heading", at, depth, _inline(part["text"]))


def _paragraph(part: Part, at: list[int], depth: int) -> Iterator[Token]:
    return _element("p", "paragraph", at, depth, _inline(part["text"]))


def _code(part: Part, at: list[int], depth: int) -> Iterator[Token]:
    if label := part.get("label"):
        yield Token("label", "", 0, content=str(label))
    content = "\n".join(map(str, part["lines"])) + "\n"
    yield Token(
        "code_block", "code", 0, map=at, level=depth, info=str(part["language"]), content=content, block=True
    )


def _rule(part: Part, at: list[int], depth: int) -> Iterator[Token]:
    yield Token("hr", "hr", 0, map=at, level=depth, block=True)


def _quote(part: Part, at: list[int], depth: int) -> Iterator[Token]:
    title = (
        [{"is": "paragraph", "at": [at[0], at[0]], "text": [["strong", part["title"]]]}]
        if part["title"]
        else []
    )
    return _element("blockquote", "blockquote", at, depth, _nested([*title, *part["parts"]], depth))


def _list(part: Part, at: list[int], depth: int) -> Iterator[Token]:
    name, tag = ("ordered_list", "ol") if part["ordered"] else ("bullet_list", "ul")
    first = {"start": int(part["first"])} if part["ordered"] and part["first"] != 1 else {}
    items = (
        token
        for each in part["items"]
        for token in _element("li", "list_item", lines_of(each), depth + 1, _item(each["parts"], depth + 1))
    )
    return _element(tag, name, at, depth, items, **first)


def _item(parts: Sequence[Part], depth: int) -> Iterator[Token]:
    """Yield the parts of an item; its only paragraph has no margins."""
    is_tight = [part["is"] for part in parts].count("paragraph") == 1 and parts[0]["is"] == "paragraph"
    for number, token in enumerate(_nested(parts, depth)):
        token.hidden = is_tight and number in (0, 2)
        yield token


def _nested(parts: Sequence[Part], depth: int) -> Iterator[Token]:
    return (token for part in parts for token in _tokens(part, depth + 1))


def _table(part: Part, at: list[int], depth: int) -> Iterator[Token]:
    header = (token for row in part["header"] for token in _row(row, "th", depth))
    body = (token for row in part["rows"] for token in _row(row, "td", depth))

    def sections() -> Iterator[Token]:
        if part["header"]:
            yield from _element("thead", "thead", at, depth + 1, header)
        yield from _element("tbody", "tbody", at, depth + 1, body)

    return _element("table", "table", at, depth, sections())


def _row(row: Part, tag: str, depth: int) -> Iterator[Token]:
    at = lines_of(row)
    cells = (token for cell in row["cells"] for token in _element(tag, tag, at, depth + 3, _inline(cell)))
    return _element("tr", "tr", at, depth + 2, cells)


def _facts(part: Part, at: list[int], depth: int) -> Iterator[Token]:
    def cells(name: str, value: str) -> Iterator[Token]:
        yield from _element("th", "th", at, depth + 2, _inline([name]))
        yield from _element("td", "td", at, depth + 2, _inline([value]))

    rows = (
        token
        for name, value in part["pairs"]
        for token in _element("tr", "tr", at, depth + 1, cells(name, value))
    )
    return _element("table", "table", at, depth, rows, **{"class": "facts"})


def _markdown(part: Part, at: list[int], depth: int) -> Iterator[Token]:
    """Yield the tokens of Markdown whose lines have the `numbers`."""
    numbers = [max(1, int(number)) for number in part["numbers"]]
    # not from line 1, where front matter would be expected
    for token in parse([str(line) for line in part["lines"]], first=2):
        if token.map is not None:
            token.map = [numbers[min(line - 2, len(numbers) - 1)] for line in token.map]
        yield token


_WRITERS: Final = {
    "heading": _heading,
    "paragraph": _paragraph,
    "code": _code,
    "rule": _rule,
    "quote": _quote,
    "list": _list,
    "table": _table,
    "facts": _facts,
    "markdown": _markdown,
}


def _inline(content: Part) -> Iterator[Token]:
    yield Token("inline", "", 0, children=list(_pieces(content, 0)))


def _pieces(content: Sequence[Any], depth: int) -> Iterator[Token]:
    if depth > _MAX_DEPTH or isinstance(content, str):
        raise MalformedPart("Inline content is not a list, or nested too deeply.")
    for piece in content:
        if isinstance(piece, str):
            yield Token("text", "", 0, content=piece)
        else:
            yield from _piece(piece, depth)


def _piece(piece: Sequence[Any], depth: int) -> Iterator[Token]:
    tag, *rest = piece
    if tag == "br":
        yield Token("hardbreak", "br", 0)
    elif tag == "code":
        yield Token("code_inline", "code", 0, content=text_of(rest))
    elif tag == "img":
        yield Token("image", "img", 0, attrs={"src": str(rest[0])}, content=str(rest[1]))
    elif tag == "a":
        yield Token("link_open", "a", 1, attrs={"href": str(rest[0])})
        yield from _pieces(rest[1:], depth + 1)
        yield Token("link_close", "a", -1)
    elif tag in _INLINE:
        yield Token(f"{tag}_open", tag, 1)
        yield from _pieces(rest, depth + 1)
        yield Token(f"{tag}_close", tag, -1)
    else:
        raise MalformedPart("Inline content has an unknown tag.")


def text_of(content: Sequence[Any]) -> str:
    """Return inline content as plain text."""
    return "".join(piece if isinstance(piece, str) else _text_of_piece(piece) for piece in content)


def _text_of_piece(piece: Sequence[Any]) -> str:
    tag, *rest = piece
    return {"br": " ", "img": str(rest[-1]) if rest else ""}.get(tag) or text_of(
        rest[1:] if tag == "a" else rest
    )
