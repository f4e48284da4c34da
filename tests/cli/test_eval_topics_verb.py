"""`kebab eval topics`: files in, files out, and what came between."""

import json

import pytest
from django.core.management.base import CommandError

from kebab.people.models import AuditEvent
from kebab.people.operator import the_operator
from search.evaluation.feedback import give_feedback
from search.evaluation.topic_sets import judged_topics
from search.models import Topic
from tests.cli.running import error_of, run, run_json
from tests.support.corpus import write

GOLDEN = """
set: fruit
topics:
  - id: apples
    query: apple harvest
    filters:
      lang: [en]
    relevant:
      - citation: apples.md#L1-L3
        grade: 2
      - doc: pears.md
        grade: 0
  - id: zebras
    query: zebras
    unanswerable: true
"""


@pytest.fixture(autouse=True)
def fruit(workspace):
    for name in ("apples", "pears"):
        write(workspace, f"{name}.md", f"the {name} were picked in autumn")
    return workspace


@pytest.fixture
def golden(tmp_path):
    file = tmp_path / "golden.yaml"
    file.write_text(GOLDEN)
    return file


def imported(golden, *arguments):
    return run_json("eval", "topics", "import", str(golden), *arguments)


def test_a_golden_file_is_imported(golden, fruit):
    assert imported(golden) == {
        "schema_version": "eval_topics_kept.v1",
        "set": "fruit",
        "added": 2,
        "changed": 0,
        "unchanged": 0,
    }
    apples, zebras = judged_topics(the_operator(fruit), "fruit")
    assert [qrel.citation for qrel in apples.qrels] == ["apples.md#L1-L3", "pears.md"]
    assert zebras.is_unanswerable
    assert Topic.objects.first().created_by.startswith("operator:")
    assert AuditEvent.objects.get(action="topics.kept").subject == "fruit"


def test_the_set_may_be_another_than_the_files(golden):
    assert imported(golden, "--set", "mine")["set"] == "mine"


def test_people_are_told_how_many(golden):
    imported(golden)
    code, out, _ = run("eval", "topics", "import", str(golden))
    assert (code, out) == (0, "Topics of fruit: 0 added, 0 changed, 2 unchanged.\n")


@pytest.mark.parametrize("format_", ["golden", "trec", "beir"])
def test_what_is_exported_is_imported_again(golden, tmp_path, fruit, format_):
    imported(golden)
    to = tmp_path / ("out.yaml" if format_ == "golden" else "out")
    chosen = ["--set", "fruit", "--format", format_, "--to", str(to)]
    written = run_json("eval", "topics", "export", *chosen)["written"]
    assert len(written) == (1 if format_ == "golden" else 2)
    source = {"trec": [written[0], "--qrels", written[-1]], "beir": [str(to)], "golden": [str(to)]}
    again = run_json("eval", "topics", "import", *source[format_], "--set", "again")
    first, second = (
        {topic.topic_id: topic for topic in judged_topics(the_operator(fruit), name)}
        for name in ("fruit", "again")
    )

    assert again["added"] == len(second)
    assert second["apples"].text == first["apples"].text
    assert second["apples"].grades == first["apples"].grades
    if format_ == "golden":
        assert second == first


def test_an_export_goes_to_standard_output(golden, tmp_path):
    imported(golden)
    code, out, err = run("eval", "topics", "export", "--set", "fruit")
    (tmp_path / "again.yaml").write_text(out)
    assert (code, err) == (0, "")
    assert imported(tmp_path / "again.yaml")["unchanged"] == 2
    files = run_json("eval", "topics", "export", "--set", "fruit", "--format", "trec")["files"]
    assert list(files) == ["topics.tsv", "qrels.txt"]


def test_topics_are_listed_with_their_judgements(golden):
    imported(golden)
    imported(golden, "--set", "other")
    told = run_json("eval", "topics", "list")
    assert [(each["set"], each["topics"]) for each in told["sets"]] == [("fruit", 2), ("other", 2)]
    assert len(told["topics"]) == 4
    one = run_json("eval", "topics", "list", "--set", "fruit")
    assert [each["set"] for each in one["sets"]] == ["fruit"]
    assert one["topics"][0]["judgements"][0] == {
        "path": "apples.md",
        "source": "docs",
        "version": "",
        "fragment": "L1-L3",
        "grade": 2,
    }
    _, out, _ = run("eval", "topics", "list")
    assert "apple harvest" in out


def test_topics_are_deleted_by_id_or_all(golden):
    imported(golden)
    chosen = ["eval", "topics", "delete", "--set", "fruit"]
    assert error_of(*chosen, "apples", "gone", code=1)["code"] == "not_found"
    assert Topic.objects.count() == 2
    assert run_json(*chosen, "apples")["deleted"] == 1
    assert run_json(*chosen, "--all")["deleted"] == 1
    assert not Topic.objects.exists()
    assert error_of(*chosen, "--all", code=1)["code"] == "not_found"


@pytest.mark.parametrize("arguments", [[], ["apples", "--all"]])
def test_a_deletion_says_what_of(golden, arguments):
    imported(golden)
    error = error_of("eval", "topics", "delete", "--set", "fruit", *arguments, code=2)
    assert error["code"] == "invalid_arguments"
    assert Topic.objects.count() == 2


def test_topics_come_of_feedback(fruit):
    said = {"query": "apple harvest", "source": "docs", "citation": "apples.md", "is_relevant": True}
    give_feedback(the_operator(fruit), **said)
    assert run_json("eval", "topics", "from-feedback")["added"] == 1
    assert run_json("eval", "topics", "from-feedback", "--set", "mine")["set"] == "mine"
    assert {topic.topic_set for topic in Topic.objects.all()} == {"feedback", "mine"}


def test_a_file_that_is_none_is_refused_with_its_line(tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text("topics:\n  - id: a\n")
    error = error_of("eval", "topics", "import", str(file), code=2)
    assert error["code"] == "invalid_judged_set"
    assert "bad.yaml" in error["message"]
    with pytest.raises(CommandError, match=r"gone\.yaml"):
        run("eval", "topics", "import", str(tmp_path / "gone.yaml"))


def test_a_set_without_topics_is_not_exported():
    assert error_of("eval", "topics", "export", "--set", "none", code=1)["code"] == "no_topics"


def test_a_place_that_can_not_be_written_is_told(golden, tmp_path):
    imported(golden)
    (tmp_path / "file").write_text("")
    to = str(tmp_path / "file" / "below.yaml")
    error = error_of("eval", "topics", "export", "--set", "fruit", "--to", to, code=2)
    assert "can't be written" in error["message"]


def test_one_of_a_set_and_a_sub_verb_is_needed(tmp_path):
    assert "topics import" in error_of("eval", code=2)["message"]
    assert "one of the two" in error_of("eval", "--beir", str(tmp_path), "runs", code=2)["message"]


def test_a_terminal_is_shown_no_escape_sequences(fruit, tmp_path):
    file = tmp_path / "wild.yaml"
    file.write_text(json.dumps({"topics": [{"id": "a", "query": "red \x1b[31m apples"}]}))
    imported(file)
    for arguments in (["list"], ["export"]):
        _, out, _ = run("eval", "topics", *arguments)
        assert "\x1b" not in out
