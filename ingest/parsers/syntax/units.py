"""Definitions as a tree of units over lines."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ingest.parsers.syntax.leading_comments import rows_of
from ingest.parsers.syntax.names import NAME_CHARS, name_of
from ingest.parsers.types import CodeUnit, LineSpan

if TYPE_CHECKING:
    from tree_sitter import Node

#: definitions in definitions; deeper ones belong to those around them
MAX_DEPTH: Final = 8
#: captures that are no definitions
_OTHERS: Final = frozenset({"wrapper", "leading", "statement"})
#: a function in one of these is a method
_CLASSES: Final = frozenset({"class", "struct", "union", "interface", "trait", "impl", "enum", "record"})


def read_units(
    captures: Mapping[str, Sequence["Node"]], content: bytes, leading: frozenset[int]
) -> tuple[CodeUnit, ...]:
    """Return the outermost definitions in order, with their members; no two of a level share a line."""
    reading = _Reading(content, leading)
    for mark in sorted(_marks(captures), key=lambda mark: (mark.start, -mark.end)):
        reading.take(mark)
    return reading.finish()


@dataclass(slots=True, kw_only=True)
class _Mark:
    """A captured definition or wrapper: its bytes, its kind, its node."""

    start: int
    end: int
    kind: str
    node: "Node"


@dataclass(slots=True, kw_only=True)
class _Open:
    """A definition, or a wrapper around one, whose end has not come."""

    #: where it ends, in bytes
    end: int
    kind: str
    name: str
    first_line: int
    last_line: int
    #: `first_line`, or that of the comments above it
    span_start: int
    members: list[CodeUnit] = field(default_factory=list)


def _marks(captures: Mapping[str, Sequence["Node"]]) -> Iterator[_Mark]:
    for kind, nodes in captures.items():
        if kind == "wrapper" or kind not in _OTHERS:
            for node in nodes:
                yield _Mark(start=node.start_byte, end=node.end_byte, kind=kind, node=node)


class _Reading:
    """Takes definitions in the order of their starts and nests them."""

    def __init__(self, content: bytes, leading: frozenset[int]) -> None:
        self._content = content
        self._leading = leading
        self._open: list[_Open] = []
        self._wrapper: _Mark | None = None
        self._outermost: list[CodeUnit] = []

    def take(self, mark: _Mark) -> None:
        wrapper = self._wrapper
        around = wrapper if wrapper is not None and mark.end <= wrapper.end else mark
        if mark.kind == "wrapper":
            self._wrapper = around
            return
        self._wrapper = None
        while self._open and self._open[-1].end <= around.start:
            self._close()
        if len(self._open) < MAX_DEPTH:
            self._open.append(self._opened(mark, *rows_of(around.node)))

    def finish(self) -> tuple[CodeUnit, ...]:
        while self._open:
            self._close()
        return tuple(self._outermost)

    def _opened(self, mark: _Mark, first_line: int, last_line: int) -> _Open:
        above = self._floor()
        span_start = first_line
        while span_start - 1 > above and span_start - 1 in self._leading:
            span_start -= 1
        is_method = mark.kind == "function" and self._open and self._open[-1].kind in _CLASSES
        return _Open(
            end=mark.end,
            kind="method" if is_method else mark.kind,
            name=name_of(mark.node, self._content),
            first_line=first_line,
            last_line=last_line,
            span_start=span_start,
        )

    def _siblings(self) -> list[CodeUnit]:
        return self._open[-1].members if self._open else self._outermost

    def _floor(self) -> int:
        """Return the line that comments of a new definition stand below."""
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
            siblings[-1] = _joined(siblings[-1], unit)
        else:
            siblings.append(unit)


def _joined(first: CodeUnit, second: CodeUnit) -> CodeUnit:
    """Two definitions that share a line as one, without their members."""
    span = LineSpan(first.span.start, max(first.span.end, second.span.end))
    name = f"{first.name}, {second.name}"
    return replace(first, span=span, name=name if len(name) <= NAME_CHARS else first.name, members=())
