"""Quarantine over HTTP: files that crash every parser are listed, retried and deleted."""

from dataclasses import replace

import pytest

from ingest.jobs.items import worker, writer
from ingest.jobs.items.worker import digester_pool
from ingest.models import Job, Unreadable
from kebab.identity.models import AuditEvent
from search.corpus.blobs import has_blob
from search.models import Document, SourceVersion
from tests.api.refusals import refusal_of
from tests.support.api import Dying, address, folder, post_text, quarantine, run

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def synced_folder(client, workspace, tmp_path, settings):
    """Return a synced folder source, one file of which is now in quarantine."""
    root = folder(settings, tmp_path, a_md="# A\n\nfirst\n", b_md="# B\n\nsecond\n")
    body = {"key": "docs", "kind": "folder", "config": {"path": str(root)}}
    source = client.post(address(workspace, "/sources"), body, format="json").json()
    run(workspace, client.post(address(workspace, f"/sources/{source['id']}/sync")))
    version = SourceVersion.objects.in_workspace(workspace).get(source=source["id"])
    (root / "bad.md").write_text("# Bad\n")
    return quarantine(workspace, version, "bad.md", b"# Bad\n")


@pytest.fixture
def failing(monkeypatch):
    """Make every file end in quarantine."""
    with monkeypatch.context() as patched:
        patched.setattr(worker, "digester_pool", Dying)
        yield patched


def sync(client, workspace, entry):
    return run(workspace, client.post(address(workspace, f"/sources/{entry.version.source_id}/sync")))


def list_entries(client, workspace, query=""):
    return client.get(address(workspace, f"/quarantine{query}")).json()["results"]


def retry(client, workspace, entry):
    return client.post(address(workspace, f"/quarantine/{entry.pk}/retry"))


def delete(client, workspace, entry):
    return client.delete(address(workspace, f"/quarantine/{entry.pk}"))


def refused_upload(client, workspace, text):
    """Upload a document that no parser survives; return its entry."""
    job = run(workspace, post_text(client, workspace, "a.md", text=text))
    assert job.counts["failed"] == {"quarantined": 1}
    return Unreadable.objects.in_workspace(workspace).get(content_hash=job.payload["blob"])


def version_of(workspace, job):
    return SourceVersion.objects.in_workspace(workspace).get(source=job.source_id, tag="")


def test_unreadable_files_are_listed_by_source(reader, workspace, synced_folder):
    (entry,) = list_entries(reader, workspace)
    shown = (entry["source"], entry["version"], entry["path"], entry["size_bytes"])
    assert shown == ("docs", "", "bad.md", 6)
    assert (entry["reason"], entry["parser_version"]) == (synced_folder.detail, synced_folder.parser_version)

    source_id = synced_folder.version.source_id
    for query, n in (("?source=docs", 1), ("?source=uploads", 0), (f"?source={source_id}", 1)):
        assert len(list_entries(reader, workspace, query)) == n


def test_refused_uploads_are_listed_with_advice_and_forgotten(client, workspace):
    job = run(workspace, post_text(client, workspace, "a.md", text="%PDF-1.7 cut off"))
    (entry,) = list_entries(client, workspace, "?state=refused")
    assert job.counts["skipped"] == {entry["code"]: 1}
    assert (entry["state"], entry["path"]) == ("refused", "a.md")
    assert entry["reason"] and entry["advice"]
    assert list_entries(client, workspace, "?state=quarantined") == []
    # Its bytes are not kept.
    assert client.post(address(workspace, f"/quarantine/{entry['id']}/retry")).status_code == 409
    assert client.delete(address(workspace, f"/quarantine/{entry['id']}")).status_code == 204
    assert list_entries(client, workspace) == []


def test_sync_skips_quarantined_content_under_any_name(client, workspace, synced_folder):
    job = sync(client, workspace, synced_folder)
    assert (job.state, job.counts["failed"], job.calls) == ("succeeded", {"quarantined": 1}, 0)
    assert len(list_entries(client, workspace)) == 1

    Unreadable.objects.in_workspace(workspace).update(path="elsewhere.md")
    job = sync(client, workspace, synced_folder)
    assert (job.counts["failed"], job.calls) == ({"quarantined": 1}, 0)


@pytest.mark.parametrize("changed", [{"content_hash": "0" * 32}, {"parser_version": "markdown/0+text/0"}])
def test_changed_content_or_parser_is_tried_again(client, workspace, synced_folder, changed):
    Unreadable.objects.in_workspace(workspace).update(**changed)
    job = sync(client, workspace, synced_folder)

    assert (job.counts["new"], job.counts["failed"], job.calls) == (1, {}, 1)
    assert list_entries(client, workspace) == []


def test_retry_reads_the_file_and_nothing_else(client, workspace, synced_folder):
    answer = retry(client, workspace, synced_folder)
    job = run(workspace, answer)

    assert answer.status_code == 202
    assert (job.counts["new"], job.counts["unchanged"], job.calls) == (1, 0, 1)
    assert list_entries(client, workspace) == []
    assert AuditEvent.objects.filter(action="quarantine.retried", subject=str(synced_folder.pk)).count() == 1


def test_retry_of_an_upload_keeps_its_fields_and_version(client, workspace):
    job = run(workspace, post_text(client, workspace, "a.md", title="Stated"))
    run(workspace, post_text(client, workspace, "a.md", version="v2"))
    entry = quarantine(workspace, version_of(workspace, job), "a.md")
    Unreadable.objects.in_workspace(workspace).update(content_hash=job.payload["blob"])
    again = run(workspace, retry(client, workspace, entry))

    assert (again.state, again.counts["failed"]) == ("succeeded", {})
    assert (again.payload["title"], again.payload["version"]) == ("Stated", "")


def test_same_upload_is_not_parsed_again_but_its_retry_is(client, workspace):
    job = run(workspace, post_text(client, workspace, "a.md", text="# Once\n"))
    quarantine(workspace, version_of(workspace, job), "other.md", b"# Twice\n")
    failed = run(workspace, post_text(client, workspace, "b.md", text="# Twice\n"))
    again = client.post(address(workspace, f"/jobs/{failed.pk}/retry"))

    assert (failed.counts["failed"], failed.calls) == ({"quarantined": 1}, 0)
    assert run(workspace, again).counts["new"] == 1


def test_upload_without_its_job_is_not_retried(client, workspace):
    job = run(workspace, post_text(client, workspace, "a.md"))
    entry = quarantine(workspace, version_of(workspace, job), "gone.md")
    assert retry(client, workspace, entry).status_code == 409


def test_failed_retry_stays_in_quarantine(client, workspace, synced_folder, failing):
    before = list_entries(client, workspace)[0]["reason"]
    job = run(workspace, retry(client, workspace, synced_folder))

    assert job.counts["failed"] == {"quarantined": 1}
    (entry,) = list_entries(client, workspace)
    assert entry["reason"] != before


def test_document_that_postgres_refuses_is_listed_retried_and_deleted(client, workspace, monkeypatch):
    draft = writer.document_draft

    def unstorable(path):
        with monkeypatch.context() as patched:
            patched.setattr(writer, "document_draft", lambda *a, **b: replace(draft(*a, **b), mime="x" * 300))
            job = run(workspace, post_text(client, workspace, path, text=f"# {path}\n"))
        assert job.counts["failed"] == {"unstorable": 1}
        return Unreadable.objects.in_workspace(workspace).get()

    entry = unstorable("a.md")
    assert [entry["path"] for entry in list_entries(client, workspace)] == ["a.md"]
    assert run(workspace, retry(client, workspace, entry)).counts["new"] == 1
    assert list_entries(client, workspace) == []
    entry = unstorable("b.md")
    assert delete(client, workspace, entry).status_code == 204
    assert not has_blob(workspace.pk, entry.content_hash)


def test_upload_is_deleted_from_quarantine_with_its_bytes(client, workspace, failing):
    entry = refused_upload(client, workspace, "# Secret\n")

    assert delete(client, workspace, entry).status_code == 204
    assert list_entries(client, workspace) == []
    assert not has_blob(workspace.pk, entry.content_hash)
    assert delete(client, workspace, entry).status_code == 404
    (event,) = AuditEvent.objects.filter(action="quarantine.deleted")
    assert (event.subject, event.detail) == (str(entry.pk), {"source": "uploads", "path": "a.md"})


def test_upload_is_deleted_though_its_bytes_are_out_of_reach(client, workspace, failing, monkeypatch, caplog):
    def is_away(*_):
        raise OSError(111, "the bucket is away")

    entry = refused_upload(client, workspace, "# Secret\n")
    monkeypatch.setattr("ingest.jobs.items.quarantine.release_blobs", is_away)
    assert delete(client, workspace, entry).status_code == 204
    assert list_entries(client, workspace) == []
    assert "the bucket is away" in caplog.text


def test_document_that_an_upload_was_to_replace_stays(client, workspace, failing):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(worker, "digester_pool", digester_pool)
        first = run(workspace, post_text(client, workspace, "a.md", text="# First\n"))
    entry = refused_upload(client, workspace, "# Second\n")

    assert delete(client, workspace, entry).status_code == 204
    assert not has_blob(workspace.pk, entry.content_hash)
    assert has_blob(workspace.pk, first.payload["blob"])
    assert Document.objects.in_workspace(workspace).get().content_hash == first.payload["blob"]


def test_deleted_upload_is_not_retried_and_others_to_its_path_are(client, workspace, failing):
    entry = refused_upload(client, workspace, "# Secret\n")
    again = retry(client, workspace, entry).json()["job"]["id"]
    other = post_text(client, workspace, "a.md", text="# Other\n")
    delete(client, workspace, entry)
    failing.undo()

    assert Job.objects.in_workspace(workspace).get(pk=again).state == "cancelled"
    assert not has_blob(workspace.pk, entry.content_hash)
    assert run(workspace, other).counts["new"] == 1


def test_file_of_a_synced_source_is_not_deleted(client, workspace, synced_folder):
    assert refusal_of(delete(client, workspace, synced_folder)) == (409, "file_of_source", None)
    assert len(list_entries(client, workspace)) == 1
