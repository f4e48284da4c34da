"""Suggestions over HTTP: strict, within rights, as published."""

import pytest

from tests.support.actors import Role, member_client, token_client
from tests.support.api import address
from tests.support.corpus import chunk, write
from tests.support.mirrors import sync_in_this_thread
from tests.support.schemas import validate
from tests.support.searching import sync


def section(title, heading):
    return chunk("pushing text", heading=heading, breadcrumb=f"{title} > {heading}", heading_path=(heading,))


def texts(client, workspace, **given):
    response = client.get(address(workspace, "/suggest"), given)
    assert response.status_code == 200, response.content
    validate("suggest_response.v1", response.json())
    return [each["text"] for each in response.json()["suggestions"]]


@pytest.fixture
def corpus(workspace, settings, monkeypatch):
    settings.KEBAB_LEG_LIMIT_MS = 60_000
    sync_in_this_thread(monkeypatch)
    for number in range(12):
        title = f"Pushing {number:02}"
        write(workspace, f"{number:02}.md", section(title, f"push_{number}"), title=title)
    sync(workspace)
    return workspace


def test_suggestions_are_as_published(reader, corpus):
    answer = reader.get(address(corpus, "/suggest"), {"q": "pushi"}).json()

    assert answer["query"] == "pushi"
    assert answer["degraded"] == []
    first, *_, last = answer["suggestions"]
    assert (first["kind"], first["text"], first["doc_path"], first["chunk_id"]) == (
        "title",
        "Pushing 00",
        "00.md",
        None,
    )
    assert last == {"kind": "word", "text": "pushing", "doc_id": None, "doc_path": None, "chunk_id": None}


def test_q_and_limit_are_heeded(reader, corpus):
    assert len(texts(reader, corpus, q="push")) == 10
    assert len(texts(reader, corpus, q="push", limit=3)) == 3
    assert texts(reader, corpus, q="pushing 07") == ["Pushing 07"]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "q"),
        ({"q": "x" * 1_001}, "q"),
        ({"q": "a\x00b"}, "q"),
        ({"q": ["a", "b"]}, "q"),
        ({"q": "a", "limit": 0}, "limit"),
        ({"q": "a", "limit": 51}, "limit"),
        ({"q": "a", "limit": "many"}, "limit"),
        ({"q": "a", "kind": "title"}, "kind"),
    ],
)
def test_a_wrong_or_unknown_parameter_is_named(reader, corpus, given, field):
    response = reader.get(address(corpus, "/suggest"), given)

    assert response.status_code == 400
    assert [error["field"] for error in response.json()["errors"]] == [field]


@pytest.mark.parametrize("typed", ["", " ", "(", "*", "%", "部", "a" * 1_000, "'raw*'", "🙂", "NEAR(a b)"])
def test_whatever_is_typed_is_answered(reader, corpus, typed):
    assert texts(reader, corpus, q=typed) == []


def test_suggestions_take_the_scope_to_search(corpus):
    assert token_client(corpus, "ingest").get(address(corpus, "/suggest"), {"q": "p"}).status_code == 403
    assert member_client(corpus, Role.VIEWER).get(address(corpus, "/suggest"), {"q": "p"}).status_code == 200


def test_another_workspace_has_no_suggestions_for_us(reader, corpus, other_workspace):
    write(other_workspace, "secret.md", section("Pushkin", "pushy"), title="Pushkin")
    sync(other_workspace)

    assert not {"Pushkin", "pushy"} & set(texts(reader, corpus, q="push", limit=50))
    missing = reader.get("/api/v1/workspaces/nowhere/suggest", {"q": "push"})
    theirs = reader.get(address(other_workspace, "/suggest"), {"q": "push"})
    assert (
        (theirs.status_code, theirs.content)
        == (missing.status_code, missing.content)
        == (404, missing.content)
    )
