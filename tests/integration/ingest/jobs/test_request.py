"""Requests create a job or join an open one; jobs are cancelled and retried."""

from datetime import timedelta
from functools import partial

import pytest
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone

from ingest.errors import JobNotOpen
from ingest.jobs.items.quarantine import request_retry
from ingest.jobs.items.writer import ItemWriter
from ingest.jobs.queue import hints, run
from ingest.jobs.queue.lease import MAX_STALLED_ATTEMPTS, claim
from ingest.jobs.queue.request import cancel, request_embedding, request_sync
from ingest.jobs.queue.run import run_job
from ingest.jobs.queue.schedule import retry
from ingest.models import Job
from search.corpus import ensure_version
from search.models import Chunk, Document, Source
from tests.support.api import quarantine
from tests.support.concurrency import at_once
from tests.support.jobs import fill, indexed_texts, now_of, sync, upload, work


def quarantined_bytes(source, file):
    version = ensure_version(source, "")
    return quarantine(source.workspace, version, file.name, file.read_bytes())


@pytest.fixture
def cancel_after(monkeypatch):
    """Return a function that cancels a job once it has written so many items of a batch."""

    def cancel_it(job, most=None):
        write = ItemWriter.write

        def write_and_cancel(self, findings):
            write(self, findings[:most])
            cancel(job)
            self._context.keeper._check_lease(renew=False)

        monkeypatch.setattr(ItemWriter, "write", write_and_cancel)

    return cancel_it


def test_request_before_the_listing_joins_the_sync(source):
    job = request_sync(source)
    assert request_sync(source, embed=True, version="").pk == job.pk
    apart = {request_sync(source, **other).pk for other in ({"embed": False}, {"version": "v1"})}
    assert len({job.pk, *apart}) == 3
    claim(job.workspace_id, job.pk)
    assert request_sync(source).pk == job.pk


def test_request_after_the_listing_queues_one_more(source):
    job = request_sync(source)
    claim(job.workspace_id, job.pk)
    Job.objects.update(discovered_at=Now())
    again = request_sync(source)
    assert again.pk != job.pk
    assert request_sync(source).pk == again.pk
    assert claim(again.workspace_id, again.pk) is None
    assert now_of(again).state == "queued"


def test_requests_at_the_same_time_create_one_job(source):
    for request_it in (partial(request_sync, source), partial(request_embedding, source.workspace_id)):
        assert len({job.pk for job in at_once([request_it] * 6)}) == 1


def test_two_syncs_of_a_source_never_run_together(source):
    first = request_sync(source)
    claim(first.workspace_id, first.pk)
    Job.objects.update(discovered_at=Now())
    second = request_sync(source)
    with pytest.raises(IntegrityError), transaction.atomic():
        Job.objects.filter(pk=second.pk).update(state="running")


def test_full_sync_requested_during_a_partial_one_still_runs(workspace, folder, source):
    fill(folder, {"a.md": "a\n", "b.md": "b\n"})
    narrow = request_sync(source, only_paths=["a.md"])
    full = request_sync(source)
    for job in {narrow.pk: narrow, full.pk: full}.values():
        work(job)
    assert set(indexed_texts(workspace)) == {"a.md", "b.md"}

    running = request_sync(source, only_paths=["a.md"])
    claim(running.workspace_id, running.pk)
    assert request_sync(source).pk != running.pk


def test_queued_job_is_cancelled_at_once(source):
    job = cancel(request_sync(source))
    assert (job.state, job.finished_at is not None) == ("cancelled", True)
    assert work(job).attempt == 0
    with pytest.raises(JobNotOpen):
        cancel(job)


def test_running_job_is_cancelled_between_items(workspace, folder, source, cancel_after, monkeypatch):
    fill(folder, {f"{n}.md": f"{n}\n" for n in range(5)})
    job = request_sync(source)
    cancel_after(job, 1)
    ended = work(job)
    assert (ended.state, ended.items_done, len(indexed_texts(workspace))) == ("cancelled", 1, 1)
    assert Source.objects.get(pk=source.pk).state == "pending"
    monkeypatch.undo()
    assert sync(source)["new"] == 4


@pytest.mark.parametrize("stalled_attempts", [1, MAX_STALLED_ATTEMPTS])
def test_running_job_that_nobody_works_on_is_cancelled_by_the_next_claim(source, stalled_attempts):
    job = request_sync(source)
    claim(job.workspace_id, job.pk)
    assert cancel(job).state == "running"
    Job.objects.update(lease_until=Now() - timedelta(seconds=1), stalled_attempts=stalled_attempts)
    ended = work(job)
    assert (ended.state, ended.error) == ("cancelled", "")


def test_job_that_was_put_off_is_cancelled_without_waiting(source, monkeypatch):
    def break_off(work):
        raise ZeroDivisionError("a bug")

    job = request_sync(source)
    monkeypatch.setattr(run, "_RUNNERS", {**run._RUNNERS, "sync_source": break_off})
    run_job(job.workspace_id, job.pk)
    hints._redis().delete("ingest")
    assert claim(job.workspace_id, job.pk) is None
    assert cancel(now_of(job)).state == "running"
    assert hints._redis().llen("ingest") == 1
    assert work(job).state == "cancelled"


def test_retry_of_an_embedding_wakes_one_that_waits_for_its_embedder(workspace):
    failed = request_embedding(workspace.pk)
    Job.objects.update(state="failed", finished_at=Now())
    again = retry(now_of(failed), requested_by="ada@example.org")
    assert (again.kind, again.requested_by) == ("embed", "ada@example.org")

    Job.objects.filter(pk=again.pk).update(due_at=Now() + timedelta(hours=1))
    assert claim(again.workspace_id, again.pk) is None
    assert retry(now_of(failed)).pk == again.pk
    assert claim(again.workspace_id, again.pk) is not None


def test_job_without_a_failure_cannot_be_retried(source):
    job = request_sync(source)
    for state in ("queued", "succeeded"):
        assert now_of(job).state == state
        with pytest.raises(JobNotOpen):
            retry(now_of(job))
        work(job)


def test_sync_that_failed_as_a_whole_is_retried_as_a_whole(workspace, folder, source):
    folder.rename(folder.with_name("away"))
    failed = work(request_sync(source))
    folder.with_name("away").rename(folder)
    fill(folder, {"a.md": "a\n"})
    assert work(retry(failed)).state == "succeeded"
    assert indexed_texts(workspace) == {"a.md": ["a"]}


def test_sync_that_broke_off_is_retried_as_a_whole(workspace, folder, source, cancel_after, monkeypatch):
    fill(folder, {"a.md": "a\n", "bad.md": "bad\n", "c.md": "c\n"})
    quarantined_bytes(source, folder / "bad.md")
    job = request_sync(source)
    cancel_after(job)
    ended = work(job)
    assert (ended.state, ended.items_done, ended.counts["failed"]) == ("cancelled", 1, {"quarantined": 1})
    monkeypatch.undo()
    assert work(retry(ended)).state == "succeeded"
    assert indexed_texts(workspace) == {"a.md": ["a"], "c.md": ["c"]}


def test_cancelled_upload_is_retried_from_its_blob(workspace):
    job = cancel(upload(workspace, "a.md", b"a\n", title="Stated"))
    assert work(retry(job)).state == "succeeded"
    assert indexed_texts(workspace) == {"a.md": ["a"]}


def test_upload_whose_bytes_are_unchanged_is_not_parsed_again(workspace):
    first, second = (work(upload(workspace, "a.md", b"a\n")) for _ in range(2))
    assert (first.calls, first.counts["new"], first.counts["unchanged"]) == (1, 1, 0)
    assert (second.calls, second.counts["new"], second.counts["unchanged"]) == (0, 0, 1)


def test_values_stated_with_an_upload_override_parsed_ones(workspace):
    stated = {"title": "Stated", "lang": "de", "tags": ["x"], "trust_level": "primary", "metadata": {"k": 1}}
    work(upload(workspace, "a.md", b"---\ntitle: Own\ntags: [y]\n---\n# Head\n\ntext\n", **stated))
    document = Document.objects.get()
    assert {name: getattr(document, name) for name in stated if name != "metadata"} == {
        name: value for name, value in stated.items() if name != "metadata"
    }
    assert document.metadata["k"] == 1
    assert Chunk.objects.get().breadcrumb.startswith("Stated > ")


def test_quarantined_file_is_tried_again_though_a_sync_waits(workspace, folder, source):
    fill(folder, {"bad.md": "# Bad\n\nread at last\n"})
    full = request_sync(source)
    again = request_retry(quarantined_bytes(source, folder / "bad.md"), requested_by="")

    assert work(full).counts["failed"] == {"quarantined": 1}
    assert work(again).counts["new"] == 1
    assert indexed_texts(workspace) == {"bad.md": ["read at last"]}
    assert request_sync(source, only_paths=["bad.md"]).pk == request_sync(source, only_paths=["bad.md"]).pk


@pytest.fixture
def set_clock(monkeypatch):
    """Return a function that shifts this process's clock by hours."""
    right = timezone.now

    def set_to(hours):
        monkeypatch.setattr(timezone, "now", lambda: right() + timedelta(hours=hours))

    return set_to


@pytest.mark.parametrize("hours", [-1, 1])
def test_job_is_due_by_the_clock_of_postgres_with_any_local_clock(workspace, set_clock, monkeypatch, hours):
    set_clock(hours)
    job = upload(workspace, "a.md", b"# One")
    for is_fresh in (False, True):
        hints._redis().delete("ingest")
        assert hints.hint_due_jobs() == (not is_fresh)
    monkeypatch.setattr(hints, "_FRESH", timedelta(0))
    assert hints.hint_due_jobs() == 1
    assert claim(job.workspace_id, job.pk) is not None


def test_later_upload_wins_despite_clock_skew(workspace, set_clock):
    set_clock(1)
    first = upload(workspace, "a.md", b"# First")
    set_clock(-1)
    second = upload(workspace, "a.md", b"# Second")
    for job in (second, first):
        work(job)
    assert indexed_texts(workspace) == {"a.md": ["# Second"]}
    assert now_of(first).created_at < now_of(second).created_at
