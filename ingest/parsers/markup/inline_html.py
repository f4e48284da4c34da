"""Tags, comments and JSX in the prose of Markdown: what a reader of the rendered page does not see.

Every function keeps the number of lines.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

#: elements of HTML that authors write in Markdown
HTML_NAME_LIST = """
a abbr address article aside audio b bdi bdo big blockquote body br button canvas caption center cite code
col colgroup dd del details dfn div dl dt em figcaption figure font footer form h1 h2 h3 h4 h5 h6 head header
hr html i iframe img input ins kbd label li link main mark menu meta nav noscript object ol p picture pre q s
samp script section select small source span strike strong style sub summary sup svg table tbody td template
tfoot th thead time title tr tt u ul var video wbr
"""
HTML_NAMES: Final = frozenset(HTML_NAME_LIST.split())
#: elements that have no end tag, or may lack it
WITHOUT_END: Final = frozenset(["br", "dd", "dt", "hr", "img", "li", "p", "td", "th", "tr", "wbr"])
#: elements that stand apart from the text around them
APART: Final = frozenset(["br", "dd", "div", "dt", "hr", "li", "p", "summary", "td", "th", "tr"])
#: attributes of components that hold text for readers
TEXT_ATTRIBUTES: Final = frozenset(
    {
        *("title", "label", "alt", "caption", "summary", "description", "heading", "header", "subtitle"),
        *("tip", "text", "question", "answer"),
    }
)
#: attributes of components whose values may have several words without being text for readers
DESIGN_ATTRIBUTES: Final = frozenset(
    {"className", "class", "style", "sx", "rel", "sizes", "srcSet", "allow", "d", "viewBox", "points", "mode"}
)
#: attributes of HTML without a value
SWITCHES: Final = frozenset(
    {"checked", "controls", "disabled", "hidden", "inert", "loop", "muted", "open", "autoplay", "reversed"}
)
CODE_SPAN: Final = r"(?<!`)(`++)[^`](?:[^\n]|\n(?![ \t]*\n))*?(?<!`)\1(?!`)"
#: code spans, escapes, mathematics, and what may begin markup, in order of their precedence
PROSE_TOKEN = re.compile(rf"{CODE_SPAN}|\\.|<!--|<(?=[A-Za-z/>])")
MDX_TOKEN = re.compile(
    rf"{CODE_SPAN}|\\.|\$\$[^$]+\$\$|\$(?!\s)[^$\n]*[^\s$]\$(?!\d)|<!--|<(?=[A-Za-z/>])|\{{"
)
TAG_START = re.compile(r"<(/?)([A-Za-z][\w.:-]*|(?=>))")
ATTRIBUTE = re.compile(r"\s+([A-Za-z_:@#][\w:.@-]*)")
VALUE = re.compile(r"\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'=<>`{]+)|(?=(\{)))")
TAG_END = re.compile(r"\s*(/?)>")
SPREAD = re.compile(r"\s*(?=\{)")
END_TAG = re.compile(r"</([A-Za-z][\w.:-]*)\s*>")
BRACE = re.compile(r"\{")
#: a part of an expression: a string, the start of a template or a comment, which may hold braces, or a brace
EXPRESSION_TOKEN = re.compile(r"(?<!\\)(?:\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')|`|/\*|[{}]")
STRING = re.compile(r"\{\s*(?:\"([^\"\\\n]*)\"|'([^'\\\n]*)'|`([^`\\$]*)`)\s*\}")
FENCE = re.compile(r"\s*(?:>\s*)*(?:[-*+]\s+|\d+[.)]\s+)?(`{3,}|~{3,})([^`]*)$")
#: statements of MDX, which begin at the margin
STATEMENT = re.compile(
    r"import\s+(?:[\"'{*]|type\b|[\w$]+\s*(?:,|from\b))|import\s*[\"'{]"
    r"|export\s+(?:default|const|let|var|function|async|class|type|interface|\{|\*)"
)
#: an export that expressions in the text may show
CONSTANT = re.compile(r"export\s+const\s+(\w+)\s*=\s*(\"[^\"]*\"|'[^']*'|\d[\d._]*+)\s*+;?\s*$")
#: lines of an export; one that is never closed is searched so far
MAX_STATEMENT_LINES: Final = 200
BRACKETS = re.compile(r"([(\[{])|[)\]}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """A tag of HTML or JSX in a text, which it ends at `end` of."""

    name: str
    end: int
    is_end: bool
    is_closed: bool
    attributes: Mapping[str, str | None]

    @property
    def text(self) -> str:
        """Return what the tag shows: the text for a picture, titles of a component, a space, or nothing."""
        if self.name in APART:
            return " "
        if self.name in HTML_NAMES:
            return self.attributes.get("alt") or ""
        values = ((name, value.strip()) for name, value in self.attributes.items() if value)
        return " ".join(
            value
            for name, value in values
            if name in TEXT_ATTRIBUTES or (" " in value and name not in DESIGN_ATTRIBUTES)
        )


def end_tag_names(lines: Sequence[str]) -> frozenset[str]:
    """Return the names of the end tags in a text, by which `strip_html` tells tags from placeholders."""
    return frozenset(_name(name) for line in lines if "</" in line for name in END_TAG.findall(line))


def strip_html(text: str, ended: frozenset[str]) -> str:
    """Return prose without tags and comments; `<` in other meanings, such as `<name>`, stays.

    Args:
        ended: the names of the document's end tags.
    """
    return _strip(text, PROSE_TOKEN, lambda tag: tag.text if _is_markup(tag, ended) else None)


def has_html(text: str, ended: frozenset[str]) -> bool:
    """Return whether there is a tag or a comment in `text`."""
    return strip_html(text, ended) != text


def strip_mdx(lines: Sequence[str]) -> list[str]:
    """Return the lines of an MDX file without imports, exports, expressions and components.

    Texts of components stay, constants, and strings in attributes for readers. Elements of HTML stay, without
    their other attributes, which may hold JSX. Nothing in fences of code is touched.
    """
    stripped: list[str] = []
    values = {found[1]: found[2].strip("\"'") for line in lines if (found := CONSTANT.match(line))}
    for is_code, part in split_fences(lines):
        stripped += part if is_code else _strip_prose_of_mdx(part, values)
    return stripped


def _strip_prose_of_mdx(lines: list[str], values: Mapping[str, str]) -> list[str]:
    prose = list(lines)
    number = 0
    while number < len(prose):
        length = _statement_lines(prose, number) if STATEMENT.match(prose[number]) else 0
        prose[number : number + length] = [""] * length
        number += max(1, length)
    text = "\n".join(prose)
    return _strip(text, MDX_TOKEN, _replace_component, values).split("\n")


def _replace_component(tag: Tag) -> str:
    if tag.name not in HTML_NAMES:
        return tag.text
    slash, closed = "/" * tag.is_end, "/" * tag.is_closed
    alt = f' alt="{tag.text}"' if tag.text.strip() and '"' not in tag.text else ""
    return f"<{slash}{tag.name}{alt}{closed}>"


def _is_markup(tag: Tag, ended: frozenset[str]) -> bool:
    """Return whether a tag is one of HTML or a component, and no placeholder such as `<host>`."""
    has_attributes = any(
        value is not None or (tag.name in HTML_NAMES and name in SWITCHES)
        for name, value in tag.attributes.items()
    )
    if has_attributes or not tag.attributes:
        return has_attributes or tag.is_end or tag.is_closed or tag.name in ended | WITHOUT_END
    return False


def _strip(
    text: str,
    token: re.Pattern[str],
    replace: Callable[[Tag], str | None],
    values: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return `text` with its tags replaced, and without comments and expressions."""
    if "<" not in text and "{" not in text:
        return text
    pairs = _brace_pairs(text)
    comment_end = EndFinder(text, "-->")
    pieces: list[str] = []
    done = 0
    at = 0
    while (found := token.search(text, at)) is not None:
        start, at = found.start(), found.end()
        if found[0] == "{":
            end, shown = _read_expression(text, start, pairs, values)
        elif found[0] == "<":
            tag = read_tag(text, start, pairs)
            shown = replace(tag) if tag is not None else None
            end = tag.end if tag is not None else 0
        else:
            end = comment_end.after(at) if found[0] == "<!--" else 0
            shown = "" if end else None
        if shown is None:
            continue
        pieces += [text[done:start], shown if shown.startswith("<") else _spaced(shown, text, start, end)]
        pieces.append("\n" * (text.count("\n", start, end) - shown.count("\n")))
        done = at = end
    return "".join([*pieces, text[done:]]) if pieces else text


def _spaced(shown: str, text: str, start: int, end: int) -> str:
    """Return what stands for a tag with a space to the words beside it."""
    if not shown.strip():
        return shown
    before = "" if text[start - 1 : start].isspace() or not start else " "
    return f"{before}{shown}{'' if text[end : end + 1].isspace() or end == len(text) else ' '}"


def _read_expression(
    text: str, start: int, pairs: Mapping[int, int], values: Mapping[str, str] = MappingProxyType({})
) -> tuple[int, str | None]:
    """Return the end of the expression and what it shows: a string or a constant, nothing of any other."""
    end = pairs.get(start)
    if end is None:
        return start, None
    if (name := text[start + 1 : end - 1].strip()) in values:
        return end, values[name]
    string = STRING.fullmatch(text, start, end)
    shown = next((group for group in string.groups() if group is not None), "") if string else ""
    return end, shown.strip() or shown[:1]


def read_tag(text: str, start: int, pairs: Mapping[int, int] | None = None) -> Tag | None:
    """Return the tag at a place, None if it is none."""
    opening = TAG_START.match(text, start)
    if opening is None:
        return None
    attributes: dict[str, str | None] = {}
    at = opening.end()
    while (end := TAG_END.match(text, at)) is None:
        spread = SPREAD.match(text, at)
        attribute = ATTRIBUTE.match(text, at)
        if spread is not None and pairs is not None and spread.end() in pairs:
            at = pairs[spread.end()]
            continue
        if attribute is None or opening[1]:
            return None
        at = attribute.end()
        value: str | None = None
        if (stated := VALUE.match(text, at)) is not None:
            at = stated.end()
            value = next((group for group in stated.groups()[:3] if group is not None), "")
            if stated[4]:
                if pairs is None or at not in pairs:
                    return None
                at, value = _read_expression(text, at, pairs)
        attributes[attribute[1]] = " ".join(value.split()) if value is not None else None
    return Tag(
        name=_name(opening[2]),
        end=end.end(),
        is_end=bool(opening[1]),
        is_closed=bool(end[1]),
        attributes=attributes,
    )


def _name(written: str) -> str:
    """Return the name of an element; only components are told apart by capital letters."""
    return written.lower() if written.isupper() else written


def _brace_pairs(text: str) -> dict[int, int]:
    """Return the end of each pair of braces by its start; strings and comments in them count as such."""
    pairs: dict[int, int] = {}
    opened: list[int] = []
    ends = {"`": EndFinder(text, "`"), "/*": EndFinder(text, "*/")}
    at = 0
    while (found := (EXPRESSION_TOKEN if opened else BRACE).search(text, at)) is not None:
        at = found.end()
        if found[0] == "{":
            opened.append(found.start())
        elif found[0] == "}":
            pairs[opened.pop()] = at
        elif found[0] in ends:
            at = ends[found[0]].after(at) or at
    return pairs


class EndFinder:
    """Finder of the ends of comments and templates, which searches a text without one only once."""

    def __init__(self, text: str, mark: str) -> None:
        self._text = text
        self._mark = mark
        self._last = text.rfind(mark)

    def after(self, at: int) -> int:
        """Return the end of the next mark from a place on, 0 if there is none."""
        return self._text.index(self._mark, at) + len(self._mark) if at <= self._last else 0


def _statement_lines(lines: Sequence[str], first: int) -> int:
    """Return the number of lines of a statement: up to a blank line, or further while brackets are open."""
    depth = 0
    for number, line in enumerate(lines[first : first + MAX_STATEMENT_LINES], start=1):
        is_end = not line.strip() or (number > 1 and not STATEMENT.match(line) and not line[0].isspace())
        if is_end and depth <= 0:
            return number - 1
        depth += sum(1 if bracket[1] else -1 for bracket in BRACKETS.finditer(line))
    rest = lines[first:]
    if depth <= 0:
        return min(len(rest), MAX_STATEMENT_LINES)
    return next((number for number, line in enumerate(rest) if not line.strip()), len(rest))


def split_fences(lines: Sequence[str]) -> Iterator[tuple[bool, list[str]]]:
    """Yield the lines in runs, each with whether it is a fence of code."""
    run: list[str] = []
    fence = ""
    for line in lines:
        mark = FENCE.match(line)
        if not fence and mark is not None:
            if run:
                yield False, run
            run, fence = [line], mark[1]
        elif fence and mark is not None and mark[1].startswith(fence) and not mark[2].strip():
            yield True, [*run, line]
            run, fence = [], ""
        else:
            run.append(line)
    if run:
        yield bool(fence), run
