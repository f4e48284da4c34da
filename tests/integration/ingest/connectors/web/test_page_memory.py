"""A crawl remembers its pages, can be cancelled while it waits, and resumes after a crash."""

import pytest
from django.db import connection

from ingest.connectors.types import SkippedFile
from ingest.connectors.walk_rules import SkipReason
from ingest.connectors.web.page_memory import PageMemory
from ingest.errors import JobCancelled
from ingest.jobs.items import worker
from ingest.jobs.kinds import record_sync
from ingest.jobs.kinds.record_sync import ListingProgress
from ingest.jobs.queue.context import JobContext
from ingest.jobs.queue.lease import LeaseKeeper, claim
from ingest.jobs.queue.report import ingest_report
from ingest.jobs.queue.request import cancel, request_sync
from ingest.models import Job, WebPage
from kebab.tenancy.current_workspace import acting_everywhere
from search.corpus.blobs import has_blob
from tests.integration.ingest.connectors.web.site import Page, html, redirect
from tests.support.jobs import Killed, counts, die, expire, indexed_texts, sync, upload, work

pytestmark = pytest.mark.usefixtures("reachable_sites")
ALL = {"index.html", "a.html", "b.html", "c.html"}


@pytest.fixture
def site(site):
    site.pages["/"] = html("Home", "/a.html", "/b.html", "/c.html")
    site.pages |= {f"/{name}.html": html(name.upper()) for name in "abc"}
    return site


@pytest.fixture
def source(site, make_source):
    return make_source()


@pytest.fixture
def listed_job(source, monkeypatch):
    """Return a job whose worker was killed after it had listed the site."""
    job = request_sync(source)
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(worker.ItemWorker, "run", die)
        work(job)
    return job


def resume(job):
    """Resume an interrupted job, as after its pause."""
    expire(job)
    return work(job)


@acting_everywhere()
def cancel_in_other_thread(job):
    """Cancel the job from the thread that responds to its request."""
    try:
        cancel(Job.objects.get(pk=job.pk))
    finally:
        connection.close()


def test_job_is_cancelled_while_it_waits_for_a_page(workspace, site, source, settings):
    def cancel_and_never_answer(exchange):
        cancel_in_other_thread(job)
        exchange.server.released.wait()

    sync(source)
    settings.KEBAB_CRAWL_LIMIT_S = 600
    job = request_sync(source)
    site.pages["/a.html"] = Page(behaviour=cancel_and_never_answer)
    assert work(job).state == "cancelled"
    assert indexed_texts(workspace).keys() == ALL


def test_job_is_cancelled_while_it_waits_for_its_turn(site, source):
    def cancel_and_answer(exchange):
        cancel_in_other_thread(job)
        exchange.answer(Page(body=b"User-agent: *\nCrawl-delay: 50\n"))

    job = request_sync(source)
    site.pages["/robots.txt"] = Page(behaviour=cancel_and_answer)
    assert work(job).state == "cancelled"


def test_listing_that_broke_off_resumes_without_asking_again(workspace, site, source, monkeypatch):
    mark_listed = PageMemory.mark_listed

    def break_off(self, page):
        mark_listed(self, page)
        if page.path == "b.html":
            raise RuntimeError("the worker died")

    monkeypatch.setattr(PageMemory, "mark_listed", break_off)
    job = work(request_sync(source))
    assert (job.state, job.discovered_at) == ("running", None)
    assert site.targets() == ["/", "/a.html", "/b.html"]
    monkeypatch.undo()
    assert counts(ingest_report(resume(job)))["new"] == 4
    assert site.targets() == ["/c.html"]


def test_interrupted_crawl_reads_the_stored_pages_of_its_listing(site, listed_job):
    site.pages.clear()
    site.asked.clear()
    assert counts(ingest_report(resume(listed_job))) == {"seen": 4, "new": 4, "parser_calls": 4}
    assert site.asked == []


def test_bytes_that_wait_to_be_read_are_not_released_by_others(workspace, site, listed_job):
    work(upload(workspace, "same.html", site.pages["/a.html"].body))
    work(upload(workspace, "same.html", b"something else"))
    assert has_blob(workspace.pk, WebPage.objects.get(path="a.html").content_hash)
    assert counts(ingest_report(resume(listed_job)))["new"] == 4


def test_bytes_that_were_lost_are_asked_for_again(site, source, monkeypatch):
    sync(source)
    site.asked.clear()
    monkeypatch.setattr("ingest.connectors.web.page_memory.has_blob", lambda *arguments: False)
    assert counts(sync(source)) == {"seen": 4, "unchanged": 4}
    assert not any("if-none-match" in asked.headers for asked in site.asked)


def test_listing_yields_to_other_jobs_and_resumes(workspace, site, source, monkeypatch):
    monkeypatch.setattr(record_sync, "_EVERY_S", 0.0)
    monkeypatch.setattr(record_sync, "_TURN_S", 0.0)
    site.pages["/"] = html("Home", "/gone.html", "/old.html", "/broken.html", "/a.html", "/b.html")
    site.pages["/old.html"] = redirect("/c.html")
    site.pages["/broken.html"] = Page(status=500)
    upload(workspace, "waits.md", b"words")
    job, turns = request_sync(source), 0
    while not job.is_finished and turns < 10:
        job, turns = resume(job), turns + 1
    assert (job.state, turns) == ("succeeded", 7)
    assert sorted(site.targets()) == [
        "/",
        "/a.html",
        "/b.html",
        "/broken.html",
        "/c.html",
        "/gone.html",
        "/old.html",
    ]
    assert counts(ingest_report(job)) == {"seen": 6, "new": 4, "skipped": 1, "failed": 1, "parser_calls": 4}
    assert not WebPage.objects.filter(path__in=["gone.html", "old.html"]).exists()


def test_listing_reports_progress_once_a_second_and_ends_when_cancelled(workspace, source):
    job = request_sync(source)
    now = iter([0.0, 0.5, 1.5, 1.6])
    assert work(job).counts["listed"] == 4
    job = request_sync(source)
    lease = claim(workspace.pk, job.pk)
    entries = [SkippedFile(path=path, reason=SkipReason.NOINDEX) for path in ("a", "b", "c")]
    with LeaseKeeper(lease) as keeper:
        work_ = JobContext(job=Job.objects.get(pk=job.pk), workspace=workspace, lease=lease, keeper=keeper)
        progress = ListingProgress(work_, clock=lambda: next(now))
        assert list(progress.count_entries(entries)) == entries
        reread = Job.objects.get(pk=job.pk)
        assert (reread.current_path, reread.counts["listed"], reread.stalled_attempts) == ("b", 2, 0)
        keeper._cancelled.set()
        with pytest.raises(JobCancelled):
            progress.record_position("d")
