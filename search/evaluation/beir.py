"""Judged sets in the layout of BEIR: `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`.

N. Thakur, N. Reimers, A. Rücklé, A. Srivastava and I. Gurevych, "BEIR: A Heterogeneous Benchmark for
Zero-shot Evaluation of Information Retrieval Models", NeurIPS 2021, datasets and benchmarks.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from search.evaluation.judged import JudgedTopic, Qrel
from search.retrieval.errors import InvalidJudgedSet, preview

CORPUS = "corpus.jsonl"
QUERIES = "queries.jsonl"
QRELS = "qrels/test.tsv"

#: Non-blank lines, each with its location.
Lines = Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedDocument:
    """A document of a set; title and text may be empty."""

    doc_id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSet:
    """The judged queries of a set and their relevant documents."""

    name: str
    folder: Path
    #: Number of documents.
    documents: int
    #: Text of each judged query by id, in file order.
    topics: Mapping[str, str]
    #: Grades by query and document; above 0 is relevant.
    qrels: Mapping[str, Mapping[str, int]]
    #: SHA-256 of each file, by its name.
    digests: Mapping[str, str]

    def sample(self, number: int) -> "JudgedSet":
        """Return the set with at most `number` of its queries, evenly spread over the file."""
        ids = list(self.topics)
        sampled = [ids[index * len(ids) // number] for index in range(number)] if number < len(ids) else ids
        return replace(
            self,
            topics={query_id: self.topics[query_id] for query_id in sampled},
            qrels={query_id: self.qrels[query_id] for query_id in sampled},
        )


def topics_of_set(judged: JudgedSet) -> list[JudgedTopic]:
    """Return the set's queries as topics, with document ids as paths. Raises InvalidJudgedSet."""
    return [
        JudgedTopic(
            topic_id=query_id,
            text=text,
            qrels=tuple(Qrel(path=doc_id, grade=grade) for doc_id, grade in judged.qrels[query_id].items()),
        )
        for query_id, text in judged.topics.items()
    ]


def read_judged_set(folder: Path) -> JudgedSet:
    """Read the set in `folder`, named after it. Raises InvalidJudgedSet, naming file and line."""
    qrels = parse_beir_qrels(_lines(folder / QRELS), str(folder / QRELS))
    queries_by_id = {topic_id: text for _, topic_id, text in parse_beir_queries(_lines(folder / QUERIES))}
    lacking = qrels.keys() - queries_by_id.keys()
    if lacking:
        raise InvalidJudgedSet(f"{folder / QUERIES} lacks the judged query {preview(min(lacking))}; add it.")
    return JudgedSet(
        name=folder.resolve().name,
        folder=folder,
        documents=sum(1 for _ in _rows(_lines(folder / CORPUS))),
        topics={query_id: text for query_id, text in queries_by_id.items() if query_id in qrels},
        qrels=qrels,
        digests={name: _digest(folder / name) for name in (CORPUS, QUERIES, QRELS)},
    )


def read_documents(folder: Path) -> Iterator[JudgedDocument]:
    """Yield the set's documents in file order. Raises InvalidJudgedSet, naming the line."""
    known: set[str] = set()
    for where, row in _rows(_lines(folder / CORPUS)):
        document = JudgedDocument(
            doc_id=_text(row, "_id", where),
            title=_text({"title": "", **row}, "title", where),
            text=_text(row, "text", where),
        )
        if document.doc_id in known:
            raise InvalidJudgedSet(f"{where}: the document {preview(document.doc_id)} is there twice.")
        known.add(document.doc_id)
        yield document


def parse_beir_queries(lines: Lines) -> Iterator[tuple[str, str, str]]:
    """Yield the location, id and text of each query. Raises InvalidJudgedSet."""
    for where, row in _rows(lines):
        yield where, _text(row, "_id", where), _text(row, "text", where)


def parse_beir_qrels(lines: Lines, name: str) -> dict[str, dict[str, int]]:
    """Return the grades of the file `name` by query and document; a first line without grade is a header.

    Raises InvalidJudgedSet.
    """
    qrels: dict[str, dict[str, int]] = {}
    for number, (where, line) in enumerate(lines):
        fields = line.rstrip("\r\n").split("\t")
        try:
            query_id, doc_id, grade = fields
            if number == 0 and not grade.lstrip("-").isdigit():
                continue
            qrels.setdefault(query_id, {})[doc_id] = int(grade)
        except ValueError as error:
            raise InvalidJudgedSet(
                f"{where} is not a query, a document and a grade, apart by tabs."
            ) from error
    if not qrels:
        raise InvalidJudgedSet(f"{name} judges nothing; give a set with judgements.")
    return qrels


def _rows(lines: Lines) -> Iterator[tuple[str, dict[str, Any]]]:
    for where, line in lines:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidJudgedSet(f"{where} is not JSON: {error}.") from error
        if not isinstance(row, dict):
            raise InvalidJudgedSet(f"{where} is not a JSON object.")
        yield where, row


def _text(row: Mapping[str, Any], name: str, where: str) -> str:
    value = row.get(name)
    if not isinstance(value, str):
        raise InvalidJudgedSet(f"{where}: {name!r} is {preview(value)}; it must be a text.")
    return value


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield f"{path}, line {number}", line
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidJudgedSet(f"{path} can't be read ({error}); a set has it, in UTF-8.") from error


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
