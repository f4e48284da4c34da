"""`kebab eval topics`: import and export of files."""

import json

import pytest
from django.core.management.base import CommandError

from kebab.identity.models import AuditEvent
from kebab.people.operator import command_line_access
from search.evaluation.feedback import record_feedback
from search.evaluation.topic_sets import judged_topics
from search.models import Topic
from tests.cli.commands import error_of, run, run_json
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


def import_topics(golden, *arguments):
    return run_json("eval", "topics", "import", str(golden), *arguments)


def test_golden_file_is_imported(golden, fruit):
    kept = import_topics(golden)
    assert (kept["set"], kept["added"], kept["changed"], kept["unchanged"]) == ("fruit", 2, 0, 0)
    apples, zebras = judged_topics(command_line_access(fruit), "fruit")
    assert [qrel.citation for qrel in apples.qrels] == ["apples.md#L1-L3", "pears.md"]
    assert zebras.is_unanswerable
    assert Topic.objects.first().created_by.startswith("operator:")
    assert AuditEvent.objects.get(action="topics.kept").subject == "fruit"
    assert import_topics(golden, "--set", "mine")["set"] == "mine"


@pytest.mark.parametrize("format_", ["golden", "trec", "beir"])
def test_exported_topics_are_imported_again(golden, tmp_path, fruit, format_):
    import_topics(golden)
    to = tmp_path / ("out.yaml" if format_ == "golden" else "out")
    chosen = ["--set", "fruit", "--format", format_, "--to", str(to)]
    written = run_json("eval", "topics", "export", *chosen)["written"]
    source = {"trec": [written[0], "--qrels", written[-1]], "beir": [str(to)], "golden": [str(to)]}
    run_json("eval", "topics", "import", *source[format_], "--set", "again")
    first, second = (
        {topic.topic_id: topic for topic in judged_topics(command_line_access(fruit), name)}
        for name in ("fruit", "again")
    )
    assert (second["apples"].text, second["apples"].grades) == (first["apples"].text, first["apples"].grades)
    assert format_ != "golden" or second == first


def test_export_goes_to_standard_output(golden, tmp_path):
    import_topics(golden)
    code, out, err = run("eval", "topics", "export", "--set", "fruit")
    (tmp_path / "again.yaml").write_text(out)
    assert (code, err) == (0, "")
    assert import_topics(tmp_path / "again.yaml")["unchanged"] == 2
    files = run_json("eval", "topics", "export", "--set", "fruit", "--format", "trec")["files"]
    assert list(files) == ["topics.tsv", "qrels.txt"]


def test_topics_are_listed_with_their_judgements(golden):
    import_topics(golden)
    import_topics(golden, "--set", "other")
    output = run_json("eval", "topics", "list")
    assert [(each["set"], each["topics"]) for each in output["sets"]] == [("fruit", 2), ("other", 2)]
    assert len(output["topics"]) == 4
    one = run_json("eval", "topics", "list", "--set", "fruit")
    assert [each["set"] for each in one["sets"]] == ["fruit"]
    judgement = one["topics"][0]["judgements"][0]
    assert (judgement["path"], judgement["fragment"], judgement["grade"]) == ("apples.md", "L1-L3", 2)
    assert "apple harvest" in run("eval", "topics", "list")[1]


def test_topics_are_deleted_by_id_or_all(golden):
    import_topics(golden)
    chosen = ["eval", "topics", "delete", "--set", "fruit"]
    assert error_of(*chosen, "apples", "gone", code=1)["code"] == "not_found"
    for arguments in ([], ["apples", "--all"]):
        assert error_of(*chosen, *arguments, code=2)["code"] == "invalid_arguments"
    assert Topic.objects.count() == 2
    assert run_json(*chosen, "apples")["deleted"] == 1
    assert run_json(*chosen, "--all")["deleted"] == 1
    assert not Topic.objects.exists()
    assert error_of(*chosen, "--all", code=1)["code"] == "not_found"


def test_from_feedback_creates_topics(fruit):
    feedback = {"query": "apple harvest", "source": "docs", "citation": "apples.md", "is_relevant": True}
    record_feedback(command_line_access(fruit), **feedback)
    assert run_json("eval", "topics", "from-feedback")["added"] == 1
    assert run_json("eval", "topics", "from-feedback", "--set", "mine")["set"] == "mine"
    assert {topic.topic_set for topic in Topic.objects.all()} == {"feedback", "mine"}


def test_invalid_files_and_places_are_refused(golden, tmp_path):
    bad = tmp_path / "bad.yaml"
    bad.write_text("topics:\n  - id: a\n")
    error = error_of("eval", "topics", "import", str(bad), code=2)
    assert (error["code"], "bad.yaml" in error["message"]) == ("invalid_judged_set", True)
    with pytest.raises(CommandError, match=r"gone\.yaml"):
        run("eval", "topics", "import", str(tmp_path / "gone.yaml"))
    assert error_of("eval", "topics", "export", "--set", "none", code=1)["code"] == "no_topics"
    import_topics(golden)
    to = str(bad / "below.yaml")
    error = error_of("eval", "topics", "export", "--set", "fruit", "--to", to, code=2)
    assert "bad.yaml" in error["message"]
    for arguments in ([], ["--beir", str(tmp_path), "runs"]):
        error_of("eval", *arguments, code=2)


def test_terminal_is_shown_no_escape_sequences(tmp_path):
    file = tmp_path / "wild.yaml"
    file.write_text(json.dumps({"topics": [{"id": "a", "query": "red \x1b[31m apples"}]}))
    import_topics(file)
    for arguments in (["list"], ["export"]):
        assert "\x1b" not in run("eval", "topics", *arguments)[1]
