"""Changed fields and deletions of documents over HTTP."""

import pytest

from ingest.models import Job
from ingest.services import uploads
from kebab.identity.models import AuditEvent
from search.corpus import ensure_source, replace_document
from search.corpus.blobs import open_blob
from search.mirror import local_mirrors
from search.models import Chunk, Document, Source
from tests.api.refusals import refusal_of
from tests.support.actors import Role, member_client, token_client
from tests.support.api import address, folder, post_text, run, run_to_end, upload
from tests.support.corpus import draft, make_place

pytestmark = pytest.mark.django_db(transaction=True)


def change(client, workspace, doc_id, **fields):
    return client.patch(address(workspace, f"/documents/{doc_id}"), fields, format="json")


def get(client, workspace, doc_id):
    return client.get(address(workspace, f"/documents/{doc_id}")).json()


def test_new_title_is_in_the_chunks_too(client, workspace):
    doc_id = upload(client, workspace)
    response = change(client, workspace, doc_id, title="Setting up")
    assert (response.status_code, response.json()["document"]["id"]) == (202, doc_id)
    run(workspace, response)

    assert get(client, workspace, doc_id)["title"] == "Setting up"
    breadcrumbs = Chunk.objects.in_workspace(workspace).values_list("breadcrumb", flat=True)
    assert all(breadcrumb.startswith("Setting up") for breadcrumb in breadcrumbs)


def test_field_override_applies_and_null_removes_it(client, workspace):
    doc_id = upload(client, workspace)
    before = get(client, workspace, doc_id)
    fields = {"tags": ["z"], "lang": "fr", "trust_level": "generated", "metadata": {"a": 1}, "title": "T"}
    for field, value in fields.items():
        run(workspace, change(client, workspace, doc_id, **{field: value}))
        stated = get(client, workspace, doc_id)
        assert stated["overrides"][field] == value
        assert stated[field] == value or stated[field].items() >= value.items()
        assert stated[field] != before[field]
    assert stated["overrides"] == fields
    run(workspace, change(client, workspace, doc_id, **dict.fromkeys(fields)))
    after = get(client, workspace, doc_id)
    assert {field: after[field] for field in fields} == {field: before[field] for field in fields}
    assert after["overrides"] == {}


def test_changes_requested_together_are_all_applied(client, workspace):
    doc_id = upload(client, workspace, tags=["a"])
    jobs = [change(client, workspace, doc_id, title="One"), change(client, workspace, doc_id, lang="fr")]
    for job in jobs:
        run(workspace, job)
    overrides = get(client, workspace, doc_id)["overrides"]
    assert overrides == {"tags": ["a"], "title": "One", "lang": "fr"}


def test_change_applies_to_an_upload_queued_before_it(client, workspace):
    doc_id = upload(client, workspace)
    waiting = post_text(client, workspace, text="# New\n\nnew words\n")
    changed = change(client, workspace, doc_id, lang="fr")
    run(workspace, waiting)
    run(workspace, changed)

    document = get(client, workspace, doc_id)
    assert (document["title"], document["lang"]) == ("New", "fr")


def test_stated_fields_are_kept_by_later_uploads(client, workspace):
    doc_id = upload(client, workspace, tags=["a"])
    run(workspace, change(client, workspace, doc_id, title="Stated", lang="fr"))
    upload(client, workspace, text="# New\n\nnew words\n", lang="de")
    stated = {"tags": ["a"], "title": "Stated", "lang": "de"}
    assert get(client, workspace, doc_id)["overrides"] == stated

    changed = change(client, workspace, doc_id, title=None)
    upload(client, workspace, text="# Newer\n\nnewer words\n")
    run(workspace, changed)
    document = get(client, workspace, doc_id)
    assert (document["title"], document["overrides"]) == ("Newer", {"tags": ["a"], "lang": "de"})


def test_change_with_wait_for_returns_its_seq(client, workspace, monkeypatch):
    doc_id = upload(client, workspace)
    monkeypatch.setattr("ingest.api.documents.views.wait_until_searchable", run_to_end)
    path = address(workspace, f"/documents/{doc_id}?wait_for=searchable")
    response = client.patch(path, {"lang": "fr"}, format="json")
    assert response.status_code == 200
    assert response.json()["seq"] > 0


def test_wrong_change_is_refused(client, workspace):
    doc_id = upload(client, workspace)
    for field in ("path", "text", "source"):
        response = change(client, workspace, doc_id, **{field: "b.md"})
        assert refusal_of(response) == (400, "unknown_field", field)
    Document.objects.all().delete()
    replace_document(make_place(workspace, "a.md"), draft("text"))
    doc_id = Document.objects.in_workspace(workspace).get().doc_id.hex
    assert refusal_of(change(client, workspace, doc_id, lang="fr")) == (409, "content_gone", None)


def test_deleting_a_document_deletes_its_chunks_and_bytes(client, workspace):
    doc_id = upload(client, workspace, text="# T\n\nzebrafish\n")
    document = Document.objects.in_workspace(workspace).get()
    response = client.delete(address(workspace, f"/documents/{doc_id}"))

    assert (response.status_code, response.content) == (204, b"")
    workspace.refresh_from_db()
    assert int(response.headers["Kebab-Seq"]) == workspace.head_seq
    assert client.get(address(workspace, f"/documents/{doc_id}")).status_code == 404
    assert not Chunk.objects.in_workspace(workspace).exists()
    with pytest.raises(FileNotFoundError):
        open_blob(workspace.pk, document.content_hash)
    local_mirrors.wait_for_seq(workspace.pk, workspace.head_seq, limit_s=10)
    search = {"q": "zebrafish", "mode": "lexical", "min_seq": response.headers["Kebab-Seq-Token"]}
    assert client.get(address(workspace, "/search"), search).json()["hits"] == []
    event = AuditEvent.objects.get(action="document.deleted")
    assert (event.subject, event.detail["id"]) == ("guides/install.md", doc_id)
    assert client.delete(address(workspace, f"/documents/{doc_id}")).status_code == 404


def test_document_is_deleted_when_its_blob_store_is_unavailable(client, workspace, monkeypatch, caplog):
    def is_away(*_):
        raise OSError(111, "the bucket is away")

    doc_id = upload(client, workspace)
    monkeypatch.setattr(uploads, "release_blobs", is_away)
    response = client.delete(address(workspace, f"/documents/{doc_id}"))

    workspace.refresh_from_db()
    assert (response.status_code, int(response.headers["Kebab-Seq"])) == (204, workspace.head_seq)
    assert Source.objects.in_workspace(workspace).get(key="uploads").total_snippets == 0
    assert "the bucket is away" in caplog.text


def test_waiting_upload_does_not_bring_a_deleted_document_back(client, workspace):
    doc_id = upload(client, workspace)
    waiting = post_text(client, workspace, text="# New\n")
    client.delete(address(workspace, f"/documents/{doc_id}"))

    assert run(workspace, waiting).state == "cancelled"
    assert not Document.objects.in_workspace(workspace).exists()


@pytest.fixture
def handbook(client, workspace, tmp_path, settings):
    """Return a function that syncs a folder source and returns its report, and the folder."""
    root = folder(settings, tmp_path, a_md="# A\n")
    source = ensure_source(workspace, "handbook", kind="folder", config={"path": str(root)})

    def sync():
        return run(workspace, client.post(address(workspace, f"/sources/{source.pk}/sync"))).counts

    sync()
    return sync, root


def test_changes_of_a_folder_document_outlast_syncs(client, workspace, handbook):
    sync, root = handbook
    before = Document.objects.in_workspace(workspace).get()
    doc_id = before.doc_id.hex
    first = change(client, workspace, doc_id, title="Stated", tags=["a"])
    second = change(client, workspace, doc_id, title="Restated")
    run(workspace, second)
    run(workspace, first)
    document = Document.objects.in_workspace(workspace).get()
    assert (document.title, document.tags) == ("Restated", ["a"])
    assert document.source_mtime_ns == before.source_mtime_ns

    assert sync()["unchanged"] == 1
    (root / "a.md").write_text("# A\n\nmore words\n")
    assert sync()["updated"] == 1
    assert get(client, workspace, doc_id)["overrides"] == {"title": "Restated", "tags": ["a"]}
    run(workspace, change(client, workspace, doc_id, title=None))
    assert get(client, workspace, doc_id)["title"] == "A"


def test_document_of_a_folder_is_not_deleted(client, workspace, handbook):
    doc_id = Document.objects.in_workspace(workspace).get().doc_id.hex
    refused = client.delete(address(workspace, f"/documents/{doc_id}"))
    assert refusal_of(refused) == (409, "document_of_folder", None)
    assert Document.objects.in_workspace(workspace).exists()
    assert not AuditEvent.objects.filter(action="document.deleted").exists()


def test_callers_below_editor_cannot_change_or_delete_documents(client, reader, workspace):
    doc_id = upload(client, workspace)
    for caller in (reader, member_client(workspace, Role.VIEWER), token_client(workspace, "manage")):
        assert change(caller, workspace, doc_id, lang="fr").status_code == 403
        assert caller.delete(address(workspace, f"/documents/{doc_id}")).status_code == 403
    assert Job.objects.filter(kind="ingest_document").count() == 1


def test_editor_marks_a_document_outdated_or_verified(client, workspace):
    doc_id = upload(client, workspace)
    mark = {"status": "outdated", "superseded_by": "f" * 32}
    run(workspace, change(client, workspace, doc_id, **mark))
    outdated = get(client, workspace, doc_id)
    run(workspace, change(client, workspace, doc_id, status="verified", superseded_by=None))
    verified = get(client, workspace, doc_id)
    refused = change(client, workspace, doc_id, status="draft")

    assert outdated["metadata"].items() >= mark.items()
    assert (verified["metadata"]["status"], verified["overrides"]) == ("verified", {"status": "verified"})
    assert refused.status_code == 400
