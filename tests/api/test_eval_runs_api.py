"""Runs over HTTP: asking, watching, reading, comparing, deleting, and who may."""

import io
import uuid

import ir_measures
import pytest

from ingest.models import Job
from kebab.people.models import AuditEvent, Role
from search.models import Run, Source
from tests.api.judging import (
    APPLES,
    PEARS,
    ZEBRAS,
    close_source,
    listed,
    manager_of,
    outsiders,
    post_topics,
    refused,
    write_fruit,
)
from tests.support.actors import member_client, token_client
from tests.support.api import address, run
from tests.support.corpus import restrict

# A worker's heartbeat and its mirror see what is committed.
pytestmark = pytest.mark.django_db(transaction=True)

LEXICAL = {"mode": "lexical"}
NOBODY = uuid.UUID(int=0)


@pytest.fixture
def manager(workspace):
    write_fruit(workspace)
    workspace.refresh_from_db()
    client = manager_of(workspace)
    assert post_topics(client, workspace, APPLES, PEARS, ZEBRAS).status_code == 201
    return client


def ask(client, workspace, **body):
    return client.post(address(workspace, "/eval/runs"), {"settings": LEXICAL, **body}, format="json")


def carried_out(client, workspace, **body):
    """Ask for a run, carry it out and give its id."""
    answer = ask(client, workspace, **body)
    assert answer.status_code == 202, answer.content
    assert run(workspace, answer).state == "succeeded"
    return answer.json()["run"]["id"]


def get(client, workspace, tail):
    answer = client.get(address(workspace, tail))
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_a_run_is_asked_for_carried_out_and_read(manager, workspace):
    answer = ask(manager, workspace, name="first", measures=["MRR@10", "nDCG@10"])
    body = answer.json()
    assert answer.status_code == 202, answer.content
    assert (body["run"]["state"], body["job"]["kind"], body["job"]["items_total"]) == (
        "queued",
        "evaluate",
        3,
    )
    assert body["run"]["job"] == body["job"]["id"]
    assert body["run"]["figures"] == {}
    run(workspace, answer)

    found = manager.get(answer.headers["Location"]).json()
    assert (found["state"], found["name"], found["set"], found["error"]) == (
        "succeeded",
        "first",
        "golden",
        None,
    )
    assert found["measures"] == ["RR@10", "nDCG@10"]
    assert found["figures"]["measures"]["nDCG@10"] == 1.0
    assert found["figures"]["measures"]["refused_right"] == 1.0
    assert found["settings"]["mode"] == "lexical"
    assert found["record"]["code"]["version"]
    assert AuditEvent.objects.get(action="run.asked").subject == body["run"]["id"]


def test_what_came_of_each_topic_is_listed(manager, workspace):
    run_id = carried_out(manager, workspace)
    first = get(manager, workspace, f"/eval/runs/{run_id}/topics?limit=2")
    rest = get(manager, workspace, f"/eval/runs/{run_id}/topics?cursor={first['next_cursor']}")
    apples, pears, zebras = first["results"] + rest["results"]

    assert [each["topic_id"] for each in (apples, pears, zebras)] == ["apples", "pears", "zebras"]
    assert (apples["query"], apples["measures"]["nDCG@10"], apples["is_empty"]) == (
        "apple harvest",
        1.0,
        False,
    )
    ranked = apples["ranking"][0]
    assert (ranked["path"], ranked["source"], ranked["fragment"]) == ("apples.md", "docs", "L1-L9")
    assert 0 < ranked["score"] <= 1
    assert apples["judgements"][0]["grade"] == 2
    assert (zebras["ranking"], zebras["is_unanswerable"], zebras["is_refused"]) == ([], True, True)
    assert apples["ms"] > 0


def test_topics_that_are_not_asked_yet_have_no_ranking(manager, workspace):
    run_id = ask(manager, workspace).json()["run"]["id"]
    topic = get(manager, workspace, f"/eval/runs/{run_id}/topics")["results"][0]
    assert (topic["ranking"], topic["ms"], topic["measures"], topic["is_empty"]) == (None, None, {}, None)


def test_the_run_file_is_what_trec_eval_reads(manager, workspace):
    run_id = carried_out(manager, workspace, name="my run")
    answer = manager.get(address(workspace, f"/eval/runs/{run_id}/trec"))
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    lines = [line.split() for line in answer.content.decode().splitlines()]
    assert {len(line) for line in lines} == {6}
    assert lines[0][:4] == ["apples", "Q0", "docs:apples.md", "1"]
    read = ir_measures.read_trec_run(io.StringIO(answer.content.decode()))
    stored = get(manager, workspace, f"/eval/runs/{run_id}/topics")["results"][0]["ranking"]
    names = [each.doc_id for each in read if each.query_id == "apples"]
    assert names == [f"{each['source']}:{each['path']}" for each in stored]


def test_a_run_that_has_not_succeeded_has_no_run_file(manager, workspace):
    run_id = ask(manager, workspace).json()["run"]["id"]
    answer = manager.get(address(workspace, f"/eval/runs/{run_id}/trec"))
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")


def test_two_runs_are_compared(manager, workspace):
    baseline = carried_out(manager, workspace)
    other = carried_out(manager, workspace, settings={**LEXICAL, "k": 1})
    found = get(manager, workspace, f"/eval/runs/{other}/compare?baseline={baseline}&measures=nDCG@10")

    assert (found["baseline"], found["run"]) == (baseline, other)
    assert list(found["measures"]) == ["nDCG@10"]
    compared = found["measures"]["nDCG@10"]
    assert (compared["topics"], compared["draws"], compared["difference"]) == (2, 2, 0.0)
    assert (compared["p_value"], set(compared["per_topic"])) == (1.0, {"apples", "pears"})
    assert (found["only_first"], found["only_second"]) == ([], [])
    every = get(manager, workspace, f"/eval/runs/{other}/compare?baseline={baseline}")["measures"]
    assert {"nDCG@10", "R@100", "empty_rate"} <= set(every)


def test_a_difference_is_the_runs_minus_the_baselines(manager, workspace):
    post_topics(manager, workspace, {**PEARS, "query": "harvest", "topic_id": "both"}, set="more")
    whole = carried_out(manager, workspace, set="more", measures=["R@100"])
    short = carried_out(manager, workspace, set="more", measures=["R@100"], settings={**LEXICAL, "k": 1})
    if get(manager, workspace, f"/eval/runs/{short}")["figures"]["measures"]["R@100"] == 1.0:
        pytest.fail("the query should find the pears only behind the apples")
    found = get(manager, workspace, f"/eval/runs/{short}/compare?baseline={whole}&measures=R@100")
    assert found["measures"]["R@100"]["difference"] == -1.0
    assert found["measures"]["R@100"]["losses"] == 1


def test_runs_that_have_not_succeeded_can_not_be_compared(manager, workspace):
    baseline = carried_out(manager, workspace)
    queued = ask(manager, workspace).json()["run"]["id"]
    answer = manager.get(address(workspace, f"/eval/runs/{queued}/compare?baseline={baseline}"))
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_comparison")


@pytest.mark.parametrize("query", ["", "?baseline=x", "?with={run}", "?baseline={run}&measures=nope"])
def test_a_comparison_needs_a_run_and_known_measures(manager, workspace, query):
    run_id = carried_out(manager, workspace)
    tail = f"/eval/runs/{run_id}/compare{query.format(run=run_id)}"
    assert manager.get(address(workspace, tail)).status_code == 400


def test_runs_are_listed_newest_first_and_narrowed(manager, workspace):
    post_topics(manager, workspace, PEARS, set="fruit")
    first = carried_out(manager, workspace)
    second, third = (ask(manager, workspace, **body).json()["run"]["id"] for body in ({}, {"set": "fruit"}))
    page = get(manager, workspace, "/eval/runs?limit=2")
    assert [row["id"] for row in page["results"]] == [third, second]
    assert listed(manager, workspace, f"/eval/runs?cursor={page['next_cursor']}", "id") == [first]
    assert listed(manager, workspace, "/eval/runs?set=fruit", "id") == [third]
    assert listed(manager, workspace, "/eval/runs?state=succeeded", "id") == [first]
    assert len(listed(manager, workspace, "/eval/runs?state=succeeded&state=queued", "id")) == 3
    assert manager.get(address(workspace, "/eval/runs?state=done")).status_code == 400


def test_a_run_is_repeated_as_it_was(manager, workspace):
    first = carried_out(manager, workspace, settings={**LEXICAL, "k": 3}, measures=["AP"], name="one")
    manager.delete(address(workspace, "/eval/topics?set=golden"))
    answer = manager.post(address(workspace, "/eval/runs"), {"repeat": first, "name": "two"}, format="json")
    assert answer.status_code == 202, answer.content
    run(workspace, answer)
    again = get(manager, workspace, f"/eval/runs/{answer.json()['run']['id']}")

    assert (again["name"], again["settings"]["k"], again["measures"]) == ("two", 3, ["AP"])
    assert again["figures"]["topics"] == 3


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        ({"set": "silver"}, 422, "no_topics", None),
        ({"set": ""}, 400, "invalid_request", "set"),
        ({"name": "n" * 101}, 400, "invalid_request", "name"),
        ({"settings": "lexical"}, 400, "invalid_request", "settings"),
        ({"settings": {"mode": "semantic"}}, 400, "invalid_run_setting", None),
        ({"settings": {"k": 0}}, 400, "invalid_run_setting", None),
        ({"settings": {"k": 1_001}}, 400, "invalid_run_setting", None),
        ({"settings": {"rerank": "yes"}}, 400, "invalid_run_setting", None),
        ({"settings": {"fusion": "borda"}}, 400, "invalid_run_setting", None),
        ({"settings": {"default_k": 5}}, 400, "invalid_run_setting", None),
        ({"settings": {"colour": 1}}, 400, "invalid_run_setting", None),
        ({"measures": []}, 400, "invalid_request", "measures"),
        ({"measures": ["nDCG"] * 21}, 400, "invalid_request", "measures"),
        ({"measures": ["goodness@10"]}, 400, "invalid_measure", None),
        ({"repeat": "x"}, 400, "invalid_request", "repeat"),
        ({"repeat": str(NOBODY)}, 400, "invalid_request", "settings"),
        ({"sets": "golden"}, 400, "unknown_field", "sets"),
    ],
)
def test_a_run_that_can_not_be_is_refused(manager, workspace, body, status, code, field):
    answer = ask(manager, workspace, **body)
    assert (answer.status_code, refused(answer, code, field)) == (status, True), answer.content
    assert not Run.objects.exists()
    assert not Job.objects.exists()


@pytest.mark.parametrize("tail", ["", "/topics", "/trec", f"/compare?baseline={NOBODY}"])
def test_a_run_that_is_not_there_is_missing(manager, workspace, tail):
    assert manager.get(address(workspace, f"/eval/runs/{NOBODY}{tail}")).status_code == 404


def test_a_run_that_is_not_there_can_not_be_repeated_or_compared_with(manager, workspace):
    body = {"repeat": str(NOBODY)}
    assert manager.post(address(workspace, "/eval/runs"), body, format="json").status_code == 404
    run_id = carried_out(manager, workspace)
    tail = f"/eval/runs/{run_id}/compare?baseline={NOBODY}"
    assert manager.get(address(workspace, tail)).status_code == 404


def test_a_run_is_deleted_and_its_job_cancelled(manager, workspace):
    answer = ask(manager, workspace)
    path = address(workspace, f"/eval/runs/{answer.json()['run']['id']}")
    assert manager.delete(path).status_code == 204
    assert (manager.get(path).status_code, manager.delete(path).status_code) == (404, 404)
    assert Job.objects.get().state == "cancelled"
    assert AuditEvent.objects.filter(action="run.deleted").count() == 1


def test_its_job_tells_how_far_it_has_come_and_is_cancelled_and_retried(manager, workspace):
    answer = ask(manager, workspace)
    job_id, run_id = answer.json()["job"]["id"], answer.json()["run"]["id"]
    worker = token_client(workspace, "ingest")
    # It is its requester's, and everybody's from whom nothing is hidden.
    assert manager.get(address(workspace, f"/jobs/{job_id}")).json()["kind"] == "evaluate"
    assert listed(worker, workspace, "/jobs?kind=evaluate", "id") == [job_id]
    assert worker.post(address(workspace, f"/jobs/{job_id}/cancel")).json()["job"]["state"] == "cancelled"
    assert get(manager, workspace, f"/eval/runs/{run_id}")["state"] == "cancelled"

    again = worker.post(address(workspace, f"/jobs/{job_id}/retry"))
    assert again.status_code == 202, again.content
    assert run(workspace, again).state == "succeeded"
    found = get(manager, workspace, f"/eval/runs/{run_id}")
    assert (found["state"], found["job"]) == ("succeeded", again.json()["job"]["id"])


def test_the_same_request_is_done_once(manager, workspace):
    path = address(workspace, "/eval/runs")
    first, second = (
        manager.post(path, {"settings": LEXICAL}, format="json", headers={"Idempotency-Key": "once"})
        for _ in range(2)
    )
    assert first.json() == second.json()
    assert (second.headers["Idempotency-Replayed"], Run.objects.count()) == ("true", 1)


@outsiders
def test_other_scopes_may_not(manager, workspace, scopes):
    run_id = carried_out(manager, workspace)
    client = token_client(workspace, *scopes)
    assert ask(client, workspace).status_code == 403
    for tail in ("", f"/{run_id}", f"/{run_id}/topics", f"/{run_id}/trec", f"/{run_id}/compare"):
        assert client.get(address(workspace, f"/eval/runs{tail}")).status_code == 403
    assert client.delete(address(workspace, f"/eval/runs/{run_id}")).status_code == 403


@pytest.mark.parametrize(("role", "status"), [(Role.VIEWER, 403), (Role.EDITOR, 403), (Role.ADMIN, 202)])
def test_roles_below_admin_may_not(manager, workspace, role, status):
    assert ask(member_client(workspace, role), workspace).status_code == status


def test_another_workspaces_runs_are_missing(manager, workspace, other_workspace):
    run_id = carried_out(manager, workspace)
    stranger = manager_of(other_workspace)
    for tail in ("", "/topics", "/trec", f"/compare?baseline={run_id}"):
        assert stranger.get(address(other_workspace, f"/eval/runs/{run_id}{tail}")).status_code == 404
        assert stranger.get(address(workspace, f"/eval/runs/{run_id}{tail}")).status_code == 404
    assert stranger.delete(address(other_workspace, f"/eval/runs/{run_id}")).status_code == 404
    body = {"repeat": run_id}
    assert stranger.post(address(other_workspace, "/eval/runs"), body, format="json").status_code == 404


class TestWhatIsHidden:
    """Runs that name a source that the caller may not read."""

    @pytest.fixture
    def group(self, manager, workspace):
        return close_source(workspace)

    def test_a_run_is_asked_from_what_its_caller_may_read(self, manager, workspace, group):
        inside = manager_of(workspace, group)
        mine, theirs = carried_out(manager, workspace), carried_out(inside, workspace)
        rankings = {
            run_id: {
                ranked["path"]
                for topic in get(client, workspace, f"/eval/runs/{run_id}/topics")["results"]
                for ranked in topic["ranking"]
            }
            for client, run_id in ((manager, mine), (inside, theirs))
        }
        assert "secret.md" in rankings[theirs]
        assert "secret.md" not in rankings[mine]

    def test_others_runs_are_missing_to_whom_something_is_hidden(self, manager, workspace, group):
        inside = manager_of(workspace, group)
        run_id = carried_out(inside, workspace)
        mine = carried_out(manager, workspace)
        assert listed(manager, workspace, "/eval/runs", "id") == [mine]
        for tail in ("", "/topics", "/trec", f"/compare?baseline={mine}"):
            assert manager.get(address(workspace, f"/eval/runs/{run_id}{tail}")).status_code == 404
        tail = f"/eval/runs/{mine}/compare?baseline={run_id}"
        assert manager.get(address(workspace, tail)).status_code == 404
        assert manager.delete(address(workspace, f"/eval/runs/{run_id}")).status_code == 404
        job_id = Run.objects.get(pk=run_id).job_id
        assert manager.get(address(workspace, f"/jobs/{job_id}")).status_code == 404

    def test_a_kept_answer_is_not_repeated_to_who_may_not_know_any_more(self, manager, workspace):
        path, body = address(workspace, "/eval/runs"), {"settings": LEXICAL}
        answer = manager.post(path, body, format="json", headers={"Idempotency-Key": "once"})
        run(workspace, answer)
        restrict(Source.objects.get(key="docs"))
        again = manager.post(path, body, format="json", headers={"Idempotency-Key": "once"})
        assert (answer.status_code, again.status_code) == (202, 404)
