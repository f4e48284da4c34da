"""Queries and judgements in BEIR's layout, without the corpus: the workspace has that."""

import json
from collections.abc import Iterable

from search.evaluation.beir import QRELS, QUERIES, qrels_in, queries_in
from search.evaluation.formats.located import at, lines_of
from search.evaluation.judged import DocumentName, JudgedTopic, Qrel, TopicCollection
from search.retrieval.errors import InvalidJudgedSet, shown


def parse_beir(queries: str, qrels: str, *, where: tuple[str, str] = (QUERIES, QRELS)) -> TopicCollection:
    """Return the judged queries of the two files' texts; a query that nothing judges is left out, as in BEIR.

    Documents are called as `DocumentName` writes them. `where` names the files. Raises InvalidJudgedSet.
    """
    asked: dict[str, str] = {}
    for place, topic_id, text in queries_in(lines_of(queries, where[0])):
        if topic_id in asked:
            raise InvalidJudgedSet(
                f"{place}: the query {shown(topic_id)} is there twice; keep one of the two."
            )
        asked[topic_id] = text
    judged = qrels_in(lines_of(qrels, where[1]), where[1])
    lacking = judged.keys() - asked.keys()
    if lacking:
        raise InvalidJudgedSet(f"{where[0]} lacks the judged query {shown(min(lacking))}; add it.")
    with at(where[0]):
        return TopicCollection(
            topics=tuple(
                JudgedTopic(topic_id=topic_id, text=text, qrels=_qrels(judged[topic_id].items()))
                for topic_id, text in asked.items()
                if topic_id in judged
            )
        )


def write_beir(topics: Iterable[JudgedTopic]) -> dict[str, str]:
    """Return the text of each file by its name; what part of a document is meant is not in this format.

    Topics that nothing judges are left out, as a reader leaves them out.
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
