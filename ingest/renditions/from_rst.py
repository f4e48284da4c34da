"""Parts of reStructuredText, read by docutils, with roles as text and without directives that act.

Nothing is included, inserted or downloaded. Directives of Sphinx, and unknown ones, are notes.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from docutils import nodes
from docutils.parsers.rst import Directive, Parser, directives

from ingest.parsers.markup.rst import NAMED_LANGUAGE
from ingest.parsers.markup.rst_states import State, build_inliner, build_states, new_document, role_text
from ingest.renditions import parts
from ingest.renditions.from_html import flat, has_content
from ingest.renditions.parts import Inline, Part
from search.markup.rst import CODE_DIRECTIVES, SILENT_DIRECTIVES

#: Directives that docutils runs itself; none reads a file, as that is disabled.
_DOCUTILS_DIRECTIVES: Final = frozenset(
    {"image", "figure", "table", "csv-table", "list-table", "replace", "unicode"}
)
_TITLES: Final = {
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
    "seealso": "See also",
}
#: Notes whose text may begin behind their name.
_NOTES: Final = frozenset(
    {*("attention", "caution", "danger", "error", "hint", "important", "note", "tip", "todo"), "warning"}
)
#: Directives whose content stands for itself.
_PLAIN: Final = frozenset(
    {"container", "compound", "class", "rst-class", "only", "line-block", "epigraph", "highlights"}
)
_INLINE: Final = {
    nodes.strong: "strong",
    nodes.emphasis: "em",
    nodes.title_reference: "em",
    nodes.literal: "code",
    nodes.subscript: "sub",
    nodes.superscript: "sup",
}
_CODE_ROLES: Final = frozenset(
    {
        *("code", "samp", "func", "class", "meth", "mod", "attr", "data", "exc", "const", "obj"),
        *("option", "envvar", "file", "command", "kbd"),
    }
)


class _AnyOptions(dict[str, Any]):
    """Options of any name, as text."""

    def __missing__(self, name: str) -> Any:
        return directives.unchanged


class _Note(Directive):
    """A directive that is not run: its content, with its name and argument as a title."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = _AnyOptions(name=directives.unchanged)

    def run(self) -> Sequence[nodes.Node]:
        argument, _, rest = "\n".join(self.arguments).partition("\n")
        if self.name in CODE_DIRECTIVES:
            return self._code(argument)
        if self.name in _NOTES:
            argument, rest = "", f"{argument}\n{rest}".strip()
        content = nodes.Element()
        if rest:
            text, _messages = self.state.inline_text(rest, self.lineno)
            content += nodes.paragraph("", "", *text)
        self.state.nested_parse(self.content, self.content_offset, content)
        if self.name in _PLAIN:
            return content.children
        note = nodes.admonition("", nodes.title("", self._title(argument)), *content.children)
        note.line = self.lineno
        return [note]

    def _code(self, argument: str) -> Sequence[nodes.Node]:
        text = "\n".join(self.content)
        language = argument if self.name in NAMED_LANGUAGE else ""
        first = self.content_offset + 1
        return [nodes.literal_block("", text, language=language, first=first)] if text else []

    def _title(self, argument: str) -> str:
        name = self.name.rpartition(":")[2]
        if name in ("admonition", "topic", "sidebar", "rubric", "centered"):
            return argument
        title = _TITLES.get(name, name.replace("-", " ").capitalize())
        return f"{title} {argument}".strip()


class _Nothing(_Note):
    """A directive to a tool, which readers don't see."""

    def run(self) -> Sequence[nodes.Node]:
        return []


def _directive_class(name: str, memo: Any, document: nodes.document) -> Any:
    if name in _DOCUTILS_DIRECTIVES:
        return directives.directive(name, memo.language, document)[0]
    return _Nothing if name in SILENT_DIRECTIVES else _Note


class _QuietState(State):
    """Base of all states: a directive is run only if it is known to be harmless."""

    def __init__(self, state_machine: Any, debug: bool = False) -> None:
        super().__init__(state_machine, debug)
        self.nested_sm_kwargs = {"state_classes": _STATES, "initial_state": "Body"}

    def directive(self, match: Any, **presets: Any) -> Any:
        name = match.group(1).lower()
        found = _directive_class(name, self.memo, self.document)
        return self.run_directive(found, match, name, presets)  # type: ignore[no-untyped-call]  # docutils has few types


_STATES = build_states(_QuietState)


def parts_of_rst(lines: Sequence[str]) -> Iterator[Part]:
    """Yield the parts of a reStructuredText file."""
    document = new_document()
    document.settings.line_length_limit = parts.MAX_CHARS
    parser = Parser(inliner=build_inliner(_role))
    parser.state_classes = _STATES
    parser.parse("\n".join(lines), document)
    yield from _Walk(document).parts(document.children, depth=0, level=1)


def _role(rawsource: str, text: str, role: str, lineno: int) -> Any:
    name = role.rpartition(":")[2]
    if name == "math":
        return [nodes.literal("", text)], []
    shown = role_text(text)
    return [nodes.literal("", shown) if name in _CODE_ROLES else nodes.inline("", shown)], []


class _Walk:
    """A walk over a tree of docutils; elements without a line are where the one before them is."""

    def __init__(self, document: nodes.document) -> None:
        self._document = document
        self._line = 1

    def parts(self, found: Sequence[Any], *, depth: int, level: int) -> list[Part]:
        """Return the parts of the elements; each ends where the next one begins."""
        drawn: list[Part] = []
        for node in found:
            if isinstance(node, nodes.Element):
                start = self._enter(node)
                for part in self._parts_of(node, start, depth, level):
                    if drawn and drawn[-1]["at"][0] < part["at"][0]:
                        drawn[-1]["at"][1] = max(drawn[-1]["at"][1], part["at"][0] - 1)
                    drawn.append(part)
        return drawn

    def _enter(self, node: Any) -> int:
        self._line = max(self._line, node.line or 0)
        return self._line

    def _parts_of(self, node: Any, start: int, depth: int, level: int) -> Iterator[Part]:
        for classes, method in _METHODS:
            if isinstance(node, classes):
                yield from getattr(self, method)(node, start, depth, level)
                return

    def _section(self, node: Any, start: int, depth: int, level: int) -> Iterable[Part]:
        return self.parts(node.children, depth=depth, level=level + 1)

    def _inside(self, node: Any, start: int, depth: int, level: int) -> Iterable[Part]:
        return self.parts(node.children, depth=depth + 1, level=level)

    def _heading(self, node: Any, start: int, depth: int, level: int) -> Iterable[Part]:
        return [parts.heading(self._text(node), level - 1 or 1, max(1, start - 1), start)]

    def _code(self, node: Any, start: int, depth: int, level: int) -> Iterable[Part]:
        language = node.get("language") or next((name for name in node["classes"] if name != "code"), None)
        if isinstance(node, nodes.doctest_block):
            language = "python"
        return parts.code(node.astext().split("\n"), language, node.get("first", start))

    def _message(self, node: Any, start: int, depth: int, level: int) -> Iterator[Part]:
        """Yield the source of what docutils couldn't read."""
        for each in node.children if node["level"] > 2 else ():
            if isinstance(each, nodes.literal_block):
                yield from self._code(each, start, depth, level)

    def _nothing(self, node: Any, start: int, depth: int, level: int) -> Iterable[Part]:
        return []

    def _picture(self, node: Any, start: int, depth: int, level: int) -> Iterable[Part]:
        return [parts.paragraph(self._inline(node), start, start)]

    def _rule(self, node: Any, start: int, depth: int, level: int) -> Iterable[Part]:
        return [parts.rule(start)]

    def _verse(self, node: Any, start: int, depth: int, level: int) -> Iterable[Part]:
        text: Inline = []
        for line in node.findall(nodes.line):
            text += [["br"], *self._text(line)] if text else self._text(line)
        return [parts.paragraph(text, start, start)]

    def _paragraph(self, node: Any, start: int, depth: int, level: int) -> Iterable[Part]:
        text = self._text(node)
        return [parts.paragraph(text, start, start)] if has_content(text) else []

    def _quote(self, node: Any, start: int, depth: int, level: int) -> Iterator[Part]:
        children = list(node.children)
        title = ""
        if children and isinstance(children[0], nodes.title):
            title = children.pop(0).astext()
        held = self.parts(children, depth=depth + 1, level=level)
        if depth >= parts.MAX_DEPTH or not (held or title):
            yield from held
        else:
            yield from parts.quote(held, start, self._end(held, start), title)

    def _list(self, node: Any, start: int, depth: int, level: int) -> Iterator[Part]:
        items = []
        for each in node.children:
            line = self._enter(each)
            held = self._item(each, depth, level)
            items.append(parts.item(held, line, self._end(held, line)))
        if depth >= parts.MAX_DEPTH:
            yield from (part for each in items for part in each["parts"])
        else:
            yield from parts.lists(items, is_ordered=isinstance(node, nodes.enumerated_list))

    def _item(self, item: Any, depth: int, level: int) -> list[Part]:
        """Return the parts of an item; a term, a field name and an option are its first paragraph."""
        if isinstance(item, nodes.list_item):
            return self.parts(item.children, depth=depth + 1, level=level)
        held: list[Part] = []
        for each in item.children:
            if isinstance(each, nodes.definition | nodes.field_body | nodes.description):
                held += self.parts(each.children, depth=depth + 1, level=level)
            else:
                line = self._enter(each)
                held.append(parts.paragraph([["strong", *self._text(each)]], line, line))
        return held

    def _table(self, node: Any, start: int, depth: int, level: int) -> Iterator[Part]:
        rows, has_header = [], False
        for row in node.findall(nodes.row):
            has_header = has_header or isinstance(row.parent, nodes.thead)
            cells = [self.parts(entry.children, depth=parts.MAX_DEPTH, level=6) for entry in row.children]
            lines = [part["at"] for cell in cells for part in cell] or [[start, start]]
            at = min(first for first, _ in lines), max(last for _, last in lines)
            rows.append(parts.row([flat(cell) for cell in cells], *at))
        if rows:
            yield from parts.tables(rows, has_header=has_header)

    def _end(self, held: Sequence[Part], start: int) -> int:
        return max((part["at"][1] for part in held), default=start)

    def _text(self, node: Any, depth: int = 0) -> Inline:
        return [piece for child in node.children for piece in self._inline(child, depth)]

    def _inline(self, node: Any, depth: int = 0) -> Inline:
        if isinstance(node, nodes.Text):
            return [parts.clip(" ".join(node.astext().split("\n")))]
        if isinstance(node, nodes.image):
            return [["img", node["uri"], node.get("alt", "")]]
        if isinstance(node, nodes.reference):
            return [["a", self._target(node), *self._text(node, depth + 1)]]
        if isinstance(node, nodes.literal | nodes.math):
            return [["code", parts.clip(node.astext())]]
        if isinstance(node, nodes.Invisible | nodes.system_message):
            return []
        tag = _INLINE.get(type(node))
        text = self._text(node, depth + 1) if depth < parts.MAX_DEPTH else [node.astext()]
        return [[tag, *text]] if tag else text

    def _target(self, node: Any) -> str:
        """Return where a reference leads; '' if that can't be told without docutils' transforms."""
        uri = node.get("refuri")
        if uri is None and "refname" in node:
            targets = self._document.nametypes
            for target in self._document.findall(nodes.target) if node["refname"] in targets else ():
                if node["refname"] in target["names"]:
                    uri = target.get("refuri")
        return uri or ""


#: The method of each element, the first that fits; elements of other classes are left out.
_METHODS: Final[Sequence[tuple[Any, str]]] = (
    (nodes.section, "_section"),
    ((nodes.title, nodes.subtitle, nodes.rubric), "_heading"),
    ((nodes.literal_block, nodes.doctest_block, nodes.math_block), "_code"),
    ((nodes.bullet_list, nodes.enumerated_list, nodes.definition_list), "_list"),
    ((nodes.field_list, nodes.option_list), "_list"),
    (nodes.table, "_table"),
    (nodes.system_message, "_message"),
    (nodes.image, "_picture"),
    (nodes.transition, "_rule"),
    ((nodes.block_quote, nodes.Admonition, nodes.topic, nodes.sidebar), "_quote"),
    (nodes.line_block, "_verse"),
    (nodes.Invisible, "_nothing"),
    (nodes.TextElement, "_paragraph"),
    ((nodes.figure, nodes.legend, nodes.compound, nodes.container), "_inside"),
    ((nodes.footnote, nodes.citation), "_inside"),
)
