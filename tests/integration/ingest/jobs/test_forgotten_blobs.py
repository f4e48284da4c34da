"""Bytes that nobody let go of, because a worker was killed before it could: they go within hours."""

from pathlib import Path

import pytest
from django.core.files.storage import default_storage

from ingest.connectors.git.place import Place
from ingest.jobs import delete_source, writing
from ingest.jobs.request import cancel, request_archive, request_source_deletion
from ingest.models import Job, JobItem, Unreadable, WebPage
from ingest.tasks import release_expired_task
from search import blobs
from search.blobs import blob_name, has_blob, keep_blob
from search.corpus import ensure_source, ensure_version
from search.identifiers import content_hash
from search.models import Source
from tests.support.api import quarantine
from tests.support.jobs import fill, grow_old, sync, upload, work

CONTENT = b"# Alpha\n\nSome text.\n"


def area(workspace):
    return ensure_source(workspace, "uploads", kind="upload")


def archive_item(workspace, job_state, item_state, archive_blob, blob):
    ended = {"state": job_state, "finished_at": "2026-01-01T00:00:00Z"} if job_state != "queued" else {}
    job = request_archive(area(workspace), {"prefix": "", "archive": "a.zip", "blob": archive_blob})
    JobItem.objects.create(
        workspace=workspace, job=job, path="a.md", action="ingest", state=item_state, blob=blob
    )
    Job.objects.filter(pk=job.pk).update(**ended)


def in_a_document(workspace, blob):
    assert work(upload(workspace, "a.md", CONTENT)).counts["new"] == 1


def in_a_waiting_upload(workspace, blob):
    upload(workspace, "a.md", CONTENT)


def in_a_cancelled_upload(workspace, blob):
    cancel(upload(workspace, "a.md", CONTENT))


def in_a_failed_upload(workspace, blob):
    job = cancel(upload(workspace, "a.md", CONTENT))
    job.items.update(state="failed")
    Job.objects.filter(pk=job.pk).update(state="succeeded")


def in_a_waiting_archive(workspace, blob):
    archive_item(workspace, "queued", "pending", "0" * 64, blob)


def in_a_failed_archive(workspace, blob):
    archive_item(workspace, "failed", "pending", blob, "0" * 64)


def in_a_failed_member(workspace, blob):
    archive_item(workspace, "succeeded", "failed", "0" * 64, blob)


def in_a_member_of_a_cancelled_retry(workspace, blob):
    archive_item(workspace, "cancelled", "pending", "", blob)


def in_quarantine(workspace, blob):
    quarantine(workspace, ensure_version(area(workspace)), "a.md", CONTENT)


def in_a_page(workspace, blob):
    site = ensure_source(workspace, "site", kind="web", config={"url": "https://example.org/"})
    WebPage.objects.create(workspace=workspace, source=site, key="/a", url="", path="a", content_hash=blob)


@pytest.fixture
def _kept_long(settings):
    settings.KEBAB_KEEP_UPLOAD_DAYS = 100_000


@pytest.mark.usefixtures("_kept_long")
@pytest.mark.parametrize(
    "need",
    [
        in_a_document,
        in_a_waiting_upload,
        in_a_cancelled_upload,
        in_a_failed_upload,
        in_a_waiting_archive,
        in_a_failed_archive,
        in_a_failed_member,
        in_a_member_of_a_cancelled_retry,
        in_quarantine,
        in_a_page,
    ],
)
def test_old_bytes_that_something_needs_stay(workspace, need):
    blob = keep_blob(workspace.pk, CONTENT)
    need(workspace, blob)
    other = keep_blob(workspace.pk, b"nothing needs it")
    grow_old(workspace)
    release_expired_task()
    assert (has_blob(workspace.pk, blob), has_blob(workspace.pk, other)) == (True, False)


@pytest.mark.usefixtures("_kept_long")
def test_old_members_of_an_archive_that_is_kept_itself_go(workspace):
    blob = keep_blob(workspace.pk, CONTENT)
    archive_item(workspace, "cancelled", "pending", "0" * 64, blob)
    grow_old(workspace)
    release_expired_task()
    assert not has_blob(workspace.pk, blob)


def test_only_what_is_an_hour_old_is_forgotten(workspace, monkeypatch):
    monkeypatch.setattr(blobs, "_NAMES", 1)
    old = [keep_blob(workspace.pk, b"%d" % number) for number in range(20)]
    grow_old(workspace)
    new = keep_blob(workspace.pk, CONTENT)
    release_expired_task()
    assert not any(has_blob(workspace.pk, blob) for blob in old)
    assert has_blob(workspace.pk, new)


def test_what_a_killed_writer_left_half_written_goes(workspace):
    name = blob_name(workspace.pk, keep_blob(workspace.pk, CONTENT))
    draft = Path(default_storage.path(f"{name}.{'0' * 32}.tmp"))
    Path(default_storage.path(name)).rename(draft)
    grow_old(workspace)
    release_expired_task()
    assert not draft.exists()


def test_replaced_bytes_go_though_the_worker_was_killed_after_its_commit(
    workspace, folder, source, monkeypatch
):
    fill(folder, {"a.md": CONTENT})
    sync(source)
    with monkeypatch.context() as killed:
        killed.setattr(writing, "release_blobs", lambda *_: 0)
        fill(folder, {"a.md": b"# New\n"})
        assert sync(source)["updated"] == 1
    grow_old(workspace)
    assert has_blob(workspace.pk, content_hash(CONTENT))
    release_expired_task()
    assert not has_blob(workspace.pk, content_hash(CONTENT))
    assert has_blob(workspace.pk, content_hash(b"# New\n"))


def test_a_repository_goes_though_the_worker_was_killed_after_its_source_was_deleted(
    workspace, source, monkeypatch
):
    class Killed(BaseException):
        pass

    def die(*_):
        raise Killed

    copy = Place.of(workspace.pk, source.pk).git_dir
    copy.mkdir(parents=True)
    job = request_source_deletion(source)
    with monkeypatch.context() as patched:
        patched.setattr(delete_source, "remove_repository", die)
        with pytest.raises(Killed):
            work(job)
    assert not Source.objects.exists()
    Job.objects.filter(pk=job.pk).update(lease_until=job.created_at)
    assert work(job).state == "succeeded"
    assert not copy.exists()


def test_a_source_goes_whose_uploads_bytes_are_gone_before_it(workspace):
    job = cancel(upload(workspace, "a.md", CONTENT))
    Job.objects.filter(pk=job.pk).update(payload={**job.payload, "blob": ""})
    keep_blob(workspace.pk, b"of something else")
    assert work(request_source_deletion(area(workspace))).state == "succeeded"
    assert not Unreadable.objects.exists()
