"""Asking for work, joining what is asked for already, cancelling and retrying."""

from datetime import timedelta
from functools import partial

import pytest
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from ingest.errors import JobNotOpen
from ingest.jobs import hints, run
from ingest.jobs.lease import MAX_STALLED_ATTEMPTS, claim
from ingest.jobs.quarantine import try_again
from ingest.jobs.request import cancel, request_embedding, request_sync, retry
from ingest.jobs.run import run_job
from ingest.jobs.writing import ItemWriter
from ingest.models import Job
from search.corpus import ensure_version
from search.models import Chunk, Document, Source
from tests.support.api import quarantine
from tests.support.concurrency import at_once
from tests.support.jobs import fill, indexed, sync, upload, work


def now_of(job):
    return Job.objects.get(pk=job.pk)


def test_a_request_before_the_listing_joins_the_sync(source):
    job = request_sync(source)
    assert request_sync(source).pk == job.pk
    claim(job.workspace_id, job.pk)
    assert request_sync(source).pk == job.pk


def test_what_holds_anyway_makes_no_other_request_by_being_said(source):
    job = request_sync(source)
    assert request_sync(source, embed=True, version="").pk == job.pk
    apart = {request_sync(source, **other).pk for other in ({"embed": False}, {"version": "v1"})}
    assert len({job.pk, *apart}) == 3


def test_a_request_after_the_listing_queues_one_more(source):
    job = request_sync(source)
    claim(job.workspace_id, job.pk)
    Job.objects.update(discovered_at=Now())
    again = request_sync(source)
    assert again.pk != job.pk
    assert request_sync(source).pk == again.pk
    assert claim(again.workspace_id, again.pk) is None
    assert now_of(again).state == "queued"


def test_requests_at_the_same_time_make_one_job(source):
    jobs = at_once([partial(request_sync, source)] * 6)
    assert len({job.pk for job in jobs}) == 1


def test_two_syncs_of_a_source_never_run_together(source):
    first = request_sync(source)
    claim(first.workspace_id, first.pk)
    Job.objects.update(discovered_at=Now())
    second = request_sync(source)
    with pytest.raises(IntegrityError), transaction.atomic():
        Job.objects.filter(pk=second.pk).update(state="running")


def test_a_full_sync_does_not_vanish_in_the_retry_it_joins(workspace, folder, source):
    fill(folder, {"a.md": "a\n", "b.md": "b\n"})
    narrow = request_sync(source, only_paths=["a.md"])
    full = request_sync(source)
    for job in {narrow.pk: narrow, full.pk: full}.values():
        work(job)
    assert set(indexed(workspace)) == {"a.md", "b.md"}


def test_a_full_sync_asked_for_while_a_retry_lists_comes_after_it(workspace, folder, source):
    fill(folder, {"a.md": "a\n", "b.md": "b\n"})
    narrow = request_sync(source, only_paths=["a.md"])
    claim(narrow.workspace_id, narrow.pk)
    assert request_sync(source).pk != narrow.pk


def test_a_queued_job_is_cancelled_at_once(source):
    job = cancel(request_sync(source))
    assert (job.state, job.finished_at is not None) == ("cancelled", True)
    assert work(job).attempt == 0
    with pytest.raises(JobNotOpen):
        cancel(job)


def test_a_running_job_is_cancelled_between_items_and_keeps_what_it_did(
    workspace, folder, source, monkeypatch
):
    fill(folder, {f"{n}.md": f"{n}\n" for n in range(5)})
    job = request_sync(source)
    write = ItemWriter.write

    def cancel_after_the_first(self, findings):
        write(self, findings[:1])
        cancel(job)
        self._work.keeper._look(renew=False)

    monkeypatch.setattr(ItemWriter, "write", cancel_after_the_first)
    ended = work(job)
    assert (ended.state, ended.items_done, len(indexed(workspace))) == ("cancelled", 1, 1)
    assert Source.objects.get(pk=source.pk).state == "pending"
    monkeypatch.undo()
    assert sync(source)["new"] == 4


def test_a_running_job_that_nobody_works_on_is_cancelled_by_who_claims_it(source):
    job = request_sync(source)
    claim(job.workspace_id, job.pk)
    assert cancel(job).state == "running"
    Job.objects.update(lease_until=Now() - timedelta(seconds=1))
    assert work(job).state == "cancelled"


def test_a_cancelled_job_that_had_made_no_progress_ends_as_cancelled(source):
    job = request_sync(source)
    claim(job.workspace_id, job.pk)
    cancel(job)
    Job.objects.update(lease_until=Now() - timedelta(seconds=1), stalled_attempts=MAX_STALLED_ATTEMPTS)
    ended = work(job)
    assert (ended.state, ended.error) == ("cancelled", "")


def test_a_job_that_was_put_off_is_cancelled_without_waiting(source, monkeypatch):
    def break_off(work):
        raise ZeroDivisionError("a bug")

    job = request_sync(source)
    monkeypatch.setattr(run, "_WORK", {**run._WORK, "sync_source": break_off})
    run_job(job.workspace_id, job.pk)
    hints._redis().delete("ingest")
    assert claim(job.workspace_id, job.pk) is None
    assert cancel(now_of(job)).state == "running"
    assert hints._redis().llen("ingest") == 1
    assert work(job).state == "cancelled"


def test_a_retry_of_an_embedding_wakes_one_that_waits_for_its_embedder(workspace):
    failed = request_embedding(workspace.pk)
    Job.objects.update(state="failed", finished_at=Now())
    again = retry(now_of(failed), requested_by="ada@example.org")
    assert (again.kind, again.requested_by) == ("embed", "ada@example.org")

    Job.objects.filter(pk=again.pk).update(due_at=Now() + timedelta(hours=1))
    assert claim(again.workspace_id, again.pk) is None
    assert retry(now_of(failed)).pk == again.pk
    assert claim(again.workspace_id, again.pk) is not None


def test_nothing_to_retry_is_said_so(folder, source):
    job = request_sync(source)
    with pytest.raises(JobNotOpen, match="still queued"):
        retry(job)
    with pytest.raises(JobNotOpen, match="Nothing failed"):
        retry(work(job))


def test_a_sync_that_failed_as_a_whole_is_retried_as_a_whole(workspace, folder, source):
    folder.rename(folder.with_name("away"))
    failed = work(request_sync(source))
    folder.with_name("away").rename(folder)
    fill(folder, {"a.md": "a\n"})
    assert work(retry(failed)).state == "succeeded"
    assert indexed(workspace) == {"a.md": ["a"]}


def test_a_sync_that_broke_off_is_retried_as_a_whole_whatever_failed_in_it(
    workspace, folder, source, monkeypatch
):
    fill(folder, {"a.md": "a\n", "bad.md": "bad\n", "c.md": "c\n"})
    quarantined_bytes(source, folder / "bad.md")
    job = request_sync(source)
    write = ItemWriter.write

    def cancel_after_the_first(self, findings):
        write(self, findings)
        cancel(job)
        self._work.keeper._look(renew=False)

    monkeypatch.setattr(ItemWriter, "write", cancel_after_the_first)
    ended = work(job)
    assert (ended.state, ended.items_done, ended.counts["failed"]) == ("cancelled", 1, {"quarantined": 1})
    monkeypatch.undo()
    assert work(retry(ended)).state == "succeeded"
    assert indexed(workspace) == {"a.md": ["a"], "c.md": ["c"]}


def test_a_cancelled_upload_is_retried_from_its_blob(workspace):
    job = cancel(upload(workspace, "a.md", b"a\n", title="Stated"))
    assert work(retry(job)).state == "succeeded"
    assert indexed(workspace) == {"a.md": ["a"]}


def test_an_upload_whose_bytes_are_unchanged_is_not_parsed_again(workspace):
    first, second = (work(upload(workspace, "a.md", b"a\n")) for _ in range(2))
    assert [(job.calls, job.counts["new"], job.counts["unchanged"]) for job in (first, second)] == [
        (1, 1, 0),
        (0, 0, 1),
    ]


def test_what_is_stated_with_an_upload_goes_before_what_was_parsed(workspace):
    stated = {"title": "Stated", "lang": "de", "tags": ["x"], "trust_level": "primary", "metadata": {"k": 1}}
    work(upload(workspace, "a.md", b"---\ntitle: Own\ntags: [y]\n---\n# Head\n\ntext\n", **stated))
    document = Document.objects.get()
    assert (document.title, document.lang, document.tags, document.trust_level) == (
        "Stated",
        "de",
        ["x"],
        "primary",
    )
    assert document.metadata["k"] == 1
    assert Chunk.objects.get().breadcrumb.startswith("Stated > ")


def test_many_requests_for_embedding_make_one_job(workspace):
    jobs = at_once([partial(request_embedding, workspace.pk)] * 6)
    assert len({job.pk for job in jobs}) == 1


def test_a_file_in_quarantine_is_tried_again_though_a_sync_waits(workspace, folder, source):
    fill(folder, {"bad.md": "# Bad\n\nread at last\n"})
    full = request_sync(source)
    again = try_again(quarantined_bytes(source, folder / "bad.md"), requested_by="")

    assert work(full).counts["failed"] == {"quarantined": 1}
    assert work(again).counts["new"] == 1
    assert indexed(workspace) == {"bad.md": ["read at last"]}
    assert request_sync(source, only_paths=["bad.md"]).pk == request_sync(source, only_paths=["bad.md"]).pk


def quarantined_bytes(source, file):
    version = ensure_version(source, "")
    return quarantine(source.workspace, version, file.name, file.read_bytes())
