"""Whatever goes wrong is told as problem+json."""

import logging

import pytest
from django.http import HttpResponse
from django.test import Client

from kebab.api.errors import Problem, register_error_tree
from kebab.health import scraping
from kebab.pages.page import told
from tests.support.actors import make_person, make_workspace, member_client, person_client, token_client

PROBLEM = "application/problem+json"


@pytest.fixture
def client(db):
    return person_client(make_person())


@pytest.mark.parametrize(
    ("how", "status", "code"),
    [
        ("tree", 422, "burnt"),
        ("database", 503, "database_unavailable"),
        ("redis", 503, "redis_unavailable"),
        ("disk", 503, "storage_full"),
        ("files", 503, "busy"),
        ("defect", 500, "internal_error"),
        ("missing", 404, "not_found"),
        ("suspicious", 400, "invalid_request"),
        ("denied", 403, "forbidden"),
    ],
)
def test_every_exception_is_answered_with_its_problem(client, how, status, code):
    response = client.get(f"/api/v1/fail/{how}")

    assert response.status_code == status
    assert response.headers["Content-Type"] == PROBLEM
    body = response.json()
    assert (body["status"], body["code"], body["type"]) == (status, code, f"/problems/{code}")
    assert body["title"]
    assert "of ours" not in response.content.decode()


@pytest.mark.parametrize("how", ["database", "disk", "files", "embedder"])
def test_an_outage_says_when_to_try_again(client, how):
    response = client.get(f"/api/v1/fail/{how}")

    assert (response.status_code, int(response.headers["Retry-After"]) > 0) == (503, True)


def test_a_defect_is_logged_under_the_name_that_the_caller_sees_and_tells_nothing_else(client, caplog):
    with caplog.at_level(logging.ERROR):
        response = client.get("/api/v1/fail/defect")

    assert "hunter2" not in response.content.decode()
    assert "detail" not in response.json()
    assert response.json()["instance"] in caplog.text


@pytest.mark.parametrize(
    ("how", "status", "code"),
    [
        ("slow", 503, "timed_out"),
        ("disk", 503, "storage_full"),
        ("read_only", 503, "storage_full"),
        ("deadlock", 503, "busy"),
        ("range", 400, "invalid_request"),
        ("defect", 500, "internal_error"),
    ],
)
def test_what_postgres_says_is_told_apart(client, how, status, code):
    response = client.get(f"/api/v1/database/{how}")

    assert (response.status_code, response.json()["code"]) == (status, code)


def test_a_failure_outside_of_the_api_views_is_problem_json_too(db):
    response = Client(raise_request_exception=False).get("/api/v1/plain")

    assert (response.status_code, response.json()["code"]) == (503, "database_unavailable")
    assert response.headers["Content-Type"] == PROBLEM


@pytest.fixture
def counted(monkeypatch):
    """Give how many problems of a status and a code `/metrics` tells of now."""
    monkeypatch.setattr(scraping, "_FRESH_S", -1.0)

    def count(status, code):
        lines = Client().get("/metrics").content.decode().splitlines()
        told = [line for line in lines if line.startswith("kebab_problems_total{")]
        wanted = [line for line in told if f'status="{status}"' in line and f'code="{code}"' in line]
        return sum(float(line.rpartition(" ")[2]) for line in wanted)

    return count


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/plain", 503, "database_unavailable"),
        ("/defective", 500, "internal_error"),
        ("/api/v1/plain", 503, "database_unavailable"),
    ],
)
def test_a_failure_is_counted_once_on_a_page_as_in_the_api(db, counted, path, status, code):
    before = counted(status, code)

    assert Client(raise_request_exception=False).get(path).status_code == status
    assert counted(status, code) == before + 1


def test_what_a_page_tells_is_counted(db, counted):
    before = counted(409, "conflict")

    assert told(HttpResponse(), Problem(status=409, code="conflict")).status_code == 409
    assert counted(409, "conflict") == before + 1


@pytest.mark.parametrize("path", ["/api/v1/nowhere", "/api/", "/api/v1/workspaces/"])
def test_an_unknown_address_looks_like_a_thing_that_is_not_there(client, path):
    response = client.get(path)

    assert response.status_code == 404
    assert response.headers["Content-Type"] == PROBLEM
    assert response.json() == client.get("/api/v1/fail/missing").json()


def test_an_unknown_address_outside_of_the_api_is_a_page(client):
    assert client.get("/nowhere").headers["Content-Type"].startswith("text/html")


def test_a_malformed_id_looks_like_a_missing_one(db):
    workspace = make_workspace()
    client = token_client(workspace, "search")
    missing = client.get(f"/api/v1/workspaces/{workspace.slug}/things/{'0' * 32}")
    malformed = client.get(f"/api/v1/workspaces/{workspace.slug}/things/zz")

    assert missing.status_code == malformed.status_code == 404
    assert missing.content == malformed.content


def test_a_method_that_is_not_there_is_named_with_those_that_are(db):
    client = member_client(workspace := make_workspace())
    response = client.put(f"/api/v1/workspaces/{workspace.slug}/notes", {}, format="json")

    assert (response.status_code, response.json()["code"]) == (405, "method_not_allowed")
    assert response.headers["Allow"] == "GET, POST, HEAD"


def test_an_error_tree_without_status_and_code_is_refused():
    with pytest.raises(TypeError, match="status"):
        register_error_tree(RuntimeError)
