"""YAML read with positions, and golden files: topics with their relevant documents, in hand-written YAML.

set: golden
topics:
  - id: restart
    query: how do I restart the worker
    filters: {lang: en}
    relevant:
      - guide.md
      - {citation: "ops/run.md#L7-L12", source: handbook, grade: 2}
  - id: salary
    query: what does the director earn
    unanswerable: true

YAML is composed from the parser's events, so that tags create no objects, aliases multiply no values, names
of a mapping are unique, and `no` is an ordinary text.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from search.evaluation.judged import JudgedTopic, Qrel, TopicCollection
from search.retrieval.citation import split_uri
from search.retrieval.errors import InvalidJudgedSet, preview

#: The most bytes of a file of topics, judgements or a run.
MAX_BYTES = 50_000_000


def read_text(path: Path) -> str:
    """Read the text of a file. Raises InvalidJudgedSet when it isn't UTF-8 or is too big."""
    try:
        if not path.is_file():
            raise InvalidJudgedSet(f"{path} is not a readable file; name one.")
        if path.stat().st_size > MAX_BYTES:
            raise InvalidJudgedSet(f"{path} has more than {MAX_BYTES:,} bytes; split it.")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidJudgedSet(f"{path} can't be read ({error}); give a text file in UTF-8.") from error


def numbered_lines(text: str, where: str) -> Iterator[tuple[str, str]]:
    """Yield the location, like `qrels.txt, line 7`, and the text without line end of each non-blank line."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield f"{where}, line {number}", line.removesuffix("\r")


@contextmanager
def prefix_errors(where: str) -> Iterator[None]:
    """Prefix the message of an InvalidJudgedSet that is raised within with the location."""
    try:
        yield
    except InvalidJudgedSet as error:
        raise InvalidJudgedSet(f"{where}: {error}") from error


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


# Prevents the folding of long texts over lines.
_MAX_WIDTH = 10**9
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}


class _Dumper(yaml.SafeDumper):
    """Dumper that escapes texts with line ends or invisible characters."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, None if text.isprintable() else '"')


_Dumper.add_representer(str, _represent_text)


def parse_golden(text: str, where: str = "golden.yaml") -> TopicCollection:
    """Parse the topics of a golden file. Raises InvalidJudgedSet, naming line and remedy."""
    document = parse_nodes(text, where).fields("set", "topics")
    listed = document["topics"].items if "topics" in document else []
    if not listed:
        raise InvalidJudgedSet(f"{where} contains no topics; add some, each with id and query.")
    topics = tuple(_parse_topic(node) for node in listed)
    with prefix_errors(where):
        name = document["set"].text if "set" in document else None
        return TopicCollection(topics=topics, topic_set=name)


def write_golden(collection: TopicCollection) -> str:
    """Return the text of a golden file; the inverse of `parse_golden`."""
    named = {} if collection.topic_set is None else {"set": collection.topic_set}
    value = {**named, "topics": [_topic_to_plain(topic) for topic in collection.topics]}
    return yaml.dump(value, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=_MAX_WIDTH)


def _parse_topic(node: Node) -> JudgedTopic:
    fields = node.fields("id", "query", "filters", "relevant", "unanswerable")
    for name in ("id", "query"):
        if name not in fields:
            raise InvalidJudgedSet(f"{node.where}: this topic has no `{name}`; add it.")
    qrels = tuple(_parse_qrel(each) for each in fields["relevant"].items) if "relevant" in fields else ()
    with prefix_errors(node.where):
        return JudgedTopic(
            topic_id=fields["id"].text,
            text=fields["query"].text,
            filters=fields["filters"].to_plain() if "filters" in fields else {},
            qrels=qrels,
            is_unanswerable="unanswerable" in fields and _parse_bool(fields["unanswerable"]),
        )


def _parse_qrel(node: Node) -> Qrel:
    if isinstance(node.value, str):
        with prefix_errors(node.where):
            return _parse_citation(node.value, {})
    fields = node.fields("doc", "citation", "source", "version", "grade")
    if ("doc" in fields) == ("citation" in fields):
        raise InvalidJudgedSet(
            f"{node.where}: name `doc`, a whole document, or `citation`, a place in one; one of the two."
        )
    others: dict[str, Any] = {name: fields[name].text for name in ("source", "version") if name in fields}
    if "grade" in fields:
        others["grade"] = _parse_number(fields["grade"])
    with prefix_errors(node.where):
        if "doc" in fields:
            return Qrel(path=fields["doc"].text, **others)
        return _parse_citation(fields["citation"].text, others)


def _parse_citation(citation: str, others: dict[str, Any]) -> Qrel:
    path, fragment = split_uri(citation)
    if citation.endswith("#"):
        raise InvalidJudgedSet(f"{preview(citation)} ends with `#`; cite lines like path#L7-L12.")
    return Qrel(path=path, fragment=fragment, **others)


def _parse_number(node: Node) -> int:
    try:
        return int(node.text)
    except ValueError:
        raise InvalidJudgedSet(
            f"{node.where}: the grade {preview(node.text)} is not a whole number; give 1 for relevant."
        ) from None


def _parse_bool(node: Node) -> bool:
    try:
        return _TRUTH[node.text.lower()]
    except KeyError:
        raise InvalidJudgedSet(f"{node.where}: {preview(node.text)} is not true or false.") from None


def _topic_to_plain(topic: JudgedTopic) -> dict[str, Any]:
    fields: dict[str, Any] = {"id": topic.topic_id, "query": topic.text}
    if topic.filters:
        fields["filters"] = dict(topic.filters)
    if topic.qrels:
        fields["relevant"] = [_qrel_to_plain(qrel) for qrel in topic.qrels]
    if topic.is_unanswerable:
        fields["unanswerable"] = True
    return fields


def _qrel_to_plain(qrel: Qrel) -> dict[str, Any]:
    entry: dict[str, Any] = {"citation": qrel.citation} if qrel.fragment else {"doc": qrel.path}
    if qrel.source is not None:
        entry["source"] = qrel.source
    if qrel.version:
        entry["version"] = qrel.version
    return entry if qrel.grade == 1 else {**entry, "grade": qrel.grade}
