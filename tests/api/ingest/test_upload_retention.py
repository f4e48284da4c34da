"""Uploaded bytes without a document are kept while a retry may need them."""

import random
import threading
from datetime import timedelta

import pytest
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import connection

from ingest.blob_cleanup import release_blobs
from ingest.jobs.items import worker
from ingest.jobs.queue.request import cancel, request_version_deletion
from ingest.jobs.queue.retention import release_expired
from ingest.models import Job, Unreadable
from kebab.people.operator import command_line_access
from kebab.people.workspaces import delete_workspace
from kebab.tenancy.current_workspace import acting_everywhere
from search.corpus.blobs import blob_name, has_blob
from search.models import Document, Source
from tests.api.archives import post_archive
from tests.api.refusals import refusal_of
from tests.support.api import Dying, address, post_text, run, run_to_end
from tests.support.archives import tar_of, zip_of
from tests.support.concurrency import until_blocked
from tests.support.jobs import upload as upload_anything

pytestmark = pytest.mark.django_db(transaction=True)

NOISE = random.Random(1).randbytes(5_000)


@pytest.fixture
def failing(monkeypatch):
    """Make every file end in quarantine."""
    with monkeypatch.context() as patched:
        patched.setattr(worker, "digester_pool", Dying)
        yield patched


def pass_days(days):
    """Move the end of all finished jobs into the past by days."""
    for job in Job.objects.exclude(finished_at=None):
        Job.objects.filter(pk=job.pk).update(finished_at=job.finished_at - timedelta(days=days))


def post_retry(client, workspace, job):
    return client.post(address(workspace, f"/jobs/{job.pk}/retry"))


def failed_archive(client, workspace):
    bomb = tar_of({"zeros.md": bytes(30_000_000)}, "w:gz")
    return run(workspace, post_archive(client, workspace, bomb, "docs.tgz"))


def cancelled_archive(client, workspace):
    answer = post_archive(client, workspace, zip_of({"a.md": "# A\n"}))
    return cancel(Job.objects.get(pk=answer.json()["job"]["id"]))


def cancelled_document(client, workspace):
    return cancel(Job.objects.get(pk=post_text(client, workspace).json()["job"]["id"]))


@pytest.mark.parametrize("make", [failed_archive, cancelled_archive, cancelled_document])
def test_bytes_are_kept_for_a_retry_until_they_expire(client, workspace, settings, make):
    settings.KEBAB_KEEP_UPLOAD_DAYS = 3
    job = make(client, workspace)
    blob = job.payload["blob"]
    pass_days(2)
    assert (release_expired(), has_blob(workspace.pk, blob)) == (0, True)
    pass_days(2)
    assert (release_expired(), has_blob(workspace.pk, blob)) == (1, False)
    assert release_expired() == 0
    response = post_retry(client, workspace, job)
    assert refusal_of(response)[0] == 409
    assert "3 days" in response.json()["detail"]


@pytest.mark.parametrize("make", [cancelled_archive, cancelled_document])
def test_retry_is_refused_when_the_bytes_are_gone(client, workspace, make):
    job = make(client, workspace)
    default_storage.delete(blob_name(workspace.pk, job.payload["blob"]))
    assert post_retry(client, workspace, job).status_code == 409
    assert Job.objects.count() == 1


def test_bytes_deleted_with_an_equal_document_are_not_retried(client, workspace):
    job = cancelled_document(client, workspace)
    document = run(workspace, post_text(client, workspace, "other.md"))
    gone = client.delete(address(workspace, f"/documents/{Document.objects.get().doc_id.hex}"))

    assert gone.status_code == 204
    assert not has_blob(workspace.pk, document.payload["blob"])
    assert post_retry(client, workspace, job).status_code == 409


def test_retry_waits_for_a_release_of_its_bytes(client, workspace, monkeypatch):
    job = cancelled_document(client, workspace)
    answers = []
    delete = FileSystemStorage.delete

    @acting_everywhere()
    def retry_it():
        try:
            answers.append(post_retry(client, workspace, job))
        finally:
            connection.close()

    retrying = threading.Thread(target=retry_it)

    def delete_late(storage, name):
        if retrying.ident is None:
            retrying.start()
            until_blocked()
        delete(storage, name)

    monkeypatch.setattr(FileSystemStorage, "delete", delete_late)
    release_blobs(workspace.pk, [job.payload["blob"]])
    retrying.join(60)
    assert [answer.status_code for answer in answers] == [409]


def test_retry_protects_the_bytes_that_it_needs(client, workspace):
    job = cancelled_document(client, workspace)
    again = post_retry(client, workspace, job)
    pass_days(8)
    assert release_expired() == 1
    assert has_blob(workspace.pk, job.payload["blob"])
    assert run(workspace, again).state == "succeeded"
    assert Document.objects.get().content_hash == job.payload["blob"]


def test_bytes_of_skipped_uploads_are_deleted_when_the_job_ends(client, workspace):
    job = run(workspace, post_archive(client, workspace, NOISE, "a.bin"))
    assert job.counts["skipped"] == {"no_parser": 1}
    assert not has_blob(workspace.pk, job.payload["blob"])
    assert post_retry(client, workspace, job).status_code == 409

    job = run_to_end(upload_anything(workspace, "a.md", b""))
    assert (job.counts["skipped"], job.calls) == ({"empty": 1}, 0)
    assert not has_blob(workspace.pk, job.payload["blob"])


def test_failed_member_is_kept_for_a_retry_until_it_expires(client, workspace, failing):
    job = run(workspace, post_archive(client, workspace, zip_of({"a.md": "# A\n"})))
    blob = job.items.get().blob
    job.items.update(reason="killed_its_worker")
    Unreadable.objects.all().delete()
    pass_days(6)
    assert (release_expired(), has_blob(workspace.pk, blob)) == (0, True)
    pass_days(2)
    assert (release_expired(), has_blob(workspace.pk, blob)) == (1, False)
    assert post_retry(client, workspace, job).status_code == 409


@pytest.fixture
def cancelled_retry(client, workspace, failing):
    """Return a retry of an archive's two members that was cancelled while it ran."""
    job = run(workspace, post_archive(client, workspace, zip_of({"a.md": "# A\n", "b.md": "# B\n"})))
    job.items.update(reason="killed_its_worker")
    Unreadable.objects.all().delete()
    failing.undo()
    answer = post_retry(client, workspace, job)
    Job.objects.filter(pk=answer.json()["job"]["id"]).update(cancel_requested=True)
    again = run(workspace, answer)
    assert again.state == "cancelled"
    return again


def test_cancelled_retry_of_members_is_retried(client, workspace, cancelled_retry):
    answer = post_retry(client, workspace, cancelled_retry)
    assert run(workspace, answer).counts["new"] == 2
    assert set(Document.objects.values_list("path", flat=True)) == {"docs/a.md", "docs/b.md"}


def test_member_whose_document_was_deleted_is_not_retried(client, workspace, cancelled_retry):
    cancelled_retry.items.filter(path="docs/a.md").update(action="delete")
    answer = post_retry(client, workspace, cancelled_retry)
    assert run(workspace, answer).counts["new"] == 1
    assert Document.objects.get().path == "docs/b.md"


def test_members_of_a_cancelled_retry_expire(client, workspace, cancelled_retry):
    blobs = list(cancelled_retry.items.values_list("blob", flat=True))
    pass_days(6)
    assert (release_expired(), [has_blob(workspace.pk, blob) for blob in blobs]) == (0, [True, True])
    pass_days(2)
    release_expired()
    assert not any(has_blob(workspace.pk, blob) for blob in blobs)
    assert post_retry(client, workspace, cancelled_retry).status_code == 409
    assert release_expired() == 0


def test_member_whose_bytes_are_gone_fails(client, workspace, cancelled_retry):
    gone = cancelled_retry.items.get(path="docs/a.md")
    default_storage.delete(blob_name(workspace.pk, gone.blob))
    again = run(workspace, post_retry(client, workspace, cancelled_retry))

    assert (again.counts["new"], again.counts["failed"]) == (1, {"unreadable": 1})
    assert again.items.get(path="docs/a.md").detail


@pytest.fixture(params=["document", "archive"])
def quarantined_hash(request, client, workspace, failing):
    """Return the hash of an upload in quarantine."""
    if request.param == "document":
        job = run(workspace, post_text(client, workspace, "docs/a.md", tags=["x"]))
    else:
        packed = zip_of({"a.md": "# A\n"})
        job = run(workspace, post_archive(client, workspace, packed, tags=["x"], path="docs"))
    assert job.counts["failed"] == {"quarantined": 1}
    failing.undo()
    return Unreadable.objects.get().content_hash


def test_quarantined_upload_is_kept_and_retried(
    client, workspace, quarantined_hash, django_assert_num_queries
):
    pass_days(100)
    release_expired()
    with django_assert_num_queries(1):
        assert release_expired() == 0
    assert has_blob(workspace.pk, quarantined_hash)
    answer = client.post(address(workspace, f"/quarantine/{Unreadable.objects.get().pk}/retry"))
    assert run(workspace, answer).counts["new"] == 1
    document = Document.objects.get()
    assert (document.path, document.tags, document.content_hash) == ("docs/a.md", ["x"], quarantined_hash)
    assert not Unreadable.objects.exists()


def test_quarantined_upload_is_not_retried_without_its_bytes(client, workspace, quarantined_hash):
    default_storage.delete(blob_name(workspace.pk, quarantined_hash))
    before = Job.objects.count()
    response = client.post(address(workspace, f"/quarantine/{Unreadable.objects.get().pk}/retry"))
    assert (response.status_code, Job.objects.count()) == (409, before)


def test_quarantined_upload_is_deleted_with_its_source(client, workspace, quarantined_hash):
    run(workspace, client.delete(address(workspace, f"/sources/{Source.objects.get().pk}")))
    assert not Unreadable.objects.exists()
    assert not has_blob(workspace.pk, quarantined_hash)


def test_quarantined_upload_is_deleted_with_its_version(client, workspace, failing):
    run(workspace, post_text(client, workspace, "a.md", version="2"))
    blob = Unreadable.objects.get().content_hash
    run_to_end(request_version_deletion(Source.objects.get(), "2"))
    assert not has_blob(workspace.pk, blob)


def test_quarantined_upload_is_deleted_with_its_workspace(workspace, quarantined_hash):
    workspace_id = workspace.pk
    delete_workspace(command_line_access(workspace))
    assert not has_blob(workspace_id, quarantined_hash)


def test_replaced_upload_leaves_quarantine_with_its_bytes(client, workspace, quarantined_hash):
    assert run(workspace, post_text(client, workspace, "docs/a.md", text="# New\n")).counts["new"] == 1
    assert not Unreadable.objects.exists()
    pass_days(8)
    release_expired()
    assert not has_blob(workspace.pk, quarantined_hash)
