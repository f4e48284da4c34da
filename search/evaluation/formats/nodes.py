"""YAML as plain values with the lines they stand on: texts, lists and mappings, nothing else.

Read from the parser's events, so that no tag makes an object, no alias multiplies a value, a name stands in a
mapping once, and `no` is a text like any other.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

from search.retrieval.errors import InvalidJudgedSet, shown

MAX_DEPTH: Final = 10

# libyaml where PyYAML was built with it: some ten times faster.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands."""

    #: Like `golden.yaml, line 7`.
    where: str
    value: "str | list[Node] | dict[str, Node]"

    @property
    def text(self) -> str:
        """Return the text. Raises InvalidJudgedSet for another value."""
        if not isinstance(self.value, str):
            raise InvalidJudgedSet(f"{self.where}: there must be a text here.")
        return self.value

    @property
    def items(self) -> "list[Node]":
        """Return the list's items; what is empty is an empty list. Raises InvalidJudgedSet."""
        if self.value == "":
            return []
        if not isinstance(self.value, list):
            raise InvalidJudgedSet(f"{self.where}: there must be a list here, each item behind a dash.")
        return self.value

    def fields(self, *known: str) -> "dict[str, Node]":
        """Return the mapping, without what is empty. Raises InvalidJudgedSet for others, and
        unknown names.
        """
        if not isinstance(self.value, dict):
            raise InvalidJudgedSet(f"{self.where}: there must be names with values here: {', '.join(known)}.")
        for name, node in self.value.items():
            if name not in known:
                raise InvalidJudgedSet(
                    f"{node.where}: there is no {shown(name)} here; there are: {', '.join(known)}."
                )
        return {name: node for name, node in self.value.items() if node.value != ""}

    def plain(self) -> Any:
        """Return the value as texts, lists and dictionaries."""
        if isinstance(self.value, list):
            return [each.plain() for each in self.value]
        if isinstance(self.value, dict):
            return {name: each.plain() for name, each in self.value.items()}
        return self.value


def parse_nodes(text: str, where: str) -> Node:
    """Return the one document in `text`. Raises InvalidJudgedSet, naming the line."""
    try:
        return _document(yaml.parse(text, Loader=_LOADER), where)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = "" if mark is None else f", line {mark.line + 1}"
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it can't be read"
        raise InvalidJudgedSet(f"{where}{line} is not YAML: {problem}.") from error


def _document(events: Iterator[yaml.Event], where: str) -> Node:
    found: list[Node] = []
    for event in events:
        if isinstance(event, yaml.NodeEvent):
            if found:
                raise InvalidJudgedSet(f"{_place(event, where)}: a second document begins; give one a file.")
            found.append(_node(event, events, where, MAX_DEPTH))
    if not found:
        raise InvalidJudgedSet(f"{where} is empty; begin with `topics:`.")
    return found[0]


def _node(event: yaml.Event, events: Iterator[yaml.Event], where: str, depth: int) -> Node:
    place = _place(event, where)
    if depth == 0:
        raise InvalidJudgedSet(f"{place}: values lie more than {MAX_DEPTH} deep; a golden file needs five.")
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) or getattr(event, "tag", None):
        raise InvalidJudgedSet(f"{place}: anchors, aliases and tags are not read; write the value itself.")
    if isinstance(event, yaml.ScalarEvent):
        return Node(place, event.value)
    if isinstance(event, yaml.SequenceStartEvent):
        return Node(place, list(_items(events, where, depth)))
    return Node(place, dict(_pairs(events, where, depth)))


def _items(events: Iterator[yaml.Event], where: str, depth: int) -> Iterator[Node]:
    for event in events:
        if isinstance(event, yaml.SequenceEndEvent):
            return
        yield _node(event, events, where, depth - 1)


def _pairs(events: Iterator[yaml.Event], where: str, depth: int) -> Iterator[tuple[str, Node]]:
    seen: set[str] = set()
    for event in events:
        if isinstance(event, yaml.MappingEndEvent):
            return
        name = _node(event, events, where, depth - 1)
        if name.text in seen:
            raise InvalidJudgedSet(f"{name.where}: {shown(name.text)} is there twice; keep one of the two.")
        seen.add(name.text)
        yield name.text, _node(next(events), events, where, depth - 1)


def _place(event: yaml.Event, where: str) -> str:
    mark = event.start_mark
    return where if mark is None else f"{where}, line {mark.line + 1}"
