"""Definitions of a source file as a tree of units over lines."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ingest.parsers.types import CodeUnit, LineSpan

if TYPE_CHECKING:
    from tree_sitter import Node


def line_range(node: "Node") -> tuple[int, int]:
    """Return the first and last line of a node, from 1.

    A node that ends at the start of a line ends on the line before.
    """
    start, end = node.start_point.row, node.end_point
    last = end.row - 1 if end.column == 0 and end.row > start else end.row
    return start + 1, last + 1


def leading_lines(lines: Sequence[str], nodes: Iterable["Node"]) -> frozenset[int]:
    """Return the lines of the nodes, without nodes that share a line with anything else."""
    return frozenset(
        line
        for node in nodes
        if _has_lines_to_itself(lines, node)
        for start, end in (line_range(node),)
        for line in range(start, end + 1)
    )


def _has_lines_to_itself(lines: Sequence[str], node: "Node") -> bool:
    """Return whether the node has its first and last line to itself.

    Columns are bytes, at least as many as characters: after non-ASCII characters, text behind the node on
    its last line may be missed.
    """
    (first, column), (last, end_column) = node.start_point, node.end_point
    before = lines[first][:column]
    # a node that includes its line end, such as Rust's doc comments, ends where the next line begins
    after = lines[last][end_column:] if end_column and last < len(lines) else ""
    return not before.strip() and not after.strip()


#: characters of a name; a longer one (of an operator, a template) is cut
NAME_CHARS = 80
#: fields of nodes that hold a definition's name, the first found wins
_FIELDS = ("name", "left", "property", "key", "operator")


def name_of(node: "Node", content: bytes) -> str:
    """Return the name of a definition as code has it: `run`, `A::run`, `Server.Serve`, `Trait for Type`."""
    if node.type == "impl_item":
        return " for ".join(_field_texts(node, content, "trait", "type"))
    receiver = node.child_by_field_name("receiver")
    if receiver is not None:
        return ".".join([_receiver_type(receiver, content), *_field_texts(node, content, "name")])
    for name in _FIELDS:
        named = node.child_by_field_name(name)
        if named is not None:
            return _text(named, content)
    return _text(_innermost_declarator(node), content)


def _innermost_declarator(node: "Node") -> "Node":
    """Return the innermost declarator of C and C++: `run` of `static int *run(void)`."""
    while True:
        inner = node.child_by_field_name("declarator")
        if inner is None and node.type in ("reference_declarator", "parenthesized_declarator"):
            inner = node.named_child(node.named_child_count - 1)
        if inner is None:
            return node
        node = inner


def _receiver_type(receiver: "Node", content: bytes) -> str:
    """Return the type of a receiver of Go: `Server` of `(s *Server[T])`."""
    declared = _text(receiver, content).strip("()").split()
    return declared[-1].lstrip("*").partition("[")[0] if declared else ""


def _field_texts(node: "Node", content: bytes, *fields: str) -> list[str]:
    found = (node.child_by_field_name(field) for field in fields)
    return [_text(each, content) for each in found if each is not None]


def _text(node: "Node", content: bytes) -> str:
    """Return the text of a node with single spaces, none around `>`, which separates breadcrumb parts."""
    start = node.start_byte
    text = content[start : min(node.end_byte, start + 4 * NAME_CHARS)].decode(errors="ignore")
    return " ".join(text.split()).replace(" > ", ">")[:NAME_CHARS].strip()


#: nesting of definitions; deeper ones belong to those around them
MAX_DEPTH: Final = 8
#: captures other than definitions
_OTHERS: Final = frozenset({"wrapper", "leading", "statement"})
#: a function in one of these is a method
_CLASSES: Final = frozenset({"class", "struct", "union", "interface", "trait", "impl", "enum", "record"})


def read_units(
    captures: Mapping[str, Sequence["Node"]], content: bytes, leading: frozenset[int]
) -> tuple[CodeUnit, ...]:
    """Return the outermost definitions in order, with their members; no two of a level share a line."""
    builder = _UnitBuilder(content, leading)
    for capture in sorted(_definition_captures(captures), key=lambda capture: (capture.start, -capture.end)):
        builder.add(capture)
    return builder.finish()


@dataclass(slots=True, kw_only=True)
class _Capture:
    """A captured definition or wrapper: its bytes, its kind, its node."""

    start: int
    end: int
    kind: str
    node: "Node"


@dataclass(slots=True, kw_only=True)
class _OpenUnit:
    """A definition, or a wrapper around one, whose end has not been reached."""

    #: byte offset of its end
    end: int
    kind: str
    name: str
    first_line: int
    last_line: int
    #: `first_line`, or the first line of the comments above it
    span_start: int
    members: list[CodeUnit] = field(default_factory=list)


def _definition_captures(captures: Mapping[str, Sequence["Node"]]) -> Iterator[_Capture]:
    for kind, nodes in captures.items():
        if kind == "wrapper" or kind not in _OTHERS:
            for node in nodes:
                yield _Capture(start=node.start_byte, end=node.end_byte, kind=kind, node=node)


class _UnitBuilder:
    """Builder that nests definitions, added in the order of their starts."""

    def __init__(self, content: bytes, leading: frozenset[int]) -> None:
        self._content = content
        self._leading = leading
        self._open: list[_OpenUnit] = []
        self._wrapper: _Capture | None = None
        self._outermost: list[CodeUnit] = []

    def add(self, capture: _Capture) -> None:
        wrapper = self._wrapper
        around = wrapper if wrapper is not None and capture.end <= wrapper.end else capture
        if capture.kind == "wrapper":
            self._wrapper = around
            return
        self._wrapper = None
        while self._open and self._open[-1].end <= around.start:
            self._close()
        if len(self._open) < MAX_DEPTH:
            self._open.append(self._open_unit(capture, *line_range(around.node)))

    def finish(self) -> tuple[CodeUnit, ...]:
        while self._open:
            self._close()
        return tuple(self._outermost)

    def _open_unit(self, capture: _Capture, first_line: int, last_line: int) -> _OpenUnit:
        above = self._floor()
        span_start = first_line
        while span_start - 1 > above and span_start - 1 in self._leading:
            span_start -= 1
        is_method = capture.kind == "function" and self._open and self._open[-1].kind in _CLASSES
        return _OpenUnit(
            end=capture.end,
            kind="method" if is_method else capture.kind,
            name=name_of(capture.node, self._content),
            first_line=first_line,
            last_line=last_line,
            span_start=span_start,
        )

    def _siblings(self) -> list[CodeUnit]:
        return self._open[-1].members if self._open else self._outermost

    def _floor(self) -> int:
        """Return the line below which the comments of a new definition begin."""
        siblings = self._siblings()
        if siblings:
            return siblings[-1].span.end
        return self._open[-1].first_line if self._open else 0

    def _close(self) -> None:
        ended = self._open.pop()
        around = self._open[-1] if self._open else None
        if around and (around.first_line, around.last_line) == (ended.first_line, ended.last_line):
            around.members.extend(ended.members)
            return
        unit = CodeUnit(
            kind=ended.kind,
            name=ended.name,
            span=LineSpan(ended.span_start, ended.last_line),
            members=tuple(ended.members),
        )
        siblings = self._siblings()
        if siblings and siblings[-1].span.end >= unit.span.start:
            # Two definitions that share a line become one, without their members.
            first = siblings[-1]
            span = LineSpan(first.span.start, max(first.span.end, unit.span.end))
            name = f"{first.name}, {unit.name}"
            siblings[-1] = replace(
                first, span=span, name=name if len(name) <= NAME_CHARS else first.name, members=()
            )
        else:
            siblings.append(unit)
