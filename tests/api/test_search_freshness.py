"""Reading one's own writes."""

import pytest

from tests.api.making import address
from tests.corpus.making import write

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
    options = {"format": "json"} if method == "post" else {}
    given = {"q": "alpha", "min_seq": 1}
    response = getattr(reader, method)(address(workspace, "/search"), given, **options)

    assert (response.status_code, response.json()["code"]) == (503, "not_searchable_yet")
    assert response.headers["Retry-After"]
