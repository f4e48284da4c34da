"""Golden files: reading, writing, and errors that name the line."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search.evaluation.formats.golden import parse_golden, write_golden
from search.evaluation.judged import JudgedTopic, Qrel, TopicCollection
from search.retrieval.errors import InvalidJudgedSet

WRITTEN = """\
# What new colleagues ask.
set: onboarding
topics:
  - id: 007
    query: how do I restart the worker
    filters: {lang: en, tags_any: [ops, "on"]}
    relevant:
      - guide.md
      - ops/C%23 run.md#L7-L12
      - {doc: "plan.pdf", source: handbook, version: v2, grade: 2}
      - citation: plan.pdf#page=4
        source: handbook
        grade: 0
  - id: no
    query: "what does the director earn?"
    unanswerable: yes
  - {id: 1.10, query: not judged yet}
"""
READ = TopicCollection(
    topic_set="onboarding",
    topics=(
        JudgedTopic(
            topic_id="007",
            text="how do I restart the worker",
            filters={"lang": "en", "tags_any": ["ops", "on"]},
            qrels=(
                Qrel(path="guide.md"),
                Qrel(path="ops/C# run.md", fragment="L7-L12"),
                Qrel(path="plan.pdf", source="handbook", version="v2", grade=2),
                Qrel(path="plan.pdf", fragment="page=4", source="handbook", grade=0),
            ),
        ),
        JudgedTopic(topic_id="no", text="what does the director earn?", is_unanswerable=True),
        JudgedTopic(topic_id="1.10", text="not judged yet"),
    ),
)


def test_file_is_read_and_written_the_same():
    assert parse_golden(WRITTEN) == READ
    assert parse_golden(write_golden(READ)) == READ
    assert parse_golden("topics: [{id: a, query: b}]").topic_set is None


_ONE = "topics:\n  - id: a\n    query: b\n"
_TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), min_size=1, max_size=40)
_WORDS = _TEXT.filter(lambda text: text.strip())
_IDS = _TEXT.filter(lambda text: text.isprintable() and text == text.strip())
_PATHS = _WORDS.filter(lambda text: "#" not in text)
_QRELS = st.builds(
    Qrel, path=_PATHS, source=st.none() | st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True),
    version=st.just("") | _WORDS,
    fragment=st.sampled_from(["", "L7", "L7-L12", "page=4", "xywh=1,2,3,4", "t=1.000,2.500"]),
    grade=st.integers(-10, 1000),
)  # fmt: skip
_TOPICS = st.builds(
    JudgedTopic, topic_id=_IDS, text=_WORDS,
    filters=st.dictionaries(st.sampled_from(["lang", "tags_any", "source"]), st.lists(_WORDS, min_size=1)),
    qrels=st.lists(_QRELS, max_size=4, unique_by=lambda qrel: (qrel.document, qrel.fragment)).map(tuple),
)  # fmt: skip


@settings(max_examples=20)
@given(st.lists(_TOPICS, min_size=1, max_size=4, unique_by=lambda topic: topic.topic_id))
def test_file_keeps_any_topics(topics):
    collection = TopicCollection(topics=tuple(topics))
    assert parse_golden(write_golden(collection)) == collection


def test_invalid_file_is_refused_with_its_line(subtests, monkeypatch):
    cases = [
        ("", "golden.yaml is empty; begin with `topics:`"),
        ("just words", "line 1: there must be names with values here: set, topics"),
        ("topics:\n", "contains no topics; add"), ("topics: {a: b}", "line 1: there must be a list here"),
        ("topics:\n  - id: a\n", "line 2: this topic has no `query`; add it"),
        ("topics:\n  - id: a\n    query: ''\n", "no `query`"),
        ("topics:\n  - id: a\n    query: b\n    relevent: [c]\n", "line 4: there is no 'relevent' here"),
        ("topics:\n  - id: a\n    query: b\n    id: c\n", "line 4: 'id' is there twice"),
        ("topics:\n  - {id: a, query: b}\n  - {id: a, query: c}\n", "'a' is there twice"),
        (f"{_ONE}    relevant:\n      - {{doc: c, grade: two}}\n", "line 5: the grade 'two'"),
        (f"{_ONE}    relevant:\n      - {{doc: c, grade: .nan}}\n", "the grade '.nan'"),
        ("topics: [{id: a, query: b, relevant: [{doc: c, grade: 1001}]}]", "grade 1001 is out of range"),
        ("topics: [{id: a, query: b, relevant: [{grade: 1}]}]", "name `doc`"),
        ("topics: [{id: a, query: b, relevant: [{doc: c, citation: d}]}]", "one of the two"),
        ("topics: [{id: a, query: b, relevant: ['c#']}]", "ends with `#`"),
        ("topics: [{id: a, query: b, relevant: ['c#L0']}]", "lines and pages count from 1"),
        ("topics: [{id: a, query: b, relevant: ['c#L07']}]", "is not a citation"),
        ("topics: [{id: a, query: b, relevant: [c, c]}]", "judges 'c' twice"),
        ("topics: [{id: a, query: b, unanswerable: perhaps}]", "'perhaps' is not true or false"),
        ("topics: [{id: a, query: b, unanswerable: true, relevant: [c]}]", "decide for one"),
        ("topics: [{id: a, query: b, filters: {colour: [c]}}]", "There is no filter 'colour'"),
        ("topics: [{id: a, query: b, filters: {trust_min: best}}]", "'best' is not one of"),
        ("topics: [{id: a, query: b, filters: {ingested_after: soon}}]", "write it like 2026-01-31"),
        ("topics: [{id: [a], query: b}]", "there must be a text here"),
        ("set: ' edges '\ntopics: [{id: a, query: b}]", "The name of a set"),
        ("topics: [\n  {id: a,\n", "line 3 is not YAML"),
        ("topics: [{id: a, query: b}]\n---\ntopics: []", "line 3: a second document begins"),
        ("topics:\n  - !!python/object/apply:os.system ['true']\n", "line 2: anchors, aliases and tags"),
        ("topics:\n  - &a {id: a, query: b}\n  - *a\n", "line 2: anchors, aliases and tags"),
        ("topics: " + "[" * 5_000, "more than 10 deep"), ("topics: " + "{a: " * 5_000, "more than 10 deep"),
        (f"topics: [{{id: a, query: {'b' * 20_001}}}]", "has 20,001 characters; give 20,000 at most"),
        (f"topics: [{{id: {'a' * 101}, query: b}}]", "give 100 at most"),
        ("topics: [{id: a, query: \"\\0\"}]", "must be a text that isn't empty"),
    ]  # fmt: skip
    for text, message in cases:
        with subtests.test(text=text):
            with pytest.raises(InvalidJudgedSet) as error:
                parse_golden(text)
            assert message in str(error.value)
            assert str(error.value).startswith("golden.yaml")
    monkeypatch.setattr("search.evaluation.judged.MAX_TOPICS", 20)
    text = "topics:\n" + "".join(f"  - {{id: t{n}, query: q}}\n" for n in range(21))
    with pytest.raises(InvalidJudgedSet, match=r"21 topics.* 20 "):
        parse_golden(text)


@given(st.text(max_size=80))
def test_any_golden_file_is_parsed_or_refused(text):
    with suppress(InvalidJudgedSet):
        parse_golden(text)
