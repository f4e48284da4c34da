"""Unneeded bytes are deleted within hours, including those that a killed worker left."""

from functools import partial
from pathlib import Path

import pytest
from django.core.files.storage import default_storage

from ingest.connectors.git.local_copy import CopyPaths
from ingest.jobs.items import writer
from ingest.jobs.kinds import delete_source
from ingest.jobs.queue.request import cancel, request_archive, request_source_deletion
from ingest.models import Job, JobItem, Unreadable, WebPage
from ingest.tasks import release_expired_task
from search.corpus import blobs, ensure_source, ensure_version
from search.corpus.blobs import blob_name, has_blob, store_blob
from search.corpus.content_ids import content_hash
from search.models import Source
from tests.support.api import quarantine
from tests.support.jobs import Killed, die, expire, fill, grow_old, sync, upload, work

CONTENT = b"# Alpha\n\nSome text.\n"
NO_BLOB = "0" * 64


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


def in_an_upload(workspace, blob, *, is_cancelled, is_failed=False):
    job = upload(workspace, "a.md", CONTENT)
    if is_cancelled:
        cancel(job)
    if is_failed:
        job.items.update(state="failed")
        Job.objects.filter(pk=job.pk).update(state="succeeded")


def in_an_archive(workspace, blob, *, job_state):
    archive_item(workspace, job_state, "pending", blob, NO_BLOB)


def in_a_member(workspace, blob, *, job_state, item_state="pending", archive_blob=NO_BLOB):
    archive_item(workspace, job_state, item_state, archive_blob, blob)


def in_quarantine(workspace, blob):
    quarantine(workspace, ensure_version(area(workspace)), "a.md", CONTENT)


def in_a_page(workspace, blob):
    site = ensure_source(workspace, "site", kind="web", config={"url": "https://example.org/"})
    WebPage.objects.create(workspace=workspace, source=site, key="/a", url="", path="a", content_hash=blob)


@pytest.mark.parametrize(
    "need",
    [
        in_a_document,
        partial(in_an_upload, is_cancelled=False),
        partial(in_an_upload, is_cancelled=True),
        partial(in_an_upload, is_cancelled=True, is_failed=True),
        partial(in_a_member, job_state="queued"),
        partial(in_an_archive, job_state="failed"),
        partial(in_a_member, job_state="succeeded", item_state="failed"),
        partial(in_a_member, job_state="cancelled", archive_blob=""),
        in_quarantine,
        in_a_page,
    ],
)
def test_retention_keeps_old_bytes_still_in_use(workspace, settings, need):
    settings.KEBAB_KEEP_UPLOAD_DAYS = 100_000
    blob = store_blob(workspace.pk, CONTENT)
    need(workspace, blob)
    others = [store_blob(workspace.pk, content) for content in (b"nothing needs it", b"member")]
    in_a_member(workspace, others[1], job_state="cancelled")  # its archive is kept itself
    grow_old(workspace)
    release_expired_task()
    assert has_blob(workspace.pk, blob)
    assert not any(has_blob(workspace.pk, other) for other in others)


def test_only_blobs_and_drafts_of_an_hour_ago_are_deleted(workspace, monkeypatch):
    monkeypatch.setattr(blobs, "_NAMES", 1)
    old = [store_blob(workspace.pk, b"%d" % number) for number in range(20)]
    half_written = Path(default_storage.path(f"{blob_name(workspace.pk, old.pop())}.{'0' * 32}.tmp"))
    half_written.parent.mkdir(parents=True, exist_ok=True)
    half_written.write_bytes(b"half")
    grow_old(workspace)
    new = store_blob(workspace.pk, CONTENT)
    release_expired_task()
    assert not any(has_blob(workspace.pk, blob) for blob in old)
    assert not half_written.exists()
    assert has_blob(workspace.pk, new)


def test_bytes_replaced_by_a_killed_worker_are_deleted(workspace, folder, source, monkeypatch):
    fill(folder, {"a.md": CONTENT})
    sync(source)
    with monkeypatch.context() as killed:
        killed.setattr(writer, "release_blobs", lambda *_: 0)
        fill(folder, {"a.md": b"# New\n"})
        assert sync(source)["updated"] == 1
    grow_old(workspace)
    assert has_blob(workspace.pk, content_hash(CONTENT))
    release_expired_task()
    assert not has_blob(workspace.pk, content_hash(CONTENT))
    assert has_blob(workspace.pk, content_hash(b"# New\n"))


def test_repository_of_a_half_deleted_source_is_deleted(workspace, source, monkeypatch):
    copy = CopyPaths.of(workspace.pk, source.pk).git_dir
    copy.mkdir(parents=True)
    job = request_source_deletion(source)
    with monkeypatch.context() as patched:
        patched.setattr(delete_source, "delete_repository", die)
        with pytest.raises(Killed):
            work(job)
    assert not Source.objects.exists()
    expire(job)
    assert work(job).state == "succeeded"
    assert not copy.exists()


def test_source_is_deleted_when_bytes_of_its_uploads_are_missing(workspace):
    job = cancel(upload(workspace, "a.md", CONTENT))
    Job.objects.filter(pk=job.pk).update(payload={**job.payload, "blob": ""})
    store_blob(workspace.pk, b"of something else")
    assert work(request_source_deletion(area(workspace))).state == "succeeded"
    assert not Unreadable.objects.exists()
