"""Ranking settings change if golden queries do not get worse, or when forced, which is audited."""

import pytest

from kebab.errors import Conflict
from kebab.exit_codes import Exit
from kebab.identity.caller import access_by_identity
from kebab.identity.models import AuditEvent, Role, Workspace
from kebab.identity.tokens import mint_token
from kebab.people.operator import command_line_access
from kebab.people.workspaces import change_workspace, store_settings
from search.errors import GateOutOfTime, GoldenQueriesWorse
from search.evaluation import gate
from search.evaluation.gate import MAX_TOPICS, golden_topics
from search.evaluation.judged import JudgedTopic, Qrel
from search.evaluation.runs import visible_runs
from search.evaluation.topic_sets import store_topics
from search.models import Run, Source
from tests.cli.commands import error_of, run_json
from tests.integration.ingest.quality_gate.conftest import NAMES, judge_golden
from tests.support.actors import bearer_client, member_client, token_client
from tests.support.corpus import make_workspace, restrict, write
from tests.support.extensions import set_contributions

WORSE, BETTER = {"breadcrumb_weight": 0.0}, {"breadcrumb_weight": 5.0}


def patch(workspace, client, **body):
    return client.patch(f"/api/v1/workspaces/{workspace.slug}", body, format="json")


def stored_settings(workspace):
    return Workspace.objects.get(pk=workspace.pk).settings


def changes(workspace):
    return AuditEvent.objects.filter(workspace=workspace, action="workspace.changed")


def audited_gate(workspace):
    return changes(workspace).latest("at").detail["quality_gate"]


def test_worse_setting_is_refused_with_figures_or_changed_by_force(golden):
    client = member_client(golden, Role.OWNER)
    response = patch(golden, client, settings=WORSE)
    assert (response.status_code, response.json()["code"]) == (409, "quality_gate")
    for figure in ("1.0000", "0.6309", "5 worse", "0 better"):
        assert figure in response.json()["detail"]
    assert [each["field"] for each in response.json()["errors"]] == sorted(f"topics.{n}" for n in NAMES)
    assert stored_settings(golden) == {}
    assert not changes(golden).exists()

    assert patch(golden, client, settings=WORSE, force=True).status_code == 200
    assert stored_settings(golden) == WORSE
    found = audited_gate(golden)
    assert (found["before"], found["after"], found["worse"]) == (1.0, 0.63093, 5)
    assert (found["passes"], found["is_forced"]) == (False, True)
    runs = Run.objects.in_workspace(golden)
    assert set(found["runs"]) <= {str(run.pk) for run in runs}
    assert {run.state for run in runs} == {"succeeded"}


def test_better_setting_passes_and_the_audit_has_the_figures(golden):
    store_settings(golden, WORSE)
    client = member_client(golden, Role.OWNER)
    address = f"/api/v1/workspaces/{golden.slug}/search?q=zebra&mode=lexical"
    assert client.get(address).json()["index_version"].endswith("-b0-t1")

    assert patch(golden, client, settings=BETTER).status_code == 200
    assert stored_settings(golden) == BETTER
    found = audited_gate(golden)
    assert (found["before"], found["after"], found["better"]) == (0.63093, 1.0, 5)
    assert (found["passes"], found["is_forced"]) == (True, False)
    assert client.get(address).json()["index_version"].endswith("-b5-t1")


def test_settings_without_effect_on_ranking_skip_the_gate(golden, monkeypatch):
    monkeypatch.setattr(gate, "open_run", pytest.fail)
    client = member_client(golden, Role.OWNER)
    # Settings that rank nothing, the default, another name:
    assert patch(golden, client, settings={"default_k": 7, "breadcrumb_weight": 2.0}).status_code == 200
    assert patch(golden, client, name="Another").status_code == 200
    # People who may not change settings:
    assert patch(golden, member_client(golden, Role.EDITOR), settings=WORSE).status_code == 403
    assert patch(golden, token_client(golden, "ingest"), settings=WORSE).status_code == 403


def test_gate_is_not_asked_without_judged_golden_queries(zoo, monkeypatch):
    monkeypatch.setattr(gate, "open_run", pytest.fail)
    store_topics(command_line_access(zoo), [JudgedTopic(topic_id="1", text="zebra")])
    assert patch(zoo, member_client(zoo, Role.OWNER), settings=WORSE).status_code == 200
    assert stored_settings(zoo) == WORSE
    assert "quality_gate" not in changes(zoo).get().detail


@pytest.mark.slow
def test_command_line_goes_through_the_same_gate(golden):
    command = ("workspace", "set", golden.slug, "breadcrumb_weight=0.0")
    assert error_of(*command, code=Exit.ERROR)["code"] == "quality_gate"
    assert stored_settings(golden) == {}

    assert run_json(*command, "--force")["settings"]["breadcrumb_weight"] == 0.0
    assert audited_gate(golden)["is_forced"] is True


def test_switching_the_embedder_off_asks_the_gate(golden):
    judge_golden(golden, {"nothing-of-the-kind": "page-0.md"})
    response = patch(golden, member_client(golden, Role.OWNER), settings={"embedder": "none"})
    assert response.status_code == 200  # there were no vectors to lose
    assert audited_gate(golden)["topics"] == len(NAMES) + 1


def test_reader_of_some_sources_sees_no_figures(golden):
    write(golden, "secret.md", "closed", source="closed")
    restrict(Source.objects.get(workspace=golden, key="closed"))
    token, secret = mint_token(golden, scopes=("manage",))
    response = patch(golden, bearer_client(secret), settings=WORSE)

    assert (response.status_code, response.json()["code"]) == (409, "quality_gate")
    assert "errors" not in response.json()
    assert not any(digit in response.json()["detail"] for digit in "0123456789")
    access = access_by_identity(golden, f"token:{token.pk}")
    assert Run.objects.in_workspace(golden).count() == 2
    assert not visible_runs(access).exists()


def test_request_out_of_time_changes_nothing_and_names_the_remedy(golden, monkeypatch):
    monkeypatch.setattr(gate, "LIMIT_S", -1.0)
    access = command_line_access(golden)
    with pytest.raises(GateOutOfTime, match="eval/gate"):
        change_workspace(access, settings=BETTER)
    assert stored_settings(golden) == {}
    assert Run.objects.in_workspace(golden).get().state == "failed"
    with pytest.raises(GoldenQueriesWorse):  # a job has no such limit
        change_workspace(access, settings=WORSE, advance=lambda: None)
    change_workspace(access, settings=WORSE, force=True)
    assert audited_gate(golden) == {"passes": None, "is_forced": True}


def test_many_golden_queries_are_sampled_evenly(db):
    workspace = make_workspace()
    write(workspace, "zebra.md", "zebra")
    topics = [
        JudgedTopic(topic_id=f"{n:04}", text="zebra", qrels=(Qrel(path="zebra.md", source="docs"),))
        for n in range(2 * MAX_TOPICS)
    ]
    store_topics(command_line_access(workspace), topics)
    asked = [topic.topic_id for topic in golden_topics(workspace)]
    assert asked == [f"{n:04}" for n in range(0, 2 * MAX_TOPICS, 2)]


def test_concurrently_changed_settings_are_not_overwritten(golden, monkeypatch):
    def change_in_between(change):
        store_settings(golden, {"default_k": 3})
        return {}

    set_contributions(monkeypatch, settings_guards=(change_in_between,))
    with pytest.raises(Conflict):
        change_workspace(command_line_access(golden), settings=BETTER)
    assert stored_settings(golden) == {"default_k": 3}
