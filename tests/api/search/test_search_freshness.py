"""Searches that wait for a change by `min_seq`."""

import pytest

from kebab.identity.models import Workspace
from search.corpus.seq_tokens import read_seq_token
from search.mirror.local_mirrors import mirror_files
from search.models import Change, Document
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
        assert refusal_of(response) == (400, "sequence_unknown", "min_seq")


def test_lost_change_is_unknown_by_its_token_once_its_number_is_reused(reader, workspace):
    path = address(workspace, "/search")
    write(workspace, "kept.md", "alpha")
    lost = write(workspace, "lost.md", "alpha").seq
    page = reader.get(path, {"q": "alpha", "k": 1, "min_seq": lost}).json()
    token, cursor = read_seq_token(workspace.pk, lost), page["next_cursor"]
    assert reader.get(path, {"q": "alpha", "min_seq": token}).json()["seq"] == lost
    assert reader.get(path, {"cursor": cursor}).status_code == 200
    Document.objects.in_workspace(workspace).filter(path="lost.md").delete()
    Change.objects.in_workspace(workspace).filter(seq=lost).delete()
    Workspace.objects.filter(pk=workspace.pk).update(head_seq=lost - 1)
    for wanted in (token, lost):
        response = reader.get(path, {"q": "alpha", "min_seq": wanted})
        assert refusal_of(response) == (400, "sequence_unknown", "min_seq")
    write(workspace, "later.md", "alpha")
    assert refusal_of(reader.get(path, {"q": "alpha", "min_seq": token}))[1] == "sequence_unknown"
    assert refusal_of(reader.get(path, {"cursor": cursor}))[1] == "stale_cursor"
    for wanted in (lost, str(lost)):
        hits = reader.post(path, {"q": "alpha", "min_seq": wanted}, format="json").json()["hits"]
        assert {hit["doc_path"] for hit in hits} == {"kept.md", "later.md"}


@pytest.mark.parametrize("value", ["1-", "1-xyz", "-1-a", "a-1", "1-12345678901234567"])
def test_malformed_min_seq_is_refused(reader, workspace, value):
    response = reader.get(address(workspace, "/search"), {"q": "alpha", "min_seq": value})
    assert refusal_of(response) == (400, "invalid_request", "min_seq")
