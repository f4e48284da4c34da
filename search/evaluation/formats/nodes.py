"""YAML as plain values with line numbers: texts, lists and mappings only.

It is composed from the parser's events, so that tags create no objects, aliases multiply no values, names of
a mapping are unique, and `no` is an ordinary text.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

from search.retrieval.errors import InvalidJudgedSet, preview

MAX_DEPTH: Final = 10

# libyaml, if PyYAML was built with it, is some ten times faster.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its location."""

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
        """Return the list's items; an empty value is an empty list. Raises InvalidJudgedSet."""
        if self.value == "":
            return []
        if not isinstance(self.value, list):
            raise InvalidJudgedSet(f"{self.where}: there must be a list here, each item behind a dash.")
        return self.value

    def fields(self, *known: str) -> "dict[str, Node]":
        """Return the mapping without empty values. Raises InvalidJudgedSet for others and unknown names."""
        if not isinstance(self.value, dict):
            raise InvalidJudgedSet(f"{self.where}: there must be names with values here: {', '.join(known)}.")
        for name, node in self.value.items():
            if name not in known:
                raise InvalidJudgedSet(
                    f"{node.where}: there is no {preview(name)} here; there are: {', '.join(known)}."
                )
        return {name: node for name, node in self.value.items() if node.value != ""}

    def to_plain(self) -> Any:
        """Return the value as texts, lists and dictionaries."""
        if isinstance(self.value, list):
            return [each.to_plain() for each in self.value]
        if isinstance(self.value, dict):
            return {name: each.to_plain() for name, each in self.value.items()}
        return self.value


def parse_nodes(text: str, where: str) -> Node:
    """Parse the single document in `text`. Raises InvalidJudgedSet, naming the line."""
    try:
        return _compose_document(yaml.parse(text, Loader=_LOADER), where)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = "" if mark is None else f", line {mark.line + 1}"
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it can't be read"
        raise InvalidJudgedSet(f"{where}{line} is not YAML: {problem}.") from error


def _compose_document(events: Iterator[yaml.Event], where: str) -> Node:
    found: list[Node] = []
    for event in events:
        if isinstance(event, yaml.NodeEvent):
            if found:
                raise InvalidJudgedSet(
                    f"{_location(event, where)}: a second document begins; give one a file."
                )
            found.append(_compose_node(event, events, where, MAX_DEPTH))
    if not found:
        raise InvalidJudgedSet(f"{where} is empty; begin with `topics:`.")
    return found[0]


def _compose_node(event: yaml.Event, events: Iterator[yaml.Event], where: str, depth: int) -> Node:
    location = _location(event, where)
    if depth == 0:
        raise InvalidJudgedSet(
            f"{location}: values lie more than {MAX_DEPTH} deep; a golden file needs five."
        )
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) or getattr(event, "tag", None):
        raise InvalidJudgedSet(f"{location}: anchors, aliases and tags are not read; write the value itself.")
    if isinstance(event, yaml.ScalarEvent):
        return Node(location, event.value)
    if isinstance(event, yaml.SequenceStartEvent):
        return Node(location, list(_items(events, where, depth)))
    return Node(location, dict(_pairs(events, where, depth)))


def _items(events: Iterator[yaml.Event], where: str, depth: int) -> Iterator[Node]:
    for event in events:
        if isinstance(event, yaml.SequenceEndEvent):
            return
        yield _compose_node(event, events, where, depth - 1)


def _pairs(events: Iterator[yaml.Event], where: str, depth: int) -> Iterator[tuple[str, Node]]:
    seen: set[str] = set()
    for event in events:
        if isinstance(event, yaml.MappingEndEvent):
            return
        name = _compose_node(event, events, where, depth - 1)
        if name.text in seen:
            raise InvalidJudgedSet(f"{name.where}: {preview(name.text)} is there twice; keep one of the two.")
        seen.add(name.text)
        yield name.text, _compose_node(next(events), events, where, depth - 1)


def _location(event: yaml.Event, where: str) -> str:
    mark = event.start_mark
    return where if mark is None else f"{where}, line {mark.line + 1}"
