"""Evaluation runs over HTTP: requested, read, compared, repeated and deleted."""

import io
import uuid

import ir_measures
import pytest

from ingest.models import Job
from kebab.identity.models import AuditEvent, Role
from search.models import Run, Source
from tests.api.refusals import refusal_of
from tests.api.topics import (
    APPLES,
    PEARS,
    ZEBRAS,
    close_source,
    manager_of,
    post_topics,
    row_values,
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


def finished_run(client, workspace, **body):
    """Request a run, run its job and return its id."""
    answer = ask(client, workspace, **body)
    assert answer.status_code == 202, answer.content
    assert run(workspace, answer).state == "succeeded"
    return answer.json()["run"]["id"]


def get(client, workspace, tail):
    answer = client.get(address(workspace, tail))
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_run_is_requested_done_and_read(manager, workspace):
    answer = ask(manager, workspace, name="first", measures=["MRR@10", "nDCG@10"])
    body = answer.json()
    assert answer.status_code == 202, answer.content
    shown = (body["run"]["state"], body["job"]["kind"], body["job"]["items_total"])
    assert shown == ("queued", "evaluate", 3)
    assert (body["run"]["job"], body["run"]["figures"]) == (body["job"]["id"], {})
    run_id = body["run"]["id"]
    topic = get(manager, workspace, f"/eval/runs/{run_id}/topics")["results"][0]
    assert (topic["ranking"], topic["ms"], topic["measures"], topic["is_empty"]) == (None, None, {}, None)
    early = manager.get(address(workspace, f"/eval/runs/{run_id}/trec"))
    assert refusal_of(early) == (409, "conflict", None)
    run(workspace, answer)

    found = manager.get(answer.headers["Location"]).json()
    shown = (found["state"], found["name"], found["set"], found["error"])
    assert shown == ("succeeded", "first", "golden", None)
    assert found["measures"] == ["RR@10", "nDCG@10"]
    assert found["figures"]["measures"]["nDCG@10"] == 1.0
    assert found["figures"]["measures"]["refused_right"] == 1.0
    assert found["settings"]["mode"] == "lexical"
    assert found["record"]["code"]["version"]
    assert AuditEvent.objects.get(action="run.asked").subject == run_id


def test_outcome_of_each_topic_is_listed_and_written_for_trec_eval(manager, workspace):
    run_id = finished_run(manager, workspace, name="my run")
    first = get(manager, workspace, f"/eval/runs/{run_id}/topics?limit=2")
    rest = get(manager, workspace, f"/eval/runs/{run_id}/topics?cursor={first['next_cursor']}")
    apples, pears, zebras = first["results"] + rest["results"]

    assert [each["topic_id"] for each in (apples, pears, zebras)] == ["apples", "pears", "zebras"]
    shown = (apples["query"], apples["measures"]["nDCG@10"], apples["is_empty"])
    assert shown == ("apple harvest", 1.0, False)
    ranked = apples["ranking"][0]
    assert (ranked["path"], ranked["source"], ranked["fragment"]) == ("apples.md", "docs", "L1-L9")
    assert 0 < ranked["score"] <= 1
    assert apples["judgements"][0]["grade"] == 2
    assert (zebras["ranking"], zebras["is_unanswerable"], zebras["is_refused"]) == ([], True, True)
    assert apples["ms"] > 0

    answer = manager.get(address(workspace, f"/eval/runs/{run_id}/trec"))
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    lines = [line.split() for line in answer.content.decode().splitlines()]
    assert {len(line) for line in lines} == {6}
    assert lines[0][:4] == ["apples", "Q0", "docs:apples.md", "1"]
    read = ir_measures.read_trec_run(io.StringIO(answer.content.decode()))
    names = [each.doc_id for each in read if each.query_id == "apples"]
    assert names == [f"{each['source']}:{each['path']}" for each in apples["ranking"]]


def test_runs_are_compared_by_measure(manager, workspace):
    baseline = finished_run(manager, workspace)
    other = finished_run(manager, workspace, settings={**LEXICAL, "k": 1})
    found = get(manager, workspace, f"/eval/runs/{other}/compare?baseline={baseline}&measures=nDCG@10")

    assert (found["baseline"], found["run"]) == (baseline, other)
    assert list(found["measures"]) == ["nDCG@10"]
    compared = found["measures"]["nDCG@10"]
    assert (compared["topics"], compared["draws"], compared["difference"]) == (2, 2, 0.0)
    assert (compared["p_value"], set(compared["per_topic"])) == (1.0, {"apples", "pears"})
    assert (found["only_first"], found["only_second"]) == ([], [])
    every = get(manager, workspace, f"/eval/runs/{other}/compare?baseline={baseline}")["measures"]
    assert {"nDCG@10", "R@100", "empty_rate"} <= set(every)


def test_difference_is_run_minus_baseline(manager, workspace):
    post_topics(manager, workspace, {**PEARS, "query": "harvest", "topic_id": "both"}, set="more")
    whole = finished_run(manager, workspace, set="more", measures=["R@100"])
    short = finished_run(manager, workspace, set="more", measures=["R@100"], settings={**LEXICAL, "k": 1})
    if get(manager, workspace, f"/eval/runs/{short}")["figures"]["measures"]["R@100"] == 1.0:
        pytest.fail("the query should find the pears only behind the apples")
    found = get(manager, workspace, f"/eval/runs/{short}/compare?baseline={whole}&measures=R@100")
    assert found["measures"]["R@100"]["difference"] == -1.0
    assert found["measures"]["R@100"]["losses"] == 1


def test_wrong_comparison_is_refused(manager, workspace, subtests):
    run_id = finished_run(manager, workspace)
    queued = ask(manager, workspace).json()["run"]["id"]
    for tail, expected in (
        (f"{run_id}/compare", (400, "invalid_request", "baseline")),
        (f"{run_id}/compare?baseline=x", (400, "invalid_request", "baseline")),
        (f"{run_id}/compare?with={run_id}", (400, "unknown_field", "baseline")),
        (f"{run_id}/compare?baseline={run_id}&measures=nope", (400, "invalid_measure", None)),
        (f"{queued}/compare?baseline={run_id}", (422, "invalid_comparison", None)),
        (f"{run_id}/compare?baseline={NOBODY}", (404, "not_found", None)),
        *((f"{NOBODY}{tail}", (404, "not_found", None)) for tail in ("", "/topics", "/trec")),
        (f"{NOBODY}/compare?baseline={NOBODY}", (404, "not_found", None)),
    ):
        with subtests.test(tail=tail):
            assert refusal_of(manager.get(address(workspace, f"/eval/runs/{tail}"))) == expected


def test_runs_are_listed_newest_first_and_filtered(manager, workspace):
    post_topics(manager, workspace, PEARS, set="fruit")
    first = finished_run(manager, workspace)
    second, third = (ask(manager, workspace, **body).json()["run"]["id"] for body in ({}, {"set": "fruit"}))
    page = get(manager, workspace, "/eval/runs?limit=2")
    assert [row["id"] for row in page["results"]] == [third, second]
    assert row_values(manager, workspace, f"/eval/runs?cursor={page['next_cursor']}", "id") == [first]
    assert row_values(manager, workspace, "/eval/runs?set=fruit", "id") == [third]
    assert row_values(manager, workspace, "/eval/runs?state=succeeded", "id") == [first]
    assert len(row_values(manager, workspace, "/eval/runs?state=succeeded&state=queued", "id")) == 3
    assert refusal_of(manager.get(address(workspace, "/eval/runs?state=done")))[:2] == (
        400,
        "invalid_request",
    )


def test_run_is_repeated_as_it_was(manager, workspace):
    first = finished_run(manager, workspace, settings={**LEXICAL, "k": 3}, measures=["AP"], name="one")
    manager.delete(address(workspace, "/eval/topics?set=golden"))
    answer = manager.post(address(workspace, "/eval/runs"), {"repeat": first, "name": "two"}, format="json")
    assert answer.status_code == 202, answer.content
    run(workspace, answer)
    again = get(manager, workspace, f"/eval/runs/{answer.json()['run']['id']}")

    assert (again["name"], again["settings"]["k"], again["measures"]) == ("two", 3, ["AP"])
    assert again["figures"]["topics"] == 3


REFUSALS = [
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
]


def test_wrong_run_is_refused(manager, workspace, subtests):
    for body, *expected in REFUSALS:
        with subtests.test(body=str(body)[:40]):
            assert refusal_of(ask(manager, workspace, **body)) == tuple(expected)
    body = {"repeat": str(NOBODY)}
    missing = manager.post(address(workspace, "/eval/runs"), body, format="json")
    assert refusal_of(missing) == (404, "not_found", None)
    assert not Run.objects.exists()
    assert not Job.objects.exists()


def test_run_is_deleted_and_its_job_cancelled(manager, workspace):
    answer = ask(manager, workspace)
    path = address(workspace, f"/eval/runs/{answer.json()['run']['id']}")
    assert manager.delete(path).status_code == 204
    assert (manager.get(path).status_code, manager.delete(path).status_code) == (404, 404)
    assert Job.objects.get().state == "cancelled"
    assert AuditEvent.objects.filter(action="run.deleted").count() == 1


def test_job_of_a_run_is_read_cancelled_and_retried(manager, workspace):
    answer = ask(manager, workspace)
    job_id, run_id = answer.json()["job"]["id"], answer.json()["run"]["id"]
    worker = token_client(workspace, "ingest")
    # It is its requester's, and everybody's from whom nothing is hidden.
    assert manager.get(address(workspace, f"/jobs/{job_id}")).json()["kind"] == "evaluate"
    assert row_values(worker, workspace, "/jobs?kind=evaluate", "id") == [job_id]
    assert worker.post(address(workspace, f"/jobs/{job_id}/cancel")).json()["job"]["state"] == "cancelled"
    assert get(manager, workspace, f"/eval/runs/{run_id}")["state"] == "cancelled"

    again = worker.post(address(workspace, f"/jobs/{job_id}/retry"))
    assert again.status_code == 202, again.content
    assert run(workspace, again).state == "succeeded"
    found = get(manager, workspace, f"/eval/runs/{run_id}")
    assert (found["state"], found["job"]) == ("succeeded", again.json()["job"]["id"])


def test_runs_need_an_admin(manager, workspace):
    for role, status in ((Role.VIEWER, 403), (Role.EDITOR, 403), (Role.ADMIN, 202)):
        assert ask(member_client(workspace, role), workspace).status_code == status


class TestHiddenRuns:
    """Runs that name a source that the caller may not read."""

    @pytest.fixture
    def group(self, manager, workspace):
        return close_source(workspace)

    def test_run_searches_what_its_caller_may_read(self, manager, workspace, group):
        inside = manager_of(workspace, group)
        mine, theirs = finished_run(manager, workspace), finished_run(inside, workspace)
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

    def test_caller_with_hidden_sources_sees_only_own_runs(self, manager, workspace, group):
        inside = manager_of(workspace, group)
        run_id = finished_run(inside, workspace)
        mine = finished_run(manager, workspace)
        assert row_values(manager, workspace, "/eval/runs", "id") == [mine]
        for tail in ("", "/topics", "/trec", f"/compare?baseline={mine}"):
            assert manager.get(address(workspace, f"/eval/runs/{run_id}{tail}")).status_code == 404
        tail = f"/eval/runs/{mine}/compare?baseline={run_id}"
        assert manager.get(address(workspace, tail)).status_code == 404
        assert manager.delete(address(workspace, f"/eval/runs/{run_id}")).status_code == 404
        job_id = Run.objects.get(pk=run_id).job_id
        assert manager.get(address(workspace, f"/jobs/{job_id}")).status_code == 404

    def test_replayed_answer_is_hidden_with_the_source(self, manager, workspace):
        path, body = address(workspace, "/eval/runs"), {"settings": LEXICAL}
        answer = manager.post(path, body, format="json", headers={"Idempotency-Key": "once"})
        run(workspace, answer)
        restrict(Source.objects.get(key="docs"))
        again = manager.post(path, body, format="json", headers={"Idempotency-Key": "once"})
        assert (answer.status_code, again.status_code) == (202, 404)
