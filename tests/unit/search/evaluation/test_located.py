"""Topics from a named file or folder, and BEIR's layout without its corpus."""

import json

import pytest

from search.evaluation.formats import golden
from search.evaluation.formats.golden import write_golden
from search.evaluation.formats.trec import parse_beir, read_topics, write_beir, write_qrels, write_topics
from search.evaluation.judged import JudgedTopic, Qrel, TopicCollection
from search.retrieval.errors import InvalidJudgedSet

TOPICS = (
    JudgedTopic(topic_id="q1", text="apple", qrels=(Qrel(path="a b.md", source="docs", grade=2),)),
    JudgedTopic(topic_id="q2", text="pear", qrels=(Qrel(path="b.md"), Qrel(path="c.md", grade=0))),
)
COLLECTION = TopicCollection(topics=TOPICS)


@pytest.fixture
def beir(tmp_path):
    for name, text in write_beir(TOPICS).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_folder_yaml_and_trec_files_are_read(beir, tmp_path):
    assert read_topics(beir) == COLLECTION
    for name in ("golden.yaml", "golden.YML"):
        (tmp_path / name).write_text(write_golden(COLLECTION))
        assert read_topics(tmp_path / name) == COLLECTION
    (tmp_path / "topics.tsv").write_text(write_topics(TOPICS))
    (tmp_path / "qrels.txt").write_text(write_qrels(TOPICS))
    assert read_topics(tmp_path / "topics.tsv", tmp_path / "qrels.txt") == COLLECTION
    assert [each.qrels for each in read_topics(tmp_path / "topics.tsv").topics] == [(), ()]
    (tmp_path / "topics.tsv").write_text(write_topics(TOPICS), encoding="utf-8-sig")
    assert read_topics(tmp_path / "topics.tsv").topics[0].topic_id == "q1"


def test_beir_queries_and_qrels_are_checked(subtests):
    queries = "".join(json.dumps({"_id": name, "text": name}) + "\n" for name in ("q1", "q2"))
    found = parse_beir(queries, "query-id\tcorpus-id\tscore\nq2\td\t1\n")
    assert found.topics == (JudgedTopic(topic_id="q2", text="q2", qrels=(Qrel(path="d"),)),)
    cases = [
        ('{"_id": "q", "text": "a"}\n' * 2, "q\td\t1", "queries.jsonl, line 2: the query 'q'"),
        ('{"_id": "q", "text": "a"}', "p\td\t1", "'p'"),
        ('{"_id": "q", "text": 7}', "q\td\t1", "queries.jsonl, line 1: 'text' is '7'"),
        ('{"_id": "q", "text": ""}', "q\td\t1", "topic 'q' is ''"),
        ("[" * 100_000, "q\td\t1", "queries.jsonl, line 1"),
        ('{"_id": "q", "text": "a"}', "q\td\tNaN\nq\td\tNaN", "qrels/test.tsv, line 2"),
        ('{"_id": "q", "text": "a"}', "", "qrels"),
    ]
    for queries, qrels, message in cases:
        with subtests.test(queries=queries):
            with pytest.raises(InvalidJudgedSet) as error:
                parse_beir(queries, qrels)
            assert message in str(error.value)


def test_unreadable_file_is_named(tmp_path, monkeypatch, beir):
    with pytest.raises(InvalidJudgedSet, match=r"gone.tsv"):
        read_topics(tmp_path / "gone.tsv")
    (tmp_path / "binary.tsv").write_bytes(b"q\t\xff\xfe")
    with pytest.raises(InvalidJudgedSet, match=r"binary.tsv.*UTF-8"):
        read_topics(tmp_path / "binary.tsv")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidJudgedSet, match=r"queries.jsonl"):
        read_topics(tmp_path / "empty")
    with pytest.raises(InvalidJudgedSet, match=r"qrels\.txt"):
        read_topics(beir, type(beir)("qrels.txt"))
    monkeypatch.setattr(golden, "MAX_BYTES", 10)
    (tmp_path / "huge.tsv").write_text("q\ttoo much of it")
    with pytest.raises(InvalidJudgedSet, match=r"huge.tsv.* 10 bytes"):
        read_topics(tmp_path / "huge.tsv")
