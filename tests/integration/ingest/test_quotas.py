"""Quotas refuse further documents, bytes and jobs; existing documents stay and can be replaced."""

import pytest
from django.utils import timezone

from ingest.jobs.queue.request import request_sync
from ingest.models import Job, Unreadable
from ingest.services.jobs import retry_job
from ingest.services.quarantine import retry_unreadable
from ingest.services.sources import add_version, sync_source
from ingest.services.uploads import Upload, accept_upload
from kebab.errors import RateLimited, TooLarge
from kebab.identity.reader import OPERATOR
from kebab.people.operator import command_line_access
from search.corpus import ensure_source, ensure_version
from search.models import Document
from tests.support.api import quarantine
from tests.support.jobs import counts, fill, sync, work


def limit(workspace, **limits):
    workspace.quota = limits
    workspace.save(update_fields=["quota"])


def request_upload(workspace, path, content):
    upload = Upload(source="uploads", path=path, version="", content=content)
    return accept_upload(workspace, upload, reader=OPERATOR, requested_by="").job


def paths(workspace):
    return set(Document.objects.in_workspace(workspace).values_list("path", flat=True))


def test_upload_beyond_the_documents_or_bytes_is_refused_and_a_replacement_is_not(workspace):
    limit(workspace, documents=1)
    work(request_upload(workspace, "a.md", b"alpha"))
    with pytest.raises(TooLarge, match="1 documents"):
        request_upload(workspace, "b.md", b"beta")
    work(request_upload(workspace, "a.md", b"12345678"))
    limit(workspace, bytes=10)
    with pytest.raises(TooLarge, match="10 bytes"):
        request_upload(workspace, "a.md", b"12345678901")
    work(request_upload(workspace, "a.md", b"1234"))
    work(request_upload(workspace, "b.md", b"123456"))
    assert paths(workspace) == {"a.md", "b.md"}


def test_sync_of_a_full_workspace_adds_nothing_and_updates(workspace, folder, source):
    limit(workspace, documents=2)
    fill(folder, {"a.md": "alpha\n", "b.md": "beta\n", "c.md": "gamma\n"})
    report = sync(source)
    assert (report["new"], report["failed"], report["failed_by_reason"]) == (2, 1, {"over_quota": 1})
    entry = Unreadable.objects.in_workspace(workspace).get()
    assert entry.reason == "over_quota"
    (updated,) = sorted(paths(workspace))[:1]
    fill(folder, {updated: "another text\n"})
    assert counts(sync(source))["updated"] == 1

    limit(workspace, documents=3)
    work(request_sync(source, only_paths=[entry.path]))
    assert paths(workspace) == {"a.md", "b.md", "c.md"}


def test_more_jobs_than_may_wait_are_refused_with_a_time_to_retry(workspace):
    limit(workspace, jobs=2)
    jobs = [request_upload(workspace, f"{name}.md", name.encode()) for name in "ab"]
    with pytest.raises(RateLimited, match="2 jobs") as refused:
        request_upload(workspace, "c.md", b"c")
    assert refused.value.retry_after_s == 30
    work(jobs[0])
    request_upload(workspace, "c.md", b"c")


def failed_job(workspace, **fields):
    return Job.objects.create(workspace=workspace, state="failed", finished_at=timezone.now(), **fields)


def retry_failed_sync(source):
    return retry_job(
        command_line_access(source.workspace), failed_job(source.workspace, kind="sync_source", source=source)
    )


def read_again(source):
    entries = Unreadable.objects.in_workspace(source.workspace)
    entry = entries.first() or quarantine(source.workspace, ensure_version(source), "a.md")
    return retry_unreadable(command_line_access(source.workspace), entry)


def read_as_version(source):
    return add_version(command_line_access(source.workspace), source, tag="v1", title="")


def sync_again(source):
    return sync_source(command_line_access(source.workspace), source)


@pytest.mark.parametrize("ask", [retry_failed_sync, read_again, read_as_version, sync_again])
def test_job_requests_are_refused_at_the_limit_of_waiting_jobs(workspace, source, ask):
    limit(workspace, jobs=1)
    request_upload(workspace, "a.md", b"a")
    with pytest.raises(RateLimited) as refused:
        ask(source)
    assert refused.value.code == "too_many_jobs"
    assert not Job.objects.filter(source=source, state="queued").exists()
    limit(workspace, jobs=2)
    ask(source)
    assert Job.objects.filter(source=source, state="queued").exists()


def test_requests_without_a_counted_job_are_accepted_at_the_limit(workspace):
    limit(workspace, jobs=1)
    request_upload(workspace, "a.md", b"a")
    uploads = ensure_source(workspace, "uploads", kind="upload")
    assert read_as_version(uploads).job is None
    assert retry_job(command_line_access(workspace), failed_job(workspace, kind="embed")).kind == "embed"
