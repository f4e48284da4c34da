"""The end of a job is recorded once; a job that can't be ended is left to the next claim."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from ingest.jobs.items.quarantine import delete_entry
from ingest.jobs.queue import hints, request, run
from ingest.jobs.queue.request import cancel, request_version_deletion
from ingest.jobs.queue.run import run_job
from ingest.models import Job
from kebab.tenancy.current_workspace import acting_everywhere
from search.corpus import ensure_version
from search.libraries import source_stats
from search.models import Source
from tests.support.api import quarantine
from tests.support.concurrency import until_blocked
from tests.support.jobs import upload, work

CONTENT = b"# A\n\ntext\n"


def lose_postgres(*_):
    """End this thread's own connection, as a server restart does."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")


@pytest.fixture
def counted_sources(monkeypatch):
    """Return a list of the sources whose snippets are counted."""
    counts = []
    count = source_stats._snippets_of_default_branch

    def note_source(source):
        counts.append(source.key)
        return count(source)

    monkeypatch.setattr(source_stats, "_snippets_of_default_branch", note_source)
    return counts


@pytest.mark.parametrize("step", ["work", "claim"])
def test_worker_that_loses_postgres_leaves_its_job_to_the_next_claim(workspace, monkeypatch, caplog, step):
    job = upload(workspace, "a.md", b"# A\n")
    with monkeypatch.context() as patched:
        if step == "claim":
            patched.setattr(run, "claim", lose_postgres)
        else:
            patched.setattr(run, "_RUNNERS", {**run._RUNNERS, "ingest_document": lose_postgres})
        run_job(job.workspace_id, job.pk)
    connection.close()
    assert str(job.pk) in caplog.text
    Job.objects.filter(pk=job.pk).exclude(lease_until=None).update(lease_until=Now() - timedelta(seconds=1))
    assert work(job).state == "succeeded"


def test_worker_that_loses_postgres_while_it_ends_a_job_raises_nothing(workspace, monkeypatch, caplog):
    job = upload(workspace, "a.md", b"# A\n")
    Job.objects.filter(pk=job.pk).update(source=None)  # so that it fails
    monkeypatch.setattr(run, "_lock_source", lose_postgres)
    run_job(job.workspace_id, job.pk)
    connection.close()
    assert str(job.pk) in caplog.text
    assert Job.objects.get(pk=job.pk).state == "running"


def test_job_ends_though_bytes_cannot_be_deleted(workspace, monkeypatch):
    asked = []

    def refuse(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(run, "release_upload", refuse)
    monkeypatch.setattr(hints, "request_mirror_sync", asked.append)
    job = work(upload(workspace, "a.md", b"# A\n"))
    assert (job.state, job.error) == ("succeeded", "")
    assert asked == [workspace.pk] * 2  # as it began, and as it ended


def two_of_three_worked_off(workspace):
    jobs = [upload(workspace, f"{name}.md", CONTENT) for name in "abc"]
    work(jobs[0])
    work(jobs[1])
    assert Source.objects.get().total_snippets == 1
    return jobs


def test_source_statistics_are_refreshed_once_for_concurrent_uploads(workspace, counted_sources):
    jobs = [upload(workspace, f"{name}.md", CONTENT) for name in "abcde"]
    for job in jobs:
        assert work(job).state == "succeeded"
    source = Source.objects.get()
    assert (source.total_snippets, source.state) == (5, "indexed")
    assert counted_sources == ["uploads"] * 2  # the first, and the last


def test_cancelling_the_last_running_upload_refreshes_the_source_statistics(workspace):
    jobs = two_of_three_worked_off(workspace)
    indexed_at = Source.objects.get().last_indexed_at
    Job.objects.filter(pk=jobs[2].pk).update(state="running", lease_until=Now() - timedelta(seconds=1))
    cancel(jobs[2])
    assert work(jobs[2]).state == "cancelled"
    source = Source.objects.get()
    assert (source.total_snippets, source.last_indexed_at) == (2, indexed_at)


def delete_its_version(job):
    version = ensure_version(job.source, "v1")
    Job.objects.filter(pk=job.pk).update(payload={**job.payload, "version": version.tag})
    request_version_deletion(job.source, version.tag)


def forget_its_quarantine(job):
    version = ensure_version(job.source, "")
    Job.objects.filter(pk=job.pk).update(payload={**job.payload, "version": ""})
    entry = quarantine(job.workspace, version, job.payload["path"], CONTENT)
    with transaction.atomic():
        delete_entry(entry)


@pytest.mark.parametrize("end", [cancel, delete_its_version, forget_its_quarantine])
def test_cancelling_the_last_queued_upload_refreshes_the_source_statistics(workspace, counted_sources, end):
    jobs = two_of_three_worked_off(workspace)
    end(jobs[2])
    assert Job.objects.get(pk=jobs[2].pk).state == "cancelled"
    assert (Source.objects.get().total_snippets, counted_sources) == (2, ["uploads"] * 2)


def test_source_statistics_include_uploads_that_end_concurrently(workspace, monkeypatch):
    # Without embedding: its job, which both would ask for, is another thing that one waits for.
    first, second = (upload(workspace, f"{name}.md", CONTENT, embed=False) for name in "ab")
    Source.objects.update(state="indexed", last_indexed_at=Now())
    refresh_upload_stats = request.refresh_upload_stats
    ends = []

    @acting_everywhere()
    def end_apart():
        try:
            return work(second)
        finally:
            connection.close()

    def and_another_ends(*arguments, **options):
        if not ends:
            ends.append(worker.submit(end_apart))
            until_blocked()
        refresh_upload_stats(*arguments, **options)

    monkeypatch.setattr(request, "refresh_upload_stats", and_another_ends)
    with ThreadPoolExecutor(1) as worker:
        assert work(first).state == "succeeded"
        assert ends[0].result().state == "succeeded"
    assert Source.objects.get().total_snippets == 2
