"""Many searches in one request: an answer or a problem for each, in their order."""

import pytest
from rest_framework.test import APIClient

from search.api import bulk
from search.api.query import MAX_BULK_QUERIES
from tests.support.actors import token_client
from tests.support.api import address
from tests.support.corpus import write
from tests.support.schemas import validate


def fill(workspace):
    write(workspace, "a.md", "alpha one")
    write(workspace, "b.md", "beta two")


@pytest.fixture
def workspace(filled):
    return filled


@pytest.fixture
def send(reader, workspace):
    def send(*queries, **fields):
        return reader.post(address(workspace, "/search/bulk"), {"queries": queries, **fields}, format="json")

    return send


@pytest.fixture
def ask(send):
    def ask(*queries):
        response = send(*queries)
        assert response.status_code == 200, response.content
        validate("bulk_response.v1", response.json())
        return response.json()["results"]

    return ask


def told(result):
    """The documents of an answer, or the code of a problem."""
    return [hit["doc_path"] for hit in result["hits"]] if "hits" in result else result["code"]


def test_results_stand_in_the_order_of_the_queries(ask):
    lexical = {"mode": "lexical"}
    results = ask(*({"q": q, **lexical} for q in ("beta", "alpha", "omega", "beta")))

    assert [told(result) for result in results] == [["b.md"], ["a.md"], [], ["b.md"]]
    assert [result["query"] for result in results] == ["beta", "alpha", "omega", "beta"]


def test_each_query_is_answered_as_by_itself(ask, reader, workspace):
    query = {"q": "alpha beta", "mode": "hybrid", "k": 1, "filters": {"lang": ["en"]}, "explain": True}
    alone = reader.post(address(workspace, "/search"), query, format="json").json()
    (among,) = ask(query)

    assert among["hits"] == alone["hits"]
    assert among.keys() == alone.keys()


def test_an_error_in_one_query_is_that_ones(ask):
    results = ask(
        {"q": "alpha", "mode": "lexical"},
        {"q": "alpha", "mode": "fuzzy"},
        {"q": "'alpha AND'", "mode": "lexical"},
        {"q": "alpha", "filters": {"path_glob": ["[abc"]}},
        {"q": "alpha", "colour": "red"},
        {},
        "alpha",
        None,
        {"cursor": "nonsense"},
        {"q": "beta", "mode": "lexical"},
    )

    assert [told(result) for result in results] == [
        ["a.md"],
        "invalid_query",
        "invalid_query",
        "invalid_glob",
        "unknown_field",
        "invalid_request",
        "invalid_request",
        "invalid_request",
        "stale_cursor",
        ["b.md"],
    ]
    assert results[1]["errors"][0]["field"] == "mode"
    assert results[3]["errors"][0]["field"].startswith("filters.path_glob")


def test_a_defect_that_one_query_meets_takes_no_other_along(ask, monkeypatch, caplog):
    answer = bulk.answer

    def failing(access, given, filters):
        if given["q"] == "beta":
            raise ZeroDivisionError
        return answer(access, given, filters)

    monkeypatch.setattr(bulk, "answer", failing)
    results = ask({"q": "beta"}, {"q": "alpha", "mode": "lexical"})

    assert [told(result) for result in results] == ["internal_error", ["a.md"]]
    assert results[0]["instance"] in caplog.text


def test_a_cursor_of_a_bulk_opens_its_page_by_itself_and_in_a_bulk(ask, reader, workspace):
    (first,) = ask({"q": "alpha beta", "mode": "lexical", "k": 1})
    cursor = {"cursor": first["next_cursor"]}
    alone = reader.post(address(workspace, "/search"), cursor, format="json").json()
    (among,) = ask(cursor)

    assert [hit["rank"] for hit in alone["hits"]] == [2]
    assert among["hits"] == alone["hits"]


def test_what_the_time_was_too_short_for_is_a_timeout(ask, monkeypatch, settings):
    settings.KEBAB_BULK_LIMIT_S = 10
    clock = iter([0.0, 1.0, 9.9, 10.0, 11.0])
    monkeypatch.setattr(bulk, "monotonic", lambda: next(clock))
    results = ask(*[{"q": "alpha", "mode": "lexical"}] * 4)

    assert [told(result) for result in results] == [["a.md"], ["a.md"], "timeout", "timeout"]


@pytest.mark.parametrize("count", [0, MAX_BULK_QUERIES + 1])
def test_there_are_one_to_a_hundred_queries(send, count):
    response = send(*[{"q": "alpha"}] * count)

    assert (response.status_code, response.json()["errors"][0]["field"]) == (400, "queries")


def test_a_hundred_queries_are_answered(ask):
    assert len(ask(*[{"q": "alpha", "mode": "lexical"}] * MAX_BULK_QUERIES)) == 100


def test_a_body_over_the_limit_is_refused_with_the_limit(send):
    response = send({"q": "x" * 5_000_000})

    assert (response.status_code, response.json()["code"]) == (413, "too_large")
    assert "5000000" in response.json()["detail"]


def test_an_unknown_field_of_the_bulk_is_refused(send):
    assert send({"q": "alpha"}, k=1).json()["code"] == "unknown_field"


def test_a_bulk_needs_the_right_to_search(workspace, other_workspace):
    body = {"queries": [{"q": "alpha"}]}

    def status(client):
        return client.post(address(workspace, "/search/bulk"), body, format="json").status_code

    assert status(token_client(workspace, "ingest")) == 403
    assert status(token_client(other_workspace, "search")) == 404
    assert status(APIClient()) == 401
