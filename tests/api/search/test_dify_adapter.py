"""Dify's external knowledge API."""

import pytest

from tests.api.guides import LEAVE, RESTART, make_guides
from tests.support.actors import make_workspace, token_client

pytestmark = pytest.mark.django_db(transaction=True)

DIFY = "/api/v1/dify/retrieval"


@pytest.fixture
def workspace():
    return make_guides()


@pytest.fixture
def tool(workspace):
    return token_client(workspace, "search")


def retrieve(client, workspace, query="workers", **given):
    body = {
        "knowledge_id": workspace.slug,
        "query": query,
        "retrieval_setting": {"top_k": 5, "score_threshold": 0.0},
        **given,
    }
    return client.post(DIFY, body, format="json")


def paths(response):
    assert response.status_code == 200, response.content
    return sorted(record["metadata"]["path"] for record in response.json()["records"])


def where(*conditions, logical_operator="and"):
    return {"metadata_condition": {"logical_operator": logical_operator, "conditions": list(conditions)}}


def condition(name, operator, value=None):
    names = name if isinstance(name, list) else [name]
    return {"name": names, "comparison_operator": operator, **({} if value is None else {"value": value})}


def test_dify_gets_passages_with_scores_titles_and_metadata(tool, workspace):
    first, *_ = retrieve(tool, workspace, "restart").json()["records"]
    assert first["content"] == "Restart the workers with care."
    assert (first["title"], first["metadata"]["team"], first["metadata"]["year"]) == ("Restart", "ops", 2024)
    assert first["metadata"]["citation"].startswith(f"{RESTART}#")
    assert 0 < first["score"] <= 1
    one = retrieve(tool, workspace, retrieval_setting={"top_k": 1, "score_threshold": None})
    assert len(one.json()["records"]) == 1
    assert len(paths(retrieve(tool, workspace, retrieval_setting={"top_k": None}))) == 2
    assert len(paths(retrieve(tool, workspace, retrieval_setting=None))) == 2
    none = retrieve(tool, workspace, retrieval_setting={"top_k": 5, "score_threshold": 1.0})
    assert none.json() == {"records": []}


def test_dify_narrows_by_metadata(tool, workspace, subtests):
    both = [LEAVE, RESTART]
    for given, expected in (
        (where(condition("team", "is", "ops")), [RESTART]),
        (where(condition("team", "is not", "ops")), [LEAVE]),
        (where(condition("year", "≥", 2020), condition("year", "<", 2024)), [LEAVE]),
        (where(condition("date", "after", "2024-01-01"), condition("date", "before", "2025")), [RESTART]),
        (where(condition("author", "empty")), [LEAVE]),
        (where(condition(["team", "author"], "=", "Ada")), [RESTART]),
        (where(condition("team", "is", "ops"), condition("year", "=", 2020), logical_operator="or"), both),
        (where(condition("team", "in", ["ops", "hr"])), both),
        (where(condition("team", "in", "hr, dev")), [LEAVE]),
        (where(condition("team", "not in", "hr, dev")), [RESTART]),
        (where(condition("team", "contains", "P")), [RESTART]),
        (where(condition("team", "not contains", "p")), [LEAVE]),
        (where(condition("team", "start with", "op")), [RESTART]),
        (where(condition("team", "end with", "R")), [LEAVE]),
        (where(condition("year", "is", "2024")), [RESTART]),
        (where(condition("year", "is not", "2024")), [LEAVE]),
        (where(condition("year", "=", "2024.0")), [RESTART]),
        (where(condition("year", "≠", "2024.0")), [LEAVE]),
        (where(condition("year", "≥", "2024")), [RESTART]),
        (where(condition("year", "≤", "2020")), [LEAVE]),
        (where(condition("year", ">", "2020")), [RESTART]),
        (where(condition("year", "start with", "202")), both),
        (where(condition("date", "before", "2024-04"), condition("team", "not empty")), [RESTART]),
        (where(condition("date", "is", "05.03.2024")), [RESTART]),
        (where(condition("team", "is")), both),
        (where(condition("gone", "null")), both),
        (where(condition("team", "not null")), both),
        (where(), both),
        ({"metadata_condition": None}, both),
    ):
        with subtests.test(given=given):
            assert paths(retrieve(tool, workspace, **given)) == expected


def test_dify_narrows_by_what_it_is_shown_of_documents(tool, workspace, subtests):
    shown = {
        paths(retrieve(tool, workspace, **where(condition("path", "is", path))))[0]
        for path in (RESTART, LEAVE)
    }
    assert shown == {RESTART, LEAVE}
    first = retrieve(tool, workspace, "restart").json()["records"][0]["metadata"]
    both = [LEAVE, RESTART]
    for name, operator, value, expected in (
        ("path", "start with", "guides/r", [RESTART]),
        ("path", "end with", "LEAVE.md", [LEAVE]),
        ("path", "not contains", "start", [LEAVE]),
        ("path", "in", [RESTART, "x"], [RESTART]),
        ("title", "is", "restart", [RESTART]),
        ("title", "is not", "Restart", [LEAVE]),
        ("document_name", "contains", "EST", [RESTART]),
        ("source", "is", first["source"], both),
        ("source", "not in", [first["source"]], []),
        ("source", "end with", first["source"][1:], both),
        ("author", "is", "ada", [RESTART]),
        ("author", "is not", "Ada", [LEAVE]),
        ("author", "start with", "A", [RESTART]),
        ("author", "not empty", None, [RESTART]),
        ("document_id", "is", first["document_id"], [RESTART]),
        ("document_id", "start with", first["document_id"][:9], [RESTART]),
        ("document_id", "is", "none", []),
        ("date", "is", first["date"], [RESTART]),
        ("date", "start with", "2024-03", [RESTART]),
        ("date", "after", "2024-03-05", [LEAVE]),
        ("date", "empty", None, []),
        ("citation", "is", first["citation"], [RESTART]),
        ("citation", "contains", "guides/", both),
    ):
        with subtests.test(name=name, operator=operator):
            assert paths(retrieve(tool, workspace, **where(condition(name, operator, value)))) == expected
    assert retrieve(tool, workspace, **where(condition("path", ">", "a"))).status_code == 400


def test_dify_sends_names_as_strings_and_nulls(tool, workspace, subtests):
    ops = {"name": "team", "comparison_operator": "is", "value": "ops"}
    for given, expected in (
        ({"conditions": [ops]}, [RESTART]),
        ({"logical_operator": None, "conditions": [ops, {**ops, "value": "hr"}]}, []),
        ({"logical_operator": "and", "conditions": None}, [LEAVE, RESTART]),
        ({"conditions": [{**ops, "value": None}, {**ops, "value": [None, "hr"]}]}, [LEAVE]),
        ({}, [LEAVE, RESTART]),
    ):
        with subtests.test(given=given):
            assert paths(retrieve(tool, workspace, metadata_condition=given)) == expected
    for name in (7, [], {"team": "ops"}):
        wrong = {"conditions": [{**ops, "name": name}]}
        assert retrieve(tool, workspace, metadata_condition=wrong).status_code == 400


def test_dify_gets_its_own_errors(tool, workspace):
    for response, status, code in (
        (retrieve(token_client(workspace), workspace), 403, 1002),
        (retrieve(tool, make_workspace()), 404, 2001),
        (retrieve(tool, workspace, query=None), 400, 4000),
        (retrieve(tool, workspace, **where(condition("team", "like", "o"))), 400, 4000),
    ):
        assert (response.status_code, response.json()["error_code"]) == (status, code)
        assert response.json()["error_msg"]
    tool.credentials()
    assert retrieve(tool, workspace).json()["error_code"] == 1001


def test_dify_error_does_not_repeat_a_long_value(tool, workspace):
    refused = retrieve(tool, workspace, **where(logical_operator="x" * 300_000))

    assert refused.status_code == 400
    assert len(refused.content) < 2_000
