"""The quarantine over HTTP: files that every parser died of, trying them again, and forgetting them."""

from dataclasses import replace

import pytest

from ingest.jobs import items, writing
from ingest.jobs.parsing import digester_pool
from ingest.models import Job, Unreadable
from kebab.people.models import AuditEvent
from search.blobs import has_blob
from search.models import Document, SourceVersion
from tests.support.actors import Role, make_member, person_client, token_client
from tests.support.api import Dying, address, folder, post_text, quarantine, run, run_to_end

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def synced(client, workspace, tmp_path, settings):
    """A folder that was read, with one file in quarantine since."""
    root = folder(settings, tmp_path, a_md="# A\n\nfirst\n", b_md="# B\n\nsecond\n")
    body = {"key": "docs", "kind": "folder", "config": {"path": str(root)}}
    source = client.post(address(workspace, "/sources"), body, format="json").json()
    run(workspace, client.post(address(workspace, f"/sources/{source['id']}/sync")))
    version = SourceVersion.objects.in_workspace(workspace).get(source=source["id"])
    (root / "bad.md").write_text("# Bad\n")
    return quarantine(workspace, version, "bad.md", b"# Bad\n")


def sync(client, workspace, entry):
    return run(workspace, client.post(address(workspace, f"/sources/{entry.version.source_id}/sync")))


def listed(client, workspace, query=""):
    return client.get(address(workspace, f"/quarantine{query}")).json()["results"]


def retry(client, workspace, entry):
    return client.post(address(workspace, f"/quarantine/{entry.pk}/retry"))


def test_quarantined_files_are_listed_with_their_reason(reader, workspace, synced):
    (entry,) = listed(reader, workspace)

    assert (entry["source"], entry["version"], entry["path"], entry["size_bytes"]) == (
        "docs",
        "",
        "bad.md",
        6,
    )
    assert entry["reason"] == "every parser failed on it: attempt 1: it took over 30 s"
    assert entry["parser_version"] == synced.parser_version


def test_files_that_no_parser_reads_are_not_in_quarantine(reader, workspace, synced):
    Unreadable.objects.in_workspace(workspace).update(is_quarantined=False, reason="no_parser")

    assert listed(reader, workspace) == []


@pytest.mark.parametrize(("query", "n"), [("?source=docs", 1), ("?source=uploads", 0), ("?source={id}", 1)])
def test_the_list_can_be_narrowed_to_sources(reader, workspace, synced, query, n):
    assert len(listed(reader, workspace, query.format(id=synced.version.source_id))) == n


def test_a_sync_leaves_quarantined_content_alone(client, workspace, synced):
    job = sync(client, workspace, synced)

    assert (job.state, job.counts["failed"], job.calls) == ("succeeded", {"quarantined": 1}, 0)
    assert len(listed(client, workspace)) == 1


def test_the_same_content_under_another_name_is_left_alone_too(client, workspace, synced):
    Unreadable.objects.in_workspace(workspace).update(path="elsewhere.md")
    job = sync(client, workspace, synced)

    assert (job.counts["failed"], job.calls) == ({"quarantined": 1}, 0)


@pytest.mark.parametrize("changed", [{"content_hash": "0" * 32}, {"parser_version": "markdown/0+text/0"}])
def test_a_file_is_tried_again_when_its_content_or_a_parser_has_changed(client, workspace, synced, changed):
    Unreadable.objects.in_workspace(workspace).update(**changed)
    job = sync(client, workspace, synced)

    assert (job.counts["new"], job.counts["failed"], job.calls) == (1, {}, 1)
    assert listed(client, workspace) == []


def test_a_retry_reads_the_file_and_nothing_else(client, workspace, synced):
    answer = retry(client, workspace, synced)
    job = run(workspace, answer)

    assert answer.status_code == 202
    assert (job.counts["new"], job.counts["unchanged"], job.calls) == (1, 0, 1)
    assert listed(client, workspace) == []
    assert AuditEvent.objects.filter(action="quarantine.retried", subject=str(synced.pk)).count() == 1


def test_an_upload_in_quarantine_is_tried_again_with_what_was_stated(client, workspace):
    job = run(workspace, post_text(client, workspace, "a.md", title="Stated"))
    version = SourceVersion.objects.in_workspace(workspace).get(source=job.source_id)
    entry = quarantine(workspace, version, "a.md")
    Unreadable.objects.in_workspace(workspace).update(content_hash=job.payload["blob"])
    again = run(workspace, retry(client, workspace, entry))

    assert (again.state, again.payload["title"], again.counts["failed"]) == ("succeeded", "Stated", {})


def test_the_same_upload_is_not_parsed_again_but_its_retry_is(client, workspace):
    job = run(workspace, post_text(client, workspace, "a.md", text="# Once\n"))
    version = SourceVersion.objects.in_workspace(workspace).get(source=job.source_id)
    quarantine(workspace, version, "other.md", b"# Twice\n")
    refused = run(workspace, post_text(client, workspace, "b.md", text="# Twice\n"))
    again = client.post(address(workspace, f"/jobs/{refused.pk}/retry"))

    assert (refused.counts["failed"], refused.calls) == ({"quarantined": 1}, 0)
    assert run(workspace, again).counts["new"] == 1


def test_an_upload_whose_job_is_gone_is_to_be_uploaded_again(client, workspace):
    job = run(workspace, post_text(client, workspace, "a.md"))
    version = SourceVersion.objects.in_workspace(workspace).get(source=job.source_id)
    answer = retry(client, workspace, quarantine(workspace, version, "gone.md"))

    assert answer.status_code == 409
    assert "upload it again" in answer.json()["detail"]


def test_only_editors_and_ingest_tokens_try_again_or_delete(workspace, synced):
    for caller in (person_client(make_member(workspace, Role.VIEWER)), token_client(workspace, "search")):
        assert retry(caller, workspace, synced).status_code == 403
        assert delete(caller, workspace, synced).status_code == 403
        assert len(listed(caller, workspace)) == 1
    assert not Job.objects.in_workspace(workspace).filter(payload__has_key="only_paths").exists()


def test_a_retry_goes_to_the_version_that_the_upload_was_for(client, workspace):
    job = run(workspace, post_text(client, workspace, "a.md"))
    version = SourceVersion.objects.in_workspace(workspace).get(source=job.source_id)
    run(workspace, post_text(client, workspace, "a.md", version="v2"))
    entry = quarantine(workspace, version, "a.md")
    Unreadable.objects.in_workspace(workspace).update(content_hash=job.payload["blob"])

    assert run(workspace, retry(client, workspace, entry)).payload["version"] == ""


@pytest.fixture
def failing(monkeypatch):
    """Have every file end in quarantine."""
    with monkeypatch.context() as patched:
        patched.setattr(items, "digester_pool", Dying)
        yield patched


def test_a_retry_that_fails_stays_in_quarantine(client, workspace, synced, failing):
    job = run_to_end(
        Job.objects.in_workspace(workspace).get(pk=retry(client, workspace, synced).json()["job"]["id"])
    )

    assert job.counts["failed"] == {"quarantined": 1}
    assert [entry["reason"] for entry in listed(client, workspace)] == ["every parser failed on it: again"]


@pytest.fixture
def unstorable(client, workspace, monkeypatch):
    """An upload that Postgres takes nothing of."""
    draft = writing.document_draft
    with monkeypatch.context() as patched:
        patched.setattr(writing, "document_draft", lambda *a, **b: replace(draft(*a, **b), mime="x" * 300))
        job = run(workspace, post_text(client, workspace, "a.md"))
    assert job.counts["failed"] == {"unstorable": 1}
    return Unreadable.objects.in_workspace(workspace).get()


def test_what_postgres_refuses_is_listed_and_tried_again(client, workspace, unstorable):
    assert [entry["path"] for entry in listed(client, workspace)] == ["a.md"]
    assert run(workspace, retry(client, workspace, unstorable)).counts["new"] == 1
    assert listed(client, workspace) == []


def test_what_postgres_refuses_can_be_forgotten(client, workspace, unstorable):
    assert delete(client, workspace, unstorable).status_code == 204
    assert not has_blob(workspace.pk, unstorable.content_hash)


def delete(client, workspace, entry):
    return client.delete(address(workspace, f"/quarantine/{entry.pk}"))


def refused_upload(client, workspace, text):
    """Upload a document that no parser survives; give its entry."""
    job = run(workspace, post_text(client, workspace, "a.md", text=text))
    assert job.counts["failed"] == {"quarantined": 1}
    return Unreadable.objects.in_workspace(workspace).get(content_hash=job.payload["blob"])


def test_an_upload_is_deleted_from_quarantine_with_its_bytes(client, workspace, failing):
    entry = refused_upload(client, workspace, "# Secret\n")

    assert delete(client, workspace, entry).status_code == 204
    assert listed(client, workspace) == []
    assert not has_blob(workspace.pk, entry.content_hash)
    assert delete(client, workspace, entry).status_code == 404
    (event,) = AuditEvent.objects.filter(action="quarantine.deleted")
    assert (event.subject, event.detail) == (str(entry.pk), {"source": "uploads", "path": "a.md"})


def test_an_upload_leaves_quarantine_though_its_bytes_can_not_be_reached(
    client, workspace, failing, monkeypatch, caplog
):
    def is_away(*_):
        raise OSError(111, "the bucket is away")

    entry = refused_upload(client, workspace, "# Secret\n")
    with monkeypatch.context() as patched:
        patched.setattr("ingest.jobs.quarantine.release_blobs", is_away)
        assert delete(client, workspace, entry).status_code == 204

    assert listed(client, workspace) == []
    assert "the bucket is away" in caplog.text


def test_the_document_that_an_upload_was_to_replace_stays(client, workspace, failing):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(items, "digester_pool", digester_pool)
        first = run(workspace, post_text(client, workspace, "a.md", text="# First\n"))
    entry = refused_upload(client, workspace, "# Second\n")

    assert delete(client, workspace, entry).status_code == 204
    assert not has_blob(workspace.pk, entry.content_hash)
    assert has_blob(workspace.pk, first.payload["blob"])
    assert Document.objects.in_workspace(workspace).get().content_hash == first.payload["blob"]


def test_a_deleted_upload_is_not_tried_again_and_others_to_its_path_are(client, workspace, failing):
    entry = refused_upload(client, workspace, "# Secret\n")
    again = retry(client, workspace, entry).json()["job"]["id"]
    other = post_text(client, workspace, "a.md", text="# Other\n")
    delete(client, workspace, entry)
    failing.undo()

    assert Job.objects.in_workspace(workspace).get(pk=again).state == "cancelled"
    assert not has_blob(workspace.pk, entry.content_hash)
    assert run(workspace, other).counts["new"] == 1


def test_the_file_of_a_source_that_is_synced_is_deleted_there(client, workspace, synced):
    refused = delete(client, workspace, synced)

    assert (refused.status_code, refused.json()["code"]) == (409, "file_of_source")
    assert len(listed(client, workspace)) == 1
