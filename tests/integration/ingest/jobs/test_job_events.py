"""Events about jobs and the files that they refuse, in the transactions that end them."""

import json
import zipfile

import pytest

from ingest.jobs.queue.request import cancel, request_archive, request_sync
from kebab.webhooks.models import Delivery
from search.corpus import ensure_source
from search.corpus.blobs import store_blob
from search.corpus.content_ids import document_id
from tests.support.archives import zip_of
from tests.support.jobs import PICTURE, Killed, die, expire, fill, upload, work
from tests.support.webhooks import make_endpoint


@pytest.fixture
def events(workspace):
    endpoint = make_endpoint(workspace, "https://hooks.example.org/", "job.finished", "job.failed")

    def events():
        rows = Delivery.objects.filter(endpoint=endpoint).order_by("id")
        facts = [(row.type, json.loads(row.body)["data"]) for row in rows]
        return [(type_, fact["job"], fact["state"]) for type_, fact in facts if fact["kind"] != "embed"]

    return events


def test_end_of_a_job_queues_one_event(workspace, source, folder, events):
    fill(folder, {"a.md": "text\n"})
    done = work(request_sync(source))
    cancelled = cancel(upload(workspace, "a.md", b"text"))
    folder.rename(folder.parent / "away")
    failed = work(request_sync(source))

    assert events() == [
        ("job.finished", str(done.pk), "succeeded"),
        ("job.finished", str(cancelled.pk), "cancelled"),
        ("job.failed", str(failed.pk), "failed"),
    ]


def test_worker_killed_before_the_end_of_a_job_queues_no_event(
    workspace, source, folder, events, monkeypatch
):
    fill(folder, {"a.md": "text\n"})
    job = request_sync(source)
    with monkeypatch.context() as patched:
        patched.setattr("ingest.jobs.queue.run.partial", die)  # called just after the event is queued
        with pytest.raises(Killed):
            work(job)
    assert events() == []
    expire(job)
    assert work(job).state == "succeeded"
    assert events() == [("job.finished", str(job.pk), "succeeded")]


@pytest.fixture
def refusals(workspace):
    """Return (path, reason) of the events about refused files, and the `refused` of ended jobs."""
    endpoint = make_endpoint(workspace, "https://hooks.example.org/", "document.refused", "job.finished")

    def refusals():
        rows = Delivery.objects.filter(endpoint=endpoint).order_by("id")
        facts = [json.loads(row.body)["data"] for row in rows]
        files = [(fact["path"], fact["reason"]) for fact in facts if "reason" in fact]
        return files, [fact["refused"] for fact in facts if fact.get("kind", "embed") != "embed"]

    return refusals


def test_refused_upload_has_an_event_with_its_reason(workspace):
    endpoint = make_endpoint(workspace, "https://hooks.example.org/", "document.refused")
    job = work(upload(workspace, "in/b.psd", PICTURE))

    body = json.loads(Delivery.objects.get(endpoint=endpoint).body)
    assert body["data"].pop("detail")
    assert (body["type"], body["data"]) == (
        "document.refused",
        {
            "document": document_id(workspace.corpus_id, "uploads", "", "in/b.psd").hex,
            "job": str(job.pk),
            "source": "uploads",
            "version": None,
            "path": "in/b.psd",
            "reason": "no_parser",
        },
    )


def test_empty_upload_is_refused(workspace, refusals):
    work(upload(workspace, "a.md", b""))
    assert refusals() == ([("a.md", "empty")], [{"empty": 1}])


def test_sync_tells_of_a_refused_file_once_and_counts_it_each_time(source, folder, refusals):
    fill(folder, {"a.md": "text\n", "b.psd": PICTURE, "empty.md": "", "node_modules/c.js": "1"})
    work(request_sync(source))
    work(request_sync(source))
    assert refusals() == ([("b.psd", "no_parser")], [{"no_parser": 1}, {"no_parser": 1}])


def test_archive_tells_of_members_that_no_item_is_made_of(workspace, refusals):
    content = zip_of({"a.md": "text", "b.psd": PICTURE, "damaged.md": "x" * 99}, zipfile.ZIP_STORED)
    blob = store_blob(workspace.pk, content.replace(b"x" * 99, b"y" * 99))  # its checksum is wrong
    area = ensure_source(workspace, "uploads", kind="upload")
    work(request_archive(area, {"archive": "all.zip", "prefix": "in/", "version": "", "blob": blob}))

    files, counted = refusals()
    assert sorted(files) == [("in/b.psd", "no_parser"), ("in/damaged.md", "broken_member")]
    assert counted == [{"no_parser": 1, "broken_member": 1}]
