"""The judge of hostile requests finds what is wrong with an answer."""

import json

import httpx
import pytest

from tests.drills.hostile.asking import ask_all
from tests.drills.hostile.attempt import MAX_TARGET, Attempt
from tests.drills.hostile.doors import DOORS, SEARCH
from tests.drills.hostile.judging import Judge

_PROBLEM = {"type": "/problems/invalid_query", "title": "Bad Request", "status": 400, "code": "invalid_query"}
_TARGET = "/api/v1/workspaces/notes/search"


def refusal(status=400, content_type="application/problem+json", **said):
    content = json.dumps({**_PROBLEM, "status": status, **said})
    return httpx.Response(status, text=content, headers={"Content-Type": content_type})


def fault_of(answer, **named):
    attempt = Attempt(**{"kind": "values", "door": SEARCH.name, "method": "POST", "target": _TARGET, **named})
    return Judge(private=("/var/kebab-x1",)).fault(attempt, answer)


def test_a_refusal_as_it_is_documented_is_right():
    assert fault_of(refusal(detail="q is too long.")) == ""


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (refusal(500), "500"),
        (refusal(503, code="busy"), "503"),
        (refusal(content_type="text/html"), "as text/html"),
        (refusal(code="Not A Code"), "not as problem.v1 says"),
        (refusal(detail="x" * 30_000), "a refusal of 30"),
        (refusal(detail="in /var/kebab-x1/blobs"), "tells of /var/kebab-x1"),
        (refusal(detail="Traceback (most recent call last):"), "tells of"),
        (refusal(detail="<Token object at 0x7f>"), "tells of"),
        (httpx.Response(400, text="Invalid HTTP request received."), "could have been read"),
        (httpx.Response(200, json={"hits": []}), "not as search_response.v1 says"),
        (httpx.Response(200, text="fine"), "as text/plain"),
    ],
)
def test_what_is_wrong_with_an_answer_is_named(answer, said):
    assert said in fault_of(answer)


@pytest.mark.parametrize("named", [{"target": _TARGET + "a" * MAX_TARGET}, {"method": "Q" * 30}])
def test_the_server_may_refuse_what_it_cannot_read(named):
    assert fault_of(httpx.Response(400, text="Invalid HTTP request received."), **named) == ""


@pytest.mark.parametrize(("code", "is_fault"), [("internal_error", True), ("timeout", False)])
def test_a_defect_that_one_query_of_a_bulk_met_is_found(code, is_fault):
    [bulk] = (door.name for door in DOORS if door.path.endswith("/bulk"))
    failed = {**_PROBLEM, "type": f"/problems/{code}", "status": 500, "code": code}
    answer = httpx.Response(200, json={"schema_version": "bulk_response.v1", "results": [failed]})

    assert bool(fault_of(answer, door=bulk)) is is_fault


def test_a_late_answer_and_a_lost_one_are_faults():
    def lost(request):
        raise httpx.ReadError("gone")

    attempts = [Attempt(kind="values", door=SEARCH.name, method="POST", target=_TARGET, body=b"{}")]
    for answering, limit_s, said in ((lambda _: refusal(), -1.0, "late"), (lost, 1.0, "gone")):
        with httpx.Client(transport=httpx.MockTransport(answering), base_url="http://test") as http:
            tally = ask_all(http, attempts, Judge(), limit_s=limit_s)

        assert [said in outcome.fault for outcome in tally.faults] == [True]
