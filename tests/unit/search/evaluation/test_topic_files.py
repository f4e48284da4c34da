"""Topics from a file or folder that a person names, and BEIR's layout without its corpus."""

import json

import pytest

from search.evaluation.formats import located, read_topics
from search.evaluation.formats.beir_topics import parse_beir, write_beir
from search.evaluation.formats.golden import write_golden
from search.evaluation.formats.trec import write_qrels, write_topics
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


def test_a_folder_is_read_as_beir_without_its_corpus(beir):
    assert read_topics(beir) == COLLECTION


def test_a_yaml_file_is_a_golden_file(tmp_path):
    for name in ("golden.yaml", "golden.YML"):
        (tmp_path / name).write_text(write_golden(COLLECTION))
        assert read_topics(tmp_path / name) == COLLECTION


def test_any_other_file_has_topics_as_trec_does_with_or_without_qrels(tmp_path):
    (tmp_path / "topics.tsv").write_text(write_topics(TOPICS))
    (tmp_path / "qrels.txt").write_text(write_qrels(TOPICS))
    assert read_topics(tmp_path / "topics.tsv", tmp_path / "qrels.txt") == COLLECTION
    assert [each.qrels for each in read_topics(tmp_path / "topics.tsv").topics] == [(), ()]


def test_a_byte_order_mark_is_no_part_of_an_id(tmp_path):
    (tmp_path / "topics.tsv").write_text(write_topics(TOPICS), encoding="utf-8-sig")
    assert read_topics(tmp_path / "topics.tsv").topics[0].topic_id == "q1"


def test_a_beir_query_that_nothing_judges_is_left_out():
    queries = "".join(json.dumps({"_id": name, "text": name}) + "\n" for name in ("q1", "q2"))
    found = parse_beir(queries, "query-id\tcorpus-id\tscore\nq2\td\t1\n")
    assert found.topics == (JudgedTopic(topic_id="q2", text="q2", qrels=(Qrel(path="d"),)),)


@pytest.mark.parametrize(
    ("queries", "qrels", "said"),
    [
        ('{"_id": "q", "text": "a"}\n' * 2, "q\td\t1", "queries.jsonl, line 2: the query 'q' is there twice"),
        ('{"_id": "q", "text": "a"}', "p\td\t1", "lacks the judged query 'p'"),
        ('{"_id": "q", "text": 7}', "q\td\t1", "queries.jsonl, line 1: 'text' is '7'"),
        ('{"_id": "q", "text": ""}', "q\td\t1", "must be a text that isn't empty"),
        ("[" * 100_000, "q\td\t1", "queries.jsonl, line 1 is not JSON"),
        ('{"_id": "q", "text": "a"}', "q\td\tNaN\nq\td\tNaN", "qrels/test.tsv, line 2 is not a query"),
        ('{"_id": "q", "text": "a"}', "", "judges nothing"),
    ],
    ids=range(7),
)
def test_what_is_wrong_in_a_beir_file_is_told_with_its_line(queries, qrels, said):
    with pytest.raises(InvalidJudgedSet) as error:
        parse_beir(queries, qrels)
    assert said in str(error.value)


def test_a_file_that_can_not_be_read_is_named(tmp_path, monkeypatch):
    with pytest.raises(InvalidJudgedSet, match=r"gone.tsv is no file"):
        read_topics(tmp_path / "gone.tsv")
    (tmp_path / "binary.tsv").write_bytes(b"q\t\xff\xfe")
    with pytest.raises(InvalidJudgedSet, match=r"binary.tsv can't be read .* in UTF-8"):
        read_topics(tmp_path / "binary.tsv")
    with pytest.raises(InvalidJudgedSet, match=r"queries.jsonl is no file"):
        read_topics(tmp_path)
    monkeypatch.setattr(located, "MAX_BYTES", 10)
    (tmp_path / "huge.tsv").write_text("q\ttoo much of it")
    with pytest.raises(InvalidJudgedSet, match=r"huge.tsv has more than 10 bytes; split it"):
        read_topics(tmp_path / "huge.tsv")


def test_qrels_beside_what_has_its_own_are_refused(beir):
    with pytest.raises(InvalidJudgedSet, match=r"leave qrels\.txt out"):
        read_topics(beir, type(beir)("qrels.txt"))
