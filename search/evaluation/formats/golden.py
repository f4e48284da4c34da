"""Golden files: topics with their relevant documents, in hand-written YAML.

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
"""

from typing import Any

import yaml

from search.evaluation.formats.located import prefix_errors
from search.evaluation.formats.nodes import Node, parse_nodes
from search.evaluation.judged import JudgedTopic, Qrel, TopicCollection
from search.retrieval.citation import split_uri
from search.retrieval.errors import InvalidJudgedSet, preview

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
