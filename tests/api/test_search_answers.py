"""What a search answers, whoever asks and however often."""

import pytest

from tests.support.actors import member_client, token_client
from tests.support.api import address, hits_bytes
from tests.support.corpus import chunk, write
from tests.support.schemas import validate


def fill(workspace):
    write(workspace, "a.md", "alpha beta", "alpha „gamma“ 部署指南", title="Ä", tags=("x",))
    write(workspace, "b.py", chunk("def alpha(): pass", kind="code", language="python"), version="")
    page = {"kind": "page", "page": 4}
    write(workspace, "c.pdf", chunk("alpha on a page", spans=(page,)), media="pdf")
    write(workspace, "d.txt", chunk("alpha nowhere", spans=()))


@pytest.fixture
def workspace(filled):
    return filled


@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid"])
def test_every_response_is_as_its_schema_says(reader, workspace, mode):
    given = {"q": "alpha gamma", "mode": mode, "explain": "true"}
    body = reader.get(address(workspace, "/search"), given).json()

    validate("search_response.v1", body)
    assert body["hits"]
    for hit in body["hits"]:
        validate("search_hit.v1", hit)
        validate("citation.v1", hit["citation"])


@pytest.mark.parametrize("given", [{"fusion": "rrf"}, {"per_file_cap": 1, "cutoff": True}, {"rerank": True}])
def test_every_explanation_is_as_its_schema_says(reader, workspace, given):
    asked = {"q": "alpha gamma", "explain": True, "why_not": "0" * 32, **given}
    body = reader.post(address(workspace, "/search"), asked, format="json").json()

    validate("search_explain.v1", body["explain"])
    assert body["explain"]["fused"]


def test_an_explanation_says_why_a_leg_is_off_as_its_schema_says(reader, workspace, settings):
    settings.KEBAB_EMBEDDER = "none"
    body = reader.get(address(workspace, "/search"), {"q": "alpha", "explain": "true"}).json()

    assert body["degraded"] == ["vector"]
    assert body["explain"]["off"].keys() == {"vector"}


def test_a_response_without_hits_is_as_its_schema_says(reader, workspace):
    body = reader.get(address(workspace, "/search"), {"q": "omega", "mode": "lexical"}).json()

    validate("search_response.v1", body)
    assert body["hits"] == []


@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid"])
def test_the_same_query_gives_the_same_bytes_however_it_is_asked(reader, workspace, mode):
    given = {"q": "alpha „gamma“", "mode": mode}
    by_get = [reader.get(address(workspace, "/search"), given) for _ in range(3)]
    by_post = [reader.post(address(workspace, "/search"), given, format="json") for _ in range(3)]

    assert len({hits_bytes(response) for response in by_get + by_post}) == 1
    assert "部署指南".encode() in hits_bytes(by_get[0])


def test_a_query_of_strange_text_is_answered(reader, workspace):
    for q in ('he"llo', "(", "*", "NOT", "a:b", "'", "C++", "\u202e", "x " * 5_000, "-", "^a", "{", '"'):
        response = reader.post(address(workspace, "/search"), {"q": q}, format="json")
        assert response.status_code == 200, q


def test_members_and_tokens_that_may_search_find(workspace):
    for caller in (member_client(workspace), token_client(workspace, "search")):
        response = caller.get(address(workspace, "/search"), {"q": "alpha"})
        assert response.json()["hits"]


def test_a_token_without_the_scope_does_not_search(workspace):
    response = token_client(workspace, "ingest").get(address(workspace, "/search"), {"q": "a"})

    assert (response.status_code, response.json()["code"]) == (403, "forbidden")


def test_another_workspaces_documents_are_not_found(workspace, other_workspace):
    reader = token_client(other_workspace, "search")

    assert reader.get(address(other_workspace, "/search"), {"q": "alpha"}).json()["hits"] == []
    theirs = reader.get(address(workspace, "/search"), {"q": "alpha"})
    missing = reader.get("/api/v1/workspaces/not-there/search", {"q": "alpha"})
    assert theirs.status_code == missing.status_code == 404
    assert theirs.content == missing.content
