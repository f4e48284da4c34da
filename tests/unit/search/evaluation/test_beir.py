"""Judged sets in BEIR's layout are read, or refused by file and line."""

import hashlib
import json

import pytest

from search.evaluation.beir import JudgedDocument, read_documents, read_judged_set
from search.retrieval.errors import InvalidJudgedSet

DOCUMENTS = [
    {"_id": "d1", "title": "Mirrors", "text": "A mirror follows Postgres."},
    {"_id": "d/2", "title": "", "text": ""},
    {"_id": "d3", "text": "no title", "metadata": {}},
]
QUERIES = [{"_id": f"q{n}", "text": f"query {n}"} for n in range(6)]
QRELS = "query-id\tcorpus-id\tscore\nq0\td1\t1\nq0\td3\t0\nq2\td3\t2\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, DOCUMENTS)) + "\n")
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, QUERIES)))
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text(QRELS)
    return tmp_path


def test_set_is_read_with_its_grades_and_sampled(folder):
    judged = read_judged_set(folder)
    assert (judged.name, judged.documents) == (folder.name, 3)
    assert judged.topics == {"q0": "query 0", "q2": "query 2"}
    assert judged.qrels == {"q0": {"d1": 1, "d3": 0}, "q2": {"d3": 2}}
    assert judged.digests["qrels/test.tsv"] == hashlib.sha256(QRELS.encode()).hexdigest()
    assert list(read_documents(folder)) == [
        JudgedDocument(doc_id="d1", title="Mirrors", text="A mirror follows Postgres."),
        JudgedDocument(doc_id="d/2", title="", text=""),
        JudgedDocument(doc_id="d3", title="", text="no title"),
    ]
    (folder / "qrels" / "test.tsv").write_text("q1\td1\t-1\r\n")
    assert read_judged_set(folder).qrels == {"q1": {"d1": -1}}
    (folder / "qrels" / "test.tsv").write_text("".join(f"q{n}\td1\t1\n" for n in range(6)))
    judged = read_judged_set(folder)
    assert list(judged.sample(3).topics) == list(judged.sample(3).qrels) == ["q0", "q2", "q4"]
    assert judged.sample(6) == judged.sample(100) == judged


def test_invalid_set_is_refused_by_file_and_line(subtests, folder):
    cases = [
        ("corpus.jsonl", "{}\n{", r"corpus.jsonl, line 2 "),
        ("corpus.jsonl", "[]", r"corpus.jsonl, line 1 "),
        ("queries.jsonl", '{"_id": 1, "text": "x"}', r"queries.jsonl, line 1: '_id' is '1'"),
        ("queries.jsonl", '{"_id": "q0"}', r"line 1: 'text' is 'None'"),
        ("queries.jsonl", '{"_id": "q0", "text": "x"}', r"'q2'"),
        ("qrels/test.tsv", "q0 d1 1\nq0\td1\t1", r"test.tsv, line 1"),
        ("qrels/test.tsv", "a\tb\tc\nq0\td1\tx", r"test.tsv, line 2 "),
        ("qrels/test.tsv", "a\tb\tc\nq0\td1", r"test.tsv, line 2"),
        ("qrels/test.tsv", "a\tb\tc\n", "test.tsv"),
        ("corpus.jsonl", "\xff", "corpus.jsonl"),
    ]
    for file, content, message in cases:
        with subtests.test(file=file, content=content):
            valid = (folder / file).read_bytes()
            (folder / file).write_bytes(content.encode("latin-1"))
            with pytest.raises(InvalidJudgedSet, match=message):
                read_judged_set(folder)
            (folder / file).write_bytes(valid)
    for line, message in (
        ({"_id": "d1", "text": ""}, "line 2.*'d1'"),
        ({"_id": "d2"}, "line 2: 'text'"),
        ({"_id": "d2", "title": None, "text": ""}, "line 2: 'title'"),
    ):
        with subtests.test(line=line):
            (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, [DOCUMENTS[0], line])))
            with pytest.raises(InvalidJudgedSet, match=message):
                list(read_documents(folder))
    (folder / "queries.jsonl").unlink()
    with pytest.raises(InvalidJudgedSet, match=r"queries\.jsonl"):
        read_judged_set(folder)
