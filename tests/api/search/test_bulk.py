"""Bulk searches: an answer or a problem for each query, in order."""

import pytest

from search.api import search
from search.api.query_fields import MAX_BULK_QUERIES
from tests.api.refusals import refusal_of
from tests.support.api import address
from tests.support.corpus import write


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
        return response.json()["results"]

    return ask


def outcome(result):
    """Return the documents of an answer, or the code of a problem."""
    return [hit["doc_path"] for hit in result["hits"]] if "hits" in result else result["code"]


def test_results_are_in_the_order_of_the_queries(ask):
    queries = ["beta", "alpha", "omega", "beta"] * (MAX_BULK_QUERIES // 4)
    results = ask(*({"q": q, "mode": "lexical"} for q in queries))

    assert [outcome(result) for result in results[:4]] == [["b.md"], ["a.md"], [], ["b.md"]]
    assert [result["query"] for result in results] == queries
    assert len(queries) == 100


def test_each_query_is_answered_as_on_its_own(ask, reader, workspace):
    query = {"q": "alpha beta", "mode": "hybrid", "k": 1, "filters": {"lang": ["en"]}, "explain": True}
    alone = reader.post(address(workspace, "/search"), query, format="json").json()
    (among,) = ask(query)
    assert (among["hits"], among.keys()) == (alone["hits"], alone.keys())

    cursor = {"cursor": among["next_cursor"]}
    alone = reader.post(address(workspace, "/search"), cursor, format="json").json()
    (among,) = ask(cursor)
    assert [hit["rank"] for hit in alone["hits"]] == [2]
    assert among["hits"] == alone["hits"]


def test_problem_of_one_query_leaves_the_others_alone(ask):
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

    assert [outcome(result) for result in results] == [
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


def test_defect_in_one_query_leaves_the_others_alone(ask, monkeypatch, caplog):
    answer = search.run_search

    def failing(access, given, filters):
        if given["q"] == "beta":
            raise ZeroDivisionError
        return answer(access, given, filters)

    monkeypatch.setattr(search, "run_search", failing)
    results = ask({"q": "beta"}, {"q": "alpha", "mode": "lexical"})

    assert [outcome(result) for result in results] == ["internal_error", ["a.md"]]
    assert results[0]["instance"] in caplog.text


def test_queries_past_the_time_limit_time_out(ask, monkeypatch):
    late = iter([False, False, True, True])
    monkeypatch.setattr(search, "is_over", lambda: next(late))
    results = ask(*[{"q": "alpha", "mode": "lexical"}] * 4)

    assert [outcome(result) for result in results] == [["a.md"], ["a.md"], "timeout", "timeout"]


def test_time_limit_of_all_queries_ends_each(ask, settings):
    settings.KEBAB_BULK_LIMIT_S = 0
    assert [outcome(result) for result in ask({"q": "alpha"}, {"q": "beta"})] == ["timeout"] * 2


def test_wrong_body_is_refused(send, subtests):
    for queries, fields, expected in (
        ([], {}, (400, "invalid_request", "queries")),
        ([{"q": "alpha"}] * (MAX_BULK_QUERIES + 1), {}, (400, "invalid_request", "queries")),
        ([{"q": "alpha"}], {"k": 1}, (400, "unknown_field", "k")),
        ([{"q": "x" * 5_000_000}], {}, (413, "too_large", None)),
    ):
        with subtests.test(expected=expected):
            assert refusal_of(send(*queries, **fields)) == expected
