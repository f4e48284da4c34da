"""Suggestions over HTTP."""

import pytest

from tests.api.refusals import refusal_of
from tests.support.api import address
from tests.support.corpus import chunk, write


def section(title, heading):
    return chunk("pushing text", heading=heading, breadcrumb=f"{title} > {heading}", heading_path=(heading,))


def fill(workspace):
    for number in range(12):
        title = f"Pushing {number:02}"
        write(workspace, f"{number:02}.md", section(title, f"push_{number}"), title=title)


@pytest.fixture
def workspace(filled):
    return filled


def texts(client, workspace, **given):
    response = client.get(address(workspace, "/suggest"), given)
    assert response.status_code == 200, response.content
    return [each["text"] for each in response.json()["suggestions"]]


def test_suggestions_have_titles_first_and_words_last(reader, workspace):
    answer = reader.get(address(workspace, "/suggest"), {"q": "pushi"}).json()

    assert (answer["query"], answer["degraded"]) == ("pushi", [])
    first, *_, last = answer["suggestions"]
    shown = (first["kind"], first["text"], first["doc_path"], first["chunk_id"])
    assert shown == ("title", "Pushing 00", "00.md", None)
    assert last == {"kind": "word", "text": "pushing", "doc_id": None, "doc_path": None, "chunk_id": None}


def test_q_and_limit_select_the_suggestions(reader, workspace):
    assert len(texts(reader, workspace, q="push")) == 10
    assert len(texts(reader, workspace, q="push", limit=3)) == 3
    assert texts(reader, workspace, q="pushing 07") == ["Pushing 07"]


def test_wrong_parameter_is_refused_by_its_field(reader, workspace, subtests):
    for given, code, field in (
        ({}, "invalid_request", "q"),
        ({"q": "x" * 1_001}, "invalid_request", "q"),
        ({"q": "a\x00b"}, "invalid_request", "q"),
        ({"q": ["a", "b"]}, "invalid_request", "q"),
        ({"q": "a", "limit": 0}, "invalid_request", "limit"),
        ({"q": "a", "limit": 51}, "invalid_request", "limit"),
        ({"q": "a", "limit": "many"}, "invalid_request", "limit"),
        ({"q": "a", "kind": "title"}, "unknown_field", "kind"),
    ):
        with subtests.test(given=str(given)[:40]):
            assert refusal_of(reader.get(address(workspace, "/suggest"), given)) == (400, code, field)


def test_strange_text_is_answered(reader, workspace, subtests):
    for typed in ("", " ", "(", "*", "%", "部", "a" * 1_000, "'raw*'", "🙂", "NEAR(a b)"):
        with subtests.test(typed=typed[:9]):
            assert texts(reader, workspace, q=typed) == []
