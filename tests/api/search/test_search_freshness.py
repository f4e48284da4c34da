"""Searches that wait for a change by `min_seq`."""

import pytest

from search.mirror.local_mirrors import mirror_files
from tests.api.refusals import refusal_of
from tests.support.api import address
from tests.support.corpus import write

pytestmark = pytest.mark.django_db(transaction=True)


def test_search_with_min_seq_finds_the_change_or_times_out(reader, workspace, settings):
    path = address(workspace, "/search")
    write(workspace, "old.md", "alpha before")
    assert reader.get(path, {"q": "alpha"}).json()["hits"]
    for word, send in (
        ("one", lambda given: reader.get(path, given)),
        ("two", lambda given: reader.post(path, given, format="json")),
    ):
        written = write(workspace, f"{word}.md", f"alpha {word}")
        body = send({"q": word, "min_seq": written.seq}).json()
        assert [hit["doc_path"] for hit in body["hits"]] == [f"{word}.md"]
        assert body["seq"] >= written.seq
        assert body["lag"] == 0

        settings.KEBAB_WAIT_LIMIT_S = 0.05
        late = write(workspace, "late.md", f"alpha late {word}")
        with mirror_files(workspace.pk).write_lock():  # so that nobody else can sync it
            response = send({"q": "alpha", "min_seq": late.seq})
        assert refusal_of(response) == (503, "not_searchable_yet", None)
        assert response.headers["Retry-After"]
        settings.KEBAB_WAIT_LIMIT_S = 30


def test_min_seq_beyond_the_log_is_refused(reader, workspace):
    written = write(workspace, "new.md", "alpha")
    for tail, text in (("/search", "q"), ("/context-pack", "information_request")):
        given = {text: "alpha", "min_seq": written.seq + 1}
        response = reader.post(address(workspace, tail), given, format="json")
        assert refusal_of(response) == (400, "invalid_query", "min_seq")
