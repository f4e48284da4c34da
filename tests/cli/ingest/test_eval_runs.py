"""`kebab eval run | runs | show | compare | delete`: figures of a workspace's own topics."""

import pytest
from django.core.management.base import CommandError

from ingest.cli.evaluation import run_topics
from kebab.identity.models import AuditEvent
from kebab.people.operator import command_line_access
from search.evaluation.judged import JudgedTopic, Qrel
from search.evaluation.topic_sets import store_topics
from search.models import Run
from tests.cli.commands import error_of, run, run_json
from tests.support.corpus import write
from tests.support.search import embed

LEXICAL = ("--modes", "lexical")


@pytest.fixture(autouse=True)
def fruit(workspace):
    """Write three documents and as many topics; for one topic the relevant document comes second."""
    write(workspace, "apples.md", "apple harvest apple harvest")
    write(workspace, "pears.md", "pear harvest")
    write(workspace, "plums.md", "plum harvest, and one apple")
    workspace.refresh_from_db()
    embed(workspace)
    topics = [
        JudgedTopic(topic_id="apples", text="apple harvest", qrels=(Qrel(path="apples.md"),)),
        JudgedTopic(topic_id="pears", text="pear", qrels=(Qrel(path="pears.md"),)),
        JudgedTopic(topic_id="plums", text="apple", qrels=(Qrel(path="plums.md"),)),
    ]
    store_topics(command_line_access(workspace), topics)
    return workspace


def run_evaluation(*arguments):
    return run_json("eval", "run", *LEXICAL, *arguments)["runs"]["lexical"]


def test_eval_run_stores_one_run_per_mode():
    output = run_json("eval", "run", "--name", "first")
    assert (output["schema_version"], list(output["runs"])) == (
        "eval_runs.v1",
        ["lexical", "vector", "hybrid"],
    )
    lexical = output["runs"]["lexical"]
    assert (lexical["RR@10"], lexical["Success@10"]) == (pytest.approx(5 / 6), 1.0)
    assert (lexical["topics"], lexical["empty_rate"], lexical["degraded"]) == (3, 0.0, {})
    assert {each.name for each in Run.objects.all()} == {"first-lexical", "first-vector", "first-hybrid"}
    kept = Run.objects.get(pk=lexical["id"])
    assert (kept.state, kept.job_id, kept.settings["mode"]) == ("succeeded", None, "lexical")
    assert kept.created_by.startswith("operator:")
    code, out, _ = run("eval", "run", *LEXICAL)
    assert (code, all(each in out for each in ("golden", "nDCG@10", "lexical"))) == (0, True)


def test_measures_depth_and_settings_are_those_asked_for():
    found = run_evaluation("--measures", "RR@1,AP", "--k", "1", "--setting", "rrf_k=7", "--per-file-cap", "1")
    assert found["settings"] | {"mode": "lexical", "k": 1, "rrf_k": 7, "per_file_cap": 1} == found["settings"]
    assert (found["RR@1"], found["AP"]) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert "nDCG@10" not in found
    runs = run_json("eval", "run", "--modes", "hybrid", "--fusion", "rrf,convex")["runs"]
    assert {name: found["settings"]["fusion"] for name, found in runs.items()} == {
        "hybrid-rrf": "rrf",
        "hybrid-convex": "convex",
    }


def test_trec_option_writes_one_file_per_run(tmp_path):
    output = run_json("eval", "run", "--modes", "lexical,vector", "--trec", str(tmp_path / "a.run"))
    assert output["written"] == [str(tmp_path / name) for name in ("a-lexical.run", "a-vector.run")]
    assert all((tmp_path / name).read_text() for name in ("a-lexical.run", "a-vector.run"))
    to = str(tmp_path / "gone" / "a.run")
    assert "a.run" in error_of("eval", "run", *LEXICAL, "--trec", to, code=2)["message"]


def test_runs_are_compared_by_name_id_or_id_prefix():
    first = run_evaluation("--name", "whole")
    output = run_json("eval", "run", *LEXICAL, "--k", "1", "--name", "short", "--baseline", "whole")
    compared = output["comparisons"]["lexical"]["measures"]["R@100"]
    assert output["baseline"] == first["id"]
    assert (compared["wins"], compared["losses"], compared["draws"]) == (0, 1, 2)
    assert compared["difference"] == pytest.approx(-1 / 3)

    second = output["runs"]["lexical"]
    for names in (["whole", "short"], [first["id"], second["id"][:8]]):
        found = run_json("eval", "compare", *names, "--measures", "R@100")
        assert (found["baseline"], found["run"]) == (first["id"], second["id"])
        assert list(found["measures"]) == ["R@100"]
        assert found["measures"]["R@100"]["per_topic"] == {"plums": -1.0, "apples": 0.0, "pears": 0.0}
    _, out, _ = run("eval", "compare", "whole", "short", "--measures", "R@100")
    assert all(each in out for each in ("short", "-0.3333", "R@100", "plums"))
    assert "pears" not in out


def test_runs_are_listed_newest_first():
    first, second = run_evaluation("--name", "one"), run_evaluation("--name", "two")
    assert [each["id"] for each in run_json("eval", "runs")["runs"]] == [second["id"], first["id"]]
    assert [each["id"] for each in run_json("eval", "runs", "--limit", "1")["runs"]] == [second["id"]]
    assert run_json("eval", "runs", "--set", "none")["runs"] == []
    assert second["id"][:8] in run("eval", "runs")[1]


def test_run_is_shown_with_its_topics_the_worst_first_and_deleted():
    made = run_evaluation("--name", "one")
    output = run_json("eval", "show", "one")
    assert (output["id"], output["record"]["set"]["topics"]) == (made["id"], 3)
    plums = output["per_topic"][2]
    assert (plums["query"], plums["ranking"][0][2], plums["measures"]["RR@10"]) == ("apple", "apples.md", 0.5)
    _, out, _ = run("eval", "show", "one", "--topics", "1")
    assert ("plums" in out, "pears" in out) == (True, False)

    assert run_json("eval", "delete", made["id"])["id"] == made["id"]
    assert not Run.objects.exists()
    assert AuditEvent.objects.filter(action="run.deleted").exists()
    assert error_of("eval", "show", made["id"], code=1)["code"] == "not_found"


def test_run_is_repeated_without_its_set_and_cancelled_on_interrupt(monkeypatch):
    first = run_evaluation("--k", "2", "--name", "one")
    run_json("eval", "topics", "delete", "--set", "golden", "--all")
    again = run_json("eval", "run", "--repeat", "one", "--name", "two")["runs"]["lexical"]
    assert (again["settings"], again["topics"], again["name"]) == (first["settings"], 3, "two")

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(run_topics, "execute_run", interrupt)
    assert run("eval", "run", "--repeat", "one", "--name", "three")[0] == 130
    assert Run.objects.get(name="three").state == "cancelled"


def test_missing_runs_and_topics_are_not_found(subtests):
    for name in ("nothing", "00000000", "ab", "00000000-0000-0000-0000-000000000000"):
        for text in ("show {0}", "compare {0} {0}", "delete {0}", "run --baseline {0}"):
            with subtests.test(text=text, name=name):
                assert error_of("eval", *text.format(name).split(), code=1)["code"] == "not_found"
    assert error_of("eval", "run", "--set", "none", code=1)["code"] == "no_topics"
    assert not Run.objects.exists()


def test_invalid_arguments_are_refused(subtests):
    for arguments, named in (
        (["--modes", "semantic"], "semantic"),
        (["--fusion", "borda"], "borda"),
        (["--k", "0"], "--k"),
        (["--k", "1001"], "--k"),
        (["--measures", "goodness@10"], "goodness"),
        (["--per-file-cap", "0"], "--per-file-cap"),
    ):
        with subtests.test(arguments=arguments), pytest.raises(CommandError, match=named):
            run("eval", "run", *arguments)
    for setting, code in (
        ("rrf_k", "invalid_request"),
        ("rrf_k=0", "invalid_request"),
        ("default_k=5", "invalid_run_setting"),
    ):
        with subtests.test(setting=setting):
            assert error_of("eval", "run", *LEXICAL, "--setting", setting, code=2)["code"] == code
    assert not Run.objects.exists()
