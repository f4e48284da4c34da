"""Queries and judgements in BEIR's layout, without the corpus, which the workspace already has."""

import json
from collections.abc import Iterable

from search.evaluation.beir import QRELS, QUERIES, parse_beir_qrels, parse_beir_queries
from search.evaluation.formats.located import numbered_lines, prefix_errors
from search.evaluation.judged import DocumentName, JudgedTopic, Qrel, TopicCollection
from search.retrieval.errors import InvalidJudgedSet, preview


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
                JudgedTopic(topic_id=topic_id, text=text, qrels=_qrels(judged[topic_id].items()))
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


def _qrels(grades: Iterable[tuple[str, int]]) -> tuple[Qrel, ...]:
    documents = ((DocumentName.parse(name), grade) for name, grade in grades)
    return tuple(
        Qrel(path=document.path, source=document.source, version=document.version, grade=grade)
        for document, grade in documents
    )
