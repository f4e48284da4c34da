"""TREC files: written and read by Kebab and ir-measures, with errors that name the line."""

import io
from contextlib import suppress

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.evaluation.formats.trec import (
    join_qrels,
    parse_qrels,
    parse_topics,
    write_qrels,
    write_run,
    write_topics,
)
from search.evaluation.judged import DocumentName, JudgedTopic, Qrel
from search.evaluation.metrics import DEFAULT_MEASURES, measure_each
from search.retrieval.errors import InvalidJudgedSet

CLASSIC = """\
<top>
<num> Number: 301
<title> International   Organized Crime
<desc> Description:
Identify organizations that participate.
</top>

<TOP>
<NUM> 302
<TITLE>
<DESC> Description: Is polio under
control?
"""
TOPICS = (
    JudgedTopic(
        topic_id="q 1",
        text="restart the worker",
        qrels=(
            Qrel(path="a b.md", source="docs", grade=2),
            Qrel(path="a b.md", source="docs", fragment="L7-L12", grade=3),
            Qrel(path="50%.md", version="v1:2@x"),
            Qrel(path="c:d.md", grade=0),
        ),
    ),
    JudgedTopic(topic_id="q2", text="nothing judged"),
)


def test_topics_and_judgements_are_read_and_written():
    tabbed = "q1\thow do I  restart\n\nq2\tпочему\r\n"
    assert parse_topics(tabbed) == {"q1": "how do I  restart", "q2": "почему"}
    assert parse_topics(CLASSIC) == {"301": "International Organized Crime", "302": "Is polio under control?"}

    topics, qrels = parse_topics(write_topics(TOPICS)), parse_qrels(write_qrels(TOPICS))
    found = join_qrels(topics, qrels).topics
    assert [(each.topic_id, each.text, each.grades) for each in found] == [
        (each.topic_id, each.text, each.grades) for each in TOPICS
    ]
    assert found[0].grades[DocumentName(path="a b.md", source="docs")] == 3

    assert write_qrels(TOPICS).splitlines() == [
        "q%201 0 docs:a%20b.md 3", "q%201 0 @v1%3A2%40x:50%25.md 1", "q%201 0 c%3Ad.md 0",
    ]  # fmt: skip


_TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), min_size=1, max_size=30)
_NAMES = st.builds(
    DocumentName, path=_TEXT, source=st.none() | st.from_regex(r"[a-z0-9][a-z0-9-]{0,5}", fullmatch=True),
    version=st.just("") | _TEXT,
)  # fmt: skip


@given(_NAMES, _NAMES)
def test_document_has_a_name_of_its_own_and_is_found_again_by_it(one, other):
    assert DocumentName.parse(str(one)) == one
    assert len(str(one).split()) == 1
    assert (one == other) == (str(one) == str(other))


@given(st.lists(_NAMES, max_size=40, unique=True))
def test_a_run_keeps_its_order_wherever_it_is_read(documents):
    names = [str(each) for each in documents]
    run = write_run({"q": names}, tag="a tag")
    read = list(ir_measures.read_trec_run(io.StringIO(run)))
    assert [each.doc_id for each in sorted(read, key=lambda each: -each.score)] == names


def test_thousand_documents_have_a_thousand_scores_in_single_precision():
    """trec_eval keeps scores as C floats."""
    import numpy as np

    lines = write_run({"q": [f"d{n}" for n in range(1_000)]}, tag="x").splitlines()
    scores = np.array([line.split()[4] for line in lines], dtype=np.float32)
    assert (np.diff(scores) < 0).all()


def test_a_run_file_gives_the_figures_of_the_run():
    """Compare trec_eval's own figures for the files with ours."""
    rankings = {"q1": ["x", "b", "a", "c"], "q2": ["e"], "q3": []}
    qrels = {"q1": {"a": 2, "b": 1, "z": 1}, "q2": {"e": 1}, "q3": {"f": 1}}
    topics = [
        JudgedTopic(topic_id=id_, text="?", qrels=tuple(Qrel(path=path, grade=n) for path, n in each.items()))
        for id_, each in qrels.items()
    ]
    measures = [ir_measures.parse_measure(name) for name in DEFAULT_MEASURES]
    of_files = ir_measures.pytrec_eval.iter_calc(
        [each for each in measures if str(each) != "RR@10"],
        list(ir_measures.read_trec_qrels(write_qrels(topics))),
        list(ir_measures.read_trec_run(write_run(rankings, tag="x"))),
    )
    ours = measure_each(DEFAULT_MEASURES, qrels, rankings)
    compared = [(each.value, ours[each.query_id][str(each.measure)]) for each in of_files]
    assert len(compared) == 15
    assert all(theirs == pytest.approx(own) for theirs, own in compared)


def test_invalid_file_is_refused_with_its_line(subtests):
    cases = [
        (parse_topics, "q1 no tab", "topics, line 1 lacks a tab; write the topic's id, a tab and its query"),
        (parse_topics, "", "topics contains no topic"),
        (parse_topics, "q\ta\nq\tb", "topics, line 2: the topic 'q' is there twice"),
        (parse_topics, "q\t", "topics, line 1: The query of topic 'q' is ''"),
        (parse_topics, "\ta", "topics, line 1: The topic id is ''"),
        (parse_topics, f"{'q' * 101}\ta", "give 100 at most"),
        (parse_topics, "<top><num>1</top>", "topics, line 1: this <top> has no <num>"),
        (parse_topics, "<top>\n<num>1\n<title>a\n</top>\n<top>\n<title>b\n</top>", "line 5: this <top>"),
        (parse_qrels, "q1 0 d", "qrels, line 1 has 3 columns; write topic, 0, document, grade"),
        (parse_qrels, "\n\nq1 0 d NaN", "qrels, line 3: the grade 'NaN' is not a whole number"),
        (parse_qrels, "q1 0 d 1.5", "the grade '1.5'"),
        (parse_qrels, f"q1 0 d {'9' * 5_000}", "is not a whole number"),
        (parse_qrels, "q1 0 d 99999", "out of range"),
        (parse_qrels, "q1 0 d 1\nq1 0 d 2", "qrels, line 2: topic 'q1' judges 'd' twice"),
        (parse_qrels, "q1 0 docs: 1", "qrels, line 1: A judgement has an empty path"),
        (parse_qrels, f"q1 0 {'d' * 1_001} 1", "at most 1,000 characters"),
        (parse_qrels, "\n", "qrels judges nothing"),
    ]
    for parse, text, message in cases:
        with subtests.test(parse=parse):
            with pytest.raises(InvalidJudgedSet) as error:
                parse(text)
            assert message in str(error.value)
    with pytest.raises(InvalidJudgedSet, match="qrels judges the topic 'q9', which isn't there"):
        join_qrels({"q1": "a"}, {"q9": (Qrel(path="d"),)})


@given(st.text(max_size=60))
def test_any_trec_file_is_parsed_or_refused(text):
    for parse in (parse_topics, parse_qrels):
        with suppress(InvalidJudgedSet):
            parse(text)
