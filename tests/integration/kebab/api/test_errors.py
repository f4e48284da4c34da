import logging

import pytest
from django.db import transaction
from django.http import HttpResponse
from django.test import Client

from kebab.errors import FieldError, Problem
from kebab.extension import Extension
from kebab.health import scrape
from kebab.http.api.problems import problem_document
from kebab.pages.page import apply_problem
from tests.support.actors import make_person, make_workspace, member_client, person_client, token_client

PROBLEM = "application/problem+json"


@pytest.fixture
def client(db):
    return person_client(make_person())


FAILURES = [
    ("fail/tree", 422, "burnt"),
    ("fail/database", 503, "database_unavailable"),
    ("fail/redis", 503, "redis_unavailable"),
    ("fail/disk", 503, "storage_full"),
    ("fail/files", 503, "busy"),
    ("fail/defect", 500, "internal_error"),
    ("fail/missing", 404, "not_found"),
    ("fail/suspicious", 400, "invalid_request"),
    ("fail/denied", 403, "forbidden"),
    ("database/slow", 503, "timed_out"),
    ("database/disk", 503, "storage_full"),
    ("database/read_only", 503, "database_read_only"),
    ("database/deadlock", 503, "busy"),
    ("database/range", 400, "invalid_request"),
    ("database/defect", 500, "internal_error"),
]


def test_every_exception_is_answered_with_its_problem(client, subtests):
    for path, status, code in FAILURES:
        with subtests.test(path=path), transaction.atomic():
            response = client.get(f"/api/v1/{path}")
            transaction.set_rollback(True)
            assert (response.status_code, response.headers["Content-Type"]) == (status, PROBLEM)
            body = response.json()
            assert (body["status"], body["code"], body["type"]) == (status, code, f"/problems/{code}")
            assert body["title"]
            assert "of ours" not in response.content.decode()


def test_outage_response_has_retry_after(client):
    for failure in ("database", "disk", "files", "embedder"):
        response = client.get(f"/api/v1/fail/{failure}")
        assert (response.status_code, int(response.headers["Retry-After"]) > 0) == (503, True), failure


def test_defect_is_logged_under_the_instance_that_the_caller_sees_and_reveals_nothing(client, caplog):
    with caplog.at_level(logging.ERROR):
        response = client.get("/api/v1/fail/defect")
    assert "hunter2" not in response.content.decode()
    assert "detail" not in response.json()
    assert response.json()["instance"] in caplog.text


def test_failure_outside_of_the_api_views_is_problem_json_too(db):
    response = Client(raise_request_exception=False).get("/api/v1/plain")
    assert (response.status_code, response.json()["code"]) == (503, "database_unavailable")
    assert response.headers["Content-Type"] == PROBLEM


def test_problems_of_the_api_and_of_pages_are_counted_once(db, monkeypatch):
    monkeypatch.setattr(scrape, "_FRESH_S", -1.0)

    def count(status, code):
        lines = Client().get("/metrics").content.decode().splitlines()
        samples = [line for line in lines if line.startswith("kebab_problems_total{")]
        wanted = [line for line in samples if f'status="{status}"' in line and f'code="{code}"' in line]
        return sum(float(line.rpartition(" ")[2]) for line in wanted)

    for path, status, code in (
        ("/plain", 503, "database_unavailable"),
        ("/defective", 500, "internal_error"),
        ("/api/v1/plain", 503, "database_unavailable"),
    ):
        before = count(status, code)
        assert Client(raise_request_exception=False).get(path).status_code == status
        assert count(status, code) == before + 1, path
    before = count(409, "conflict")
    assert apply_problem(HttpResponse(), Problem(status=409, code="conflict")).status_code == 409
    assert count(409, "conflict") == before + 1


def test_unknown_address_and_malformed_id_look_like_a_missing_thing(client):
    for path in ("/api/v1/nowhere", "/api/", "/api/v1/workspaces/"):
        response = client.get(path)
        assert (response.status_code, response.headers["Content-Type"]) == (404, PROBLEM)
        assert response.json() == client.get("/api/v1/fail/missing").json()
    assert client.get("/nowhere").headers["Content-Type"].startswith("text/html")

    workspace = make_workspace()
    reader = token_client(workspace, "search")
    missing = reader.get(f"/api/v1/workspaces/{workspace.slug}/things/{'0' * 32}")
    malformed = reader.get(f"/api/v1/workspaces/{workspace.slug}/things/zz")
    assert missing.status_code == malformed.status_code == 404
    assert missing.content == malformed.content


def test_unreadable_form_is_not_read_for_an_error_page(db):
    client = Client(enforce_csrf_checks=True)
    client.cookies["csrftoken"] = "a" * 32
    form = f'--b\r\nContent-Disposition: form-data; name="{"a" * 2_000}"\r\n\r\na\r\n--b--\r\n'
    response = client.post("/nowhere", form, content_type="multipart/form-data; boundary=b")
    assert (response.status_code, response.wsgi_request._read_started) == (404, False)


def test_all_errors_of_a_problem_share_four_thousand_characters():
    for n, most_chars in ((1, 1_000), (20, 200)):
        errors = n * (FieldError(field="a" * 5_000, message="b" * 5_000),)
        found = problem_document(Problem(status=400, code="invalid_request", errors=errors))["errors"]
        assert found == n * [{"field": f"{'a' * most_chars}…", "message": f"{'b' * most_chars}…"}]


def test_unsupported_method_is_answered_with_the_allowed_ones(db):
    client = member_client(workspace := make_workspace())
    response = client.put(f"/api/v1/workspaces/{workspace.slug}/notes", {}, format="json")
    assert (response.status_code, response.json()["code"]) == (405, "method_not_allowed")
    assert response.headers["Allow"] == "GET, POST, HEAD"


def test_error_tree_without_status_and_code_is_refused():
    with pytest.raises(TypeError, match="status"):
        Extension(error_trees=(RuntimeError,))
