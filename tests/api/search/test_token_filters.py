"""Tokens with filters: they may only search, and find nothing else."""

import pytest

from kebab.identity.models import ApiToken, AuditEvent
from tests.api.refusals import refusal_of
from tests.support.actors import Role, bearer_client, member_client
from tests.support.api import address
from tests.support.corpus import write
from tests.support.search import sync

pytestmark = pytest.mark.django_db(transaction=True)

FILTERS = {"tags_any": ["public"], "metadata": {"team": "ops"}}


@pytest.fixture
def corpus(workspace):
    ops = {"metadata": {"team": "ops"}}
    write(workspace, "open.md", "apple", tags=("public",), lang="de", metadata={"team": "ops", "year": 2021})
    write(workspace, "tagged.md", "apple", tags=("public",))
    write(workspace, "team.md", "apple", **ops)
    sync(workspace)
    return workspace


def create(workspace, filters, scopes=("search",)):
    body = {"scopes": scopes, "filters": filters}
    return member_client(workspace, Role.ADMIN).post(address(workspace, "/tokens"), body, format="json")


@pytest.fixture
def tool(corpus):
    response = create(corpus, FILTERS)
    assert response.status_code == 201, response.content
    assert response.json()["filters"] == FILTERS
    return bearer_client(response.json()["token"])


def search(client, workspace, **given):
    body = {"q": "apple", "mode": "lexical", **given}
    return client.post(address(workspace, "/search"), body, format="json")


def paths(response):
    assert response.status_code == 200, response.content
    return [hit["doc_path"] for hit in response.json()["hits"]]


def test_search_is_narrowed_by_the_filters_of_the_token_and_of_the_request(tool, corpus):
    assert paths(search(tool, corpus)) == ["open.md"]
    assert paths(search(tool, corpus, filters={"lang": ["de"], "metadata": {"year": 2021}})) == ["open.md"]
    assert paths(search(tool, corpus, filters={"metadata": {"year": 2020}})) == []
    assert paths(search(tool, corpus, q="apple path:t*.md")) == []
    found = tool.get(address(corpus, "/search"), {"q": "apple", "mode": "vector"})
    assert found.json()["hits"] == []
    bulk = tool.post(address(corpus, "/search/bulk"), {"queries": [{"q": "apple"}]}, format="json")
    assert [hit["doc_path"] for hit in bulk.json()["results"][0]["hits"]] == ["open.md"]


def test_next_page_is_narrowed_too(tool, corpus):
    for number in range(3):
        write(corpus, f"{number}.md", "apple", tags=("public",), metadata={"team": "ops"})
        write(corpus, f"other{number}.md", "apple")
    sync(corpus)
    first = search(tool, corpus, k=2).json()
    second = tool.get(address(corpus, "/search"), {"cursor": first["next_cursor"]})
    shown = [hit["doc_path"] for hit in (*first["hits"], *second.json()["hits"])]
    assert sorted(shown) == ["0.md", "1.md", "2.md", "open.md"]


def test_token_with_filters_cannot_widen_its_results(tool, corpus, subtests):
    doc_id = "0" * 32
    for given in (
        {"filters": {"tags_any": ["public", "secret"]}},
        {"filters": {"metadata": {"team": "dev"}}},
        {"facets": ["tags_any"]},
        {"facets": ["metadata.team"]},
        {"why_not": doc_id},
        {"explain": True, "prefix": True, "q": "app"},
    ):
        with subtests.test(given=given):
            assert refusal_of(search(tool, corpus, **given))[:2] == (403, "forbidden")
    counted = search(tool, corpus, facets=["lang", "metadata.year"]).json()["facets"]
    assert counted["by_filter"]["lang"] == [{"value": "de", "documents": 1}]
    assert counted["by_filter"]["metadata.year"] == [{"value": 2021, "documents": 1}]
    for tail in ("", "/suggest?q=app", "/documents", "/libs/search?libraryName=x", f"/documents/{doc_id}"):
        with subtests.test(tail=tail):
            assert refusal_of(tool.get(address(corpus, tail)))[:2] == (403, "forbidden")


@pytest.mark.parametrize("metadata", [5, [], ["a"], 0])
def test_metadata_filter_must_be_an_object(tool, corpus, metadata):
    refused = refusal_of(search(tool, corpus, filters={"metadata": metadata}))
    assert refused == (400, "invalid_filter", "filters.metadata")
    assert paths(search(tool, corpus, filters={"metadata": None})) == ["open.md"]


def test_token_with_filters_gets_no_promoted_answers(tool, corpus):
    rule = {"kind": "answer", "queries": ["apple"], "title": "Apples", "text": "Room 7."}
    admin = member_client(corpus, Role.ADMIN)
    assert admin.post(address(corpus, "/rules"), rule, format="json").status_code == 201
    body = {"q": "apple", "mode": "lexical"}
    for client, n_answers in ((admin, 1), (tool, 0)):
        assert len(search(client, corpus).json()["promoted"]) == n_answers
        several = client.post("/api/v1/search", body, format="json").json()
        assert len(several["workspaces"][0]["promoted"]) == n_answers


def test_token_with_filters_has_one_scope_and_filters_that_exist(corpus, subtests):
    for filters, scopes, field in (
        (FILTERS, ["search", "ask"], "scopes"),
        (FILTERS, [], "scopes"),
        ({"color": ["red"]}, ["search"], None),
        (["a"], ["search"], None),
        ({"source": []}, ["search"], "filters"),
        ({"source": None, "metadata": {}}, ["search"], "filters"),
        (0, ["search"], None),
        ({"metadata": {"team": {"like": "o"}}}, ["search"], None),
    ):
        with subtests.test(filters=filters, scopes=scopes):
            status, code, refused = refusal_of(create(corpus, filters, scopes))
            assert (status, refused) == (400, field)
            assert code == ("invalid_request" if field else "invalid_filter")


def test_filters_outlast_a_rotation_and_are_audited(corpus):
    created = create(corpus, FILTERS).json()
    assert AuditEvent.objects.get(action="token.created").detail["filters"] == FILTERS
    admin = member_client(corpus, Role.ADMIN)
    rotated = admin.post(address(corpus, f"/tokens/{created['id']}/rotate"), {}, format="json")
    assert rotated.json()["filters"] == FILTERS
    assert {token.prefix for token in ApiToken.objects.exclude(filters={})} == {
        created["prefix"],
        rotated.json()["prefix"],
    }
