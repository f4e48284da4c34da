"""TREC's and BEIR's files, compatible with trec_eval and similar tools, and the choice of a format by path.

Topics are lines of `id<TAB>query`, or `<top>` blocks with `<num>` and `<title>`. Qrels are lines of
`topic 0 document grade`, runs of `topic Q0 document rank score tag`. Document names are in the format of
`search.evaluation.judged.DocumentName`, without spaces.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from search.evaluation.beir import QRELS, QUERIES, parse_beir_qrels, parse_beir_queries
from search.evaluation.formats.golden import numbered_lines, parse_golden, prefix_errors, read_text
from search.evaluation.judged import DocumentName, JudgedTopic, Qrel, TopicCollection, encode_id
from search.retrieval.errors import InvalidJudgedSet, preview

MAX_TAG_CHARS: Final = 50

_TOP = re.compile(r"<top>(.*?)(?:</top>|(?=<top>)|\Z)", re.DOTALL | re.IGNORECASE)
_FIELD = re.compile(r"<(\w+)>([^<]*)")
_LABEL = re.compile(r"\A\s*(?:Number|Topic|Description)\s*:\s*", re.IGNORECASE)


def parse_topics(text: str, where: str = "topics") -> dict[str, str]:
    """Parse query texts by topic id, in file order. Raises InvalidJudgedSet."""
    rows = (
        _parse_top_blocks(text, where)
        if text.lstrip().lower().startswith("<top>")
        else _parse_tab_lines(text, where)
    )
    topics: dict[str, str] = {}
    for location, topic_id, query in rows:
        if topic_id in topics:
            raise InvalidJudgedSet(
                f"{location}: the topic {preview(topic_id)} is there twice; keep one of the two."
            )
        with prefix_errors(location):
            JudgedTopic(topic_id=topic_id, text=query)
        topics[topic_id] = query
    if not topics:
        raise InvalidJudgedSet(f"{where} contains no topic; write lines of id, tab, query, or <top> blocks.")
    return topics


def parse_qrels(text: str, where: str = "qrels") -> dict[str, tuple[Qrel, ...]]:
    """Parse judgements by topic id, in file order. Raises InvalidJudgedSet."""
    qrels: dict[str, dict[DocumentName, Qrel]] = {}
    for location, line in numbered_lines(text, where):
        fields = line.split()
        if len(fields) != 4:
            raise InvalidJudgedSet(f"{location} has {len(fields)} columns; write topic, 0, document, grade.")
        topic_id, document = unquote(fields[0]), DocumentName.parse(fields[2])
        judged = qrels.setdefault(topic_id, {})
        if document in judged:
            raise InvalidJudgedSet(
                f"{location}: topic {preview(topic_id)} judges {preview(fields[2])} twice;"
                " keep one of the two."
            )
        with prefix_errors(location):
            judged[document] = _qrel(document, _parse_grade(fields[3]))
    if not qrels:
        raise InvalidJudgedSet(f"{where} judges nothing; write lines of topic, 0, document, grade.")
    return {topic_id: tuple(judged.values()) for topic_id, judged in qrels.items()}


def join_qrels(
    topics: Mapping[str, str], qrels: Mapping[str, Sequence[Qrel]], where: str = "qrels"
) -> TopicCollection:
    """Join the topics with their judgements; unjudged topics are retained. Raises InvalidJudgedSet."""
    lacking = qrels.keys() - topics.keys()
    if lacking:
        raise InvalidJudgedSet(
            f"{where} judges the topic {preview(min(lacking))}, which isn't there; add it."
        )
    return TopicCollection(
        topics=tuple(
            JudgedTopic(topic_id=topic_id, text=text, qrels=tuple(qrels.get(topic_id, ())))
            for topic_id, text in topics.items()
        )
    )


def write_topics(topics: Iterable[JudgedTopic]) -> str:
    """Return the queries as lines of `id<TAB>query`; runs of white space become one space."""
    return "".join(f"{encode_id(each.topic_id)}\t{' '.join(each.text.split())}\n" for each in topics)


def write_qrels(topics: Iterable[JudgedTopic]) -> str:
    """Return qrels with the best grade of each judged document. The format has no places within documents."""
    return "".join(
        f"{encode_id(topic.topic_id)} 0 {document} {grade}\n"
        for topic in topics
        for document, grade in topic.grades.items()
    )


def write_run(rankings: Mapping[str, Sequence[str]], tag: str) -> str:
    """Return rankings of document names by topic id as a run.

    The score is the number of documents from there to the end: it falls strictly, also in trec_eval's single
    precision, so that the order is preserved. A topic without documents has no line.
    """
    word = re.sub(r"[^\w.+-]+", "-", tag)[:MAX_TAG_CHARS].strip("-") or "kebab"
    return "".join(
        f"{encode_id(topic_id)} Q0 {name} {rank} {len(ranking) - rank + 1} {word}\n"
        for topic_id, ranking in rankings.items()
        for rank, name in enumerate(ranking, start=1)
    )


def _parse_tab_lines(text: str, where: str) -> Iterable[tuple[str, str, str]]:
    for location, line in numbered_lines(text, where):
        topic_id, tab, query = line.partition("\t")
        if not tab:
            raise InvalidJudgedSet(f"{location} lacks a tab; write the topic's id, a tab and its query.")
        yield location, unquote(topic_id.strip()), query.strip()


def _parse_top_blocks(text: str, where: str) -> Iterable[tuple[str, str, str]]:
    for block in _TOP.finditer(text):
        location = f"{where}, line {text.count(chr(10), 0, block.start()) + 1}"
        fields = {
            name.lower(): " ".join(_LABEL.sub("", value).split()) for name, value in _FIELD.findall(block[1])
        }
        query = fields.get("title") or fields.get("desc") or ""
        if not fields.get("num") or not query:
            raise InvalidJudgedSet(
                f"{location}: this <top> has no <num>, or neither <title> nor <desc>; add it."
            )
        yield location, fields["num"], query


def _qrel(document: DocumentName, grade: int) -> Qrel:
    return Qrel(path=document.path, source=document.source, version=document.version, grade=grade)


def _parse_grade(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidJudgedSet(
            f"the grade {preview(text)} is not a whole number; give 1 for relevant."
        ) from None


def parse_beir(queries: str, qrels: str, *, where: tuple[str, str] = (QUERIES, QRELS)) -> TopicCollection:
    """Parse the judged queries from the two files' texts; unjudged queries are dropped, as in BEIR.

    Document names are in the format of `DocumentName`. `where` names the files. Raises InvalidJudgedSet.
    """
    queries_by_id: dict[str, str] = {}
    for location, topic_id, text in parse_beir_queries(numbered_lines(queries, where[0])):
        if topic_id in queries_by_id:
            raise InvalidJudgedSet(
                f"{location}: the query {preview(topic_id)} is there twice; keep one of the two."
            )
        queries_by_id[topic_id] = text
    judged = parse_beir_qrels(numbered_lines(qrels, where[1]), where[1])
    lacking = judged.keys() - queries_by_id.keys()
    if lacking:
        raise InvalidJudgedSet(f"{where[0]} lacks the judged query {preview(min(lacking))}; add it.")
    with prefix_errors(where[0]):
        return TopicCollection(
            topics=tuple(
                JudgedTopic(
                    topic_id=topic_id,
                    text=text,
                    qrels=tuple(
                        _qrel(DocumentName.parse(name), grade) for name, grade in judged[topic_id].items()
                    ),
                )
                for topic_id, text in queries_by_id.items()
                if topic_id in judged
            )
        )


def write_beir(topics: Iterable[JudgedTopic]) -> dict[str, str]:
    """Return the text of each file by its name. The format has no places within documents.

    Unjudged topics are dropped, as by the reader.
    """
    judged = [topic for topic in topics if topic.qrels]
    queries = (json.dumps({"_id": each.topic_id, "text": each.text}, ensure_ascii=False) for each in judged)
    lines = (
        f"{topic.topic_id}\t{document}\t{grade}"
        for topic in judged
        for document, grade in topic.grades.items()
    )
    return {
        QUERIES: "".join(f"{line}\n" for line in queries),
        QRELS: "".join(f"{line}\n" for line in ("query-id\tcorpus-id\tscore", *lines)),
    }


def read_topics(path: Path, qrels: Path | None = None) -> TopicCollection:
    """Read the topics of a folder in BEIR's layout, a golden file (`.yaml`, `.yml`), or a TREC topics file.

    `qrels` is the file of judgements for TREC topics; without it they are unjudged. Raises InvalidJudgedSet.
    """
    if path.is_dir() or path.suffix.lower() in (".yaml", ".yml"):
        if qrels is not None:
            raise InvalidJudgedSet(f"{path} has its judgements itself; leave {qrels} out.")
        if path.is_dir():
            return _read_beir(path)
        return parse_golden(read_text(path), str(path))
    topics = parse_topics(read_text(path), str(path))
    judged = {} if qrels is None else parse_qrels(read_text(qrels), str(qrels))
    return join_qrels(topics, judged, str(qrels))


def _read_beir(folder: Path) -> TopicCollection:
    queries, qrels = folder / QUERIES, folder / QRELS
    return parse_beir(read_text(queries), read_text(qrels), where=(str(queries), str(qrels)))
