"""TREC's files: topics, qrels and runs, as trec_eval and its kin read and write them.

Topics are lines of `id<TAB>query`, or `<top>` blocks with `<num>` and `<title>`. Qrels are lines of
`topic 0 document grade`, runs of `topic Q0 document rank score tag`. Documents are called as
`search.evaluation.judged.DocumentName` writes them: without spaces.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import unquote

from search.evaluation.formats.located import at, lines_of
from search.evaluation.judged import DocumentName, JudgedTopic, Qrel, TopicCollection, encoded_id
from search.retrieval.errors import InvalidJudgedSet, shown

MAX_TAG_CHARS: Final = 50

_TOP = re.compile(r"<top>(.*?)(?:</top>|(?=<top>)|\Z)", re.DOTALL | re.IGNORECASE)
_FIELD = re.compile(r"<(\w+)>([^<]*)")
_LABEL = re.compile(r"\A\s*(?:Number|Topic|Description)\s*:\s*", re.IGNORECASE)


def parse_topics(text: str, where: str = "topics") -> dict[str, str]:
    """Return query texts by topic id, in the order of the file. Raises InvalidJudgedSet."""
    rows = _blocks(text, where) if text.lstrip().lower().startswith("<top>") else _tab_lines(text, where)
    topics: dict[str, str] = {}
    for place, topic_id, query in rows:
        if topic_id in topics:
            raise InvalidJudgedSet(
                f"{place}: the topic {shown(topic_id)} is there twice; keep one of the two."
            )
        with at(place):
            JudgedTopic(topic_id=topic_id, text=query)
        topics[topic_id] = query
    if not topics:
        raise InvalidJudgedSet(f"{where} has no topic; write lines of id, tab, query, or <top> blocks.")
    return topics


def parse_qrels(text: str, where: str = "qrels") -> dict[str, tuple[Qrel, ...]]:
    """Return the judgements by topic id, in the order of the file. Raises InvalidJudgedSet."""
    qrels: dict[str, dict[DocumentName, Qrel]] = {}
    for place, line in lines_of(text, where):
        fields = line.split()
        if len(fields) != 4:
            raise InvalidJudgedSet(f"{place} has {len(fields)} columns; write topic, 0, document, grade.")
        topic_id, document = unquote(fields[0]), DocumentName.parse(fields[2])
        judged = qrels.setdefault(topic_id, {})
        if document in judged:
            raise InvalidJudgedSet(
                f"{place}: topic {shown(topic_id)} judges {shown(fields[2])} twice; keep one of the two."
            )
        with at(place):
            judged[document] = _qrel(document, _grade(fields[3]))
    if not qrels:
        raise InvalidJudgedSet(f"{where} judges nothing; write lines of topic, 0, document, grade.")
    return {topic_id: tuple(judged.values()) for topic_id, judged in qrels.items()}


def judged_topics(
    topics: Mapping[str, str], qrels: Mapping[str, Sequence[Qrel]], where: str = "qrels"
) -> TopicCollection:
    """Return the topics with their judgements; one that nothing judges is kept. Raises InvalidJudgedSet."""
    lacking = qrels.keys() - topics.keys()
    if lacking:
        raise InvalidJudgedSet(f"{where} judges the topic {shown(min(lacking))}, which isn't there; add it.")
    return TopicCollection(
        topics=tuple(
            JudgedTopic(topic_id=topic_id, text=text, qrels=tuple(qrels.get(topic_id, ())))
            for topic_id, text in topics.items()
        )
    )


def write_topics(topics: Iterable[JudgedTopic]) -> str:
    """Return the queries as lines of `id<TAB>query`; spaces of a query are written as one each."""
    return "".join(f"{encoded_id(each.topic_id)}\t{' '.join(each.text.split())}\n" for each in topics)


def write_qrels(topics: Iterable[JudgedTopic]) -> str:
    """Return the best grade of each judged document; what part of it is meant is not in this format."""
    return "".join(
        f"{encoded_id(topic.topic_id)} 0 {document} {grade}\n"
        for topic in topics
        for document, grade in topic.grades.items()
    )


def write_run(rankings: Mapping[str, Sequence[str]], tag: str) -> str:
    """Return rankings of document names by topic id as a run.

    The score is how many documents are left from there on: it falls from line to line, also in trec_eval's
    single precision, so that the order is the one given. A topic without a document has no line.
    """
    word = re.sub(r"[^\w.+-]+", "-", tag)[:MAX_TAG_CHARS].strip("-") or "kebab"
    return "".join(
        f"{encoded_id(topic_id)} Q0 {name} {rank} {len(ranking) - rank + 1} {word}\n"
        for topic_id, ranking in rankings.items()
        for rank, name in enumerate(ranking, start=1)
    )


def _tab_lines(text: str, where: str) -> Iterable[tuple[str, str, str]]:
    for place, line in lines_of(text, where):
        topic_id, tab, query = line.partition("\t")
        if not tab:
            raise InvalidJudgedSet(f"{place} has no tab; write the topic's id, a tab and its query.")
        yield place, unquote(topic_id.strip()), query.strip()


def _blocks(text: str, where: str) -> Iterable[tuple[str, str, str]]:
    for block in _TOP.finditer(text):
        place = f"{where}, line {text.count(chr(10), 0, block.start()) + 1}"
        fields = {
            name.lower(): " ".join(_LABEL.sub("", value).split()) for name, value in _FIELD.findall(block[1])
        }
        query = fields.get("title") or fields.get("desc") or ""
        if not fields.get("num") or not query:
            raise InvalidJudgedSet(
                f"{place}: this <top> has no <num>, or neither <title> nor <desc>; add it."
            )
        yield place, fields["num"], query


def _qrel(document: DocumentName, grade: int) -> Qrel:
    return Qrel(path=document.path, source=document.source, version=document.version, grade=grade)


def _grade(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidJudgedSet(
            f"the grade {shown(text)} is not a whole number; give 1 for relevant."
        ) from None
