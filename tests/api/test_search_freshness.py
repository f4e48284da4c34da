"""Reading one's own writes."""

import pytest

from search.node import mirror_files
from tests.support.api import address
from tests.support.corpus import write

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_change_that_was_made_is_found_when_it_is_named(reader, workspace, method):
    write(workspace, "old.md", "alpha before")
    assert reader.get(address(workspace, "/search"), {"q": "alpha"}).json()["hits"]
    written = write(workspace, "new.md", "alpha just written")
    options = {"format": "json"} if method == "post" else {}
    given = {"q": "written", "min_seq": written.seq}
    body = getattr(reader, method)(address(workspace, "/search"), given, **options).json()

    assert [hit["doc_path"] for hit in body["hits"]] == ["new.md"]
    assert body["seq"] >= written.seq
    assert body["lag"] == 0


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_change_that_does_not_come_is_a_clear_time_out(reader, workspace, method, settings):
    settings.KEBAB_WAIT_LIMIT_S = 0.05
    written = write(workspace, "new.md", "alpha just written")
    options = {"format": "json"} if method == "post" else {}
    given = {"q": "alpha", "min_seq": written.seq}
    with mirror_files(workspace.pk).writing():  # so nobody else can bring it there
        response = getattr(reader, method)(address(workspace, "/search"), given, **options)

    assert (response.status_code, response.json()["code"]) == (503, "not_searchable_yet")
    assert response.headers["Retry-After"]


@pytest.mark.parametrize("path", ["/search", "/context-pack"])
def test_nobody_waits_for_a_change_that_was_not_made(reader, workspace, path):
    written = write(workspace, "new.md", "alpha")
    text = {"/search": "q", "/context-pack": "information_request"}[path]
    given = {text: "alpha", "min_seq": written.seq + 1}
    problem = reader.post(address(workspace, path), given, format="json").json()

    assert (problem["status"], problem["code"]) == (400, "invalid_query")
    assert [error["field"] for error in problem["errors"]] == ["min_seq"]
