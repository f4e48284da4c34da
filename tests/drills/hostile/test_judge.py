"""The judge of hostile requests detects wrong answers."""

import json

import httpx
import pytest

from tests.drills.hostile.attempt import MAX_TARGET, Attempt
from tests.drills.hostile.endpoints import ENDPOINTS, SEARCH
from tests.drills.hostile.judge import Judge
from tests.drills.hostile.sender import ask_all

_PROBLEM = {"type": "/problems/invalid_query", "title": "Bad Request", "status": 400, "code": "invalid_query"}
_TARGET = "/api/v1/workspaces/notes/search"


def refusal(status=400, content_type="application/problem+json", **fields):
    content = json.dumps({**_PROBLEM, "status": status, **fields})
    return httpx.Response(status, text=content, headers={"Content-Type": content_type})


def fault_of(answer, **changes):
    attempt = Attempt(
        **{"kind": "values", "endpoint": SEARCH.name, "method": "POST", "target": _TARGET, **changes}
    )
    return Judge(private=("/var/kebab-x1",)).fault(attempt, answer)


def test_documented_rejection_is_right():
    assert fault_of(refusal(detail="q is too long.")) == ""


@pytest.mark.parametrize(
    ("answer", "expected"),
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
def test_defect_of_an_answer_is_named(answer, expected):
    assert expected in fault_of(answer)


@pytest.mark.parametrize("changes", [{"target": _TARGET + "a" * MAX_TARGET}, {"method": "Q" * 30}])
def test_server_may_reject_an_unreadable_request(changes):
    assert fault_of(httpx.Response(400, text="Invalid HTTP request received."), **changes) == ""


@pytest.mark.parametrize(("code", "is_fault"), [("internal_error", True), ("timeout", False)])
def test_internal_error_of_one_query_of_a_bulk_is_a_fault(code, is_fault):
    [bulk] = (endpoint.name for endpoint in ENDPOINTS if endpoint.path.endswith("/bulk"))
    failed = {**_PROBLEM, "type": f"/problems/{code}", "status": 500, "code": code}
    answer = httpx.Response(200, json={"schema_version": "bulk_response.v1", "results": [failed]})

    assert bool(fault_of(answer, endpoint=bulk)) is is_fault


def test_late_and_missing_answers_are_faults():
    def fail(request):
        raise httpx.ReadError("gone")

    attempts = [Attempt(kind="values", endpoint=SEARCH.name, method="POST", target=_TARGET, body=b"{}")]
    for handler, limit_s, expected in ((lambda _: refusal(), -1.0, "late"), (fail, 1.0, "gone")):
        with httpx.Client(transport=httpx.MockTransport(handler), base_url="http://test") as http:
            tally = ask_all(http, attempts, Judge(), limit_s=limit_s)

        assert [expected in outcome.fault for outcome in tally.faults] == [True]
