"""Jobs that read a site: told while they list, cancelled while they wait, gone on with after a crash."""

import pytest
from django.db import connection
from django.db.models.functions import Now

from ingest.connectors.types import SkippedFile
from ingest.connectors.walk_rules import SkipReason
from ingest.connectors.web.memory import PageMemory
from ingest.connectors.web.pace import Pace
from ingest.errors import JobCancelled
from ingest.jobs import items, listing_progress
from ingest.jobs.lease import LeaseKeeper, claim
from ingest.jobs.listing_progress import ListingProgress
from ingest.jobs.report import ingest_report
from ingest.jobs.request import cancel, request_sync
from ingest.jobs.work import Work
from ingest.models import Job, WebPage
from kebab.tenancy.acting import acting_everywhere
from search.blobs import has_blob
from search.corpus import ensure_source
from tests.integration.ingest.jobs.site import Page, html, redirect, serving
from tests.support.jobs import counts, indexed, sync, upload, work

pytestmark = pytest.mark.usefixtures("reachable_sites")
ALL = {"index.html", "a.html", "b.html", "c.html"}


@pytest.fixture
def site():
    with serving() as running:
        running.pages["/"] = html("Home", "/a.html", "/b.html", "/c.html")
        for name in "abc":
            running.pages[f"/{name}.html"] = html(name.upper())
        yield running


@pytest.fixture
def source(workspace, site):
    return ensure_source(workspace, "site", kind="web", config={"url": site.url()})


def again(job):
    """Work on a job that broke off, as after its pause."""
    Job.objects.filter(pk=job.pk).update(due_at=Now(), lease_until=Now())
    return work(job)


def cancelling(job):
    """Give what cancels the job while its request is under way, and never answers."""

    @acting_everywhere()
    def behave(exchange):
        try:
            cancel(Job.objects.get(pk=job.pk))
        finally:
            connection.close()
        exchange.server.released.wait()

    return Page(behaviour=behave)


def test_a_job_is_cancelled_while_it_waits_for_a_page(workspace, site, source, settings):
    sync(source)
    settings.KEBAB_CRAWL_LIMIT_S = 600
    job = request_sync(source)
    site.pages["/a.html"] = cancelling(job)
    assert work(job).state == "cancelled"
    assert indexed(workspace).keys() == ALL


def test_a_job_is_cancelled_while_it_waits_for_its_turn(workspace, site, source):
    job = request_sync(source)
    robots = Page(body=b"User-agent: *\nCrawl-delay: 50\n")

    @acting_everywhere()
    def behave(exchange):
        try:
            cancel(Job.objects.get(pk=job.pk))
        finally:
            connection.close()
        exchange.answer(robots)

    site.pages["/robots.txt"] = Page(behaviour=behave)
    assert work(job).state == "cancelled"


def test_a_listing_that_broke_off_goes_on_without_asking_again(workspace, site, source, monkeypatch):
    note_listed = PageMemory.note_listed

    def break_off(self, page):
        note_listed(self, page)
        if page.path == "b.html":
            raise RuntimeError("the worker died")

    monkeypatch.setattr(PageMemory, "note_listed", break_off)
    job = work(request_sync(source))
    assert (job.state, job.discovered_at) == ("running", None)
    assert site.targets() == ["/", "/a.html", "/b.html"]
    monkeypatch.undo()
    assert counts(ingest_report(again(job)))["new"] == 4
    assert site.targets() == ["/c.html"]


def test_a_job_that_broke_off_after_its_listing_reads_what_it_has_kept(workspace, site, source, monkeypatch):
    def die(self):
        raise RuntimeError("the worker died")

    monkeypatch.setattr(items.ItemWorker, "run", die)
    job = work(request_sync(source))
    monkeypatch.undo()
    site.pages.clear()
    site.asked.clear()
    assert counts(ingest_report(again(job))) == {"seen": 4, "new": 4, "parser_calls": 4}
    assert site.asked == []


def test_bytes_that_wait_to_be_read_are_not_let_go_by_others(workspace, site, source, monkeypatch):
    def die(self):
        raise RuntimeError("the worker died")

    with monkeypatch.context() as patched:
        patched.setattr(items.ItemWorker, "run", die)
        job = work(request_sync(source))
    same = site.pages["/a.html"].body
    work(upload(workspace, "same.html", same))
    work(upload(workspace, "same.html", b"something else"))
    page = WebPage.objects.get(path="a.html")
    assert has_blob(workspace.pk, page.content_hash)
    assert counts(ingest_report(again(job)))["new"] == 4


def test_bytes_that_were_lost_are_asked_for_again(workspace, site, source, monkeypatch):
    sync(source)
    with monkeypatch.context() as patched:
        patched.setattr("ingest.connectors.web.memory.has_blob", lambda *arguments: False)
        site.asked.clear()
        assert counts(sync(source)) == {"seen": 4, "unchanged": 4}
    assert not any("if-none-match" in asked.headers for asked in site.asked)


def test_a_listing_makes_room_for_other_jobs_and_goes_on(workspace, site, source, monkeypatch):
    monkeypatch.setattr(listing_progress, "_EVERY_S", 0.0)
    monkeypatch.setattr(listing_progress, "_TURN_S", 0.0)
    site.pages["/"] = html("Home", "/gone.html", "/old.html", "/broken.html", "/a.html", "/b.html")
    site.pages["/old.html"] = redirect("/c.html")
    site.pages["/broken.html"] = Page(status=500)
    upload(workspace, "waits.md", b"words")
    job, turns = request_sync(source), 0
    while not job.is_finished and turns < 10:
        job, turns = again(job), turns + 1
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


def test_a_listing_tells_where_it_is_once_a_second_and_hears_of_its_end(workspace, source):
    job = request_sync(source)
    lease = claim(workspace.pk, job.pk)
    now = iter([0.0, 0.5, 1.5, 1.6])
    entries = [SkippedFile(path=path, reason=SkipReason.NOINDEX) for path in ("a", "b", "c")]
    with LeaseKeeper(lease) as keeper:
        work_ = Work(job=Job.objects.get(pk=job.pk), workspace=workspace, lease=lease, keeper=keeper)
        progress = ListingProgress(work_, clock=lambda: next(now))
        assert list(progress.over(entries)) == entries
        told = Job.objects.get(pk=job.pk)
        assert (told.current_path, told.counts["listed"], told.stalled_attempts) == ("b", 2, 0)
        keeper._cancelled.set()
        with pytest.raises(JobCancelled):
            progress.at("d")


def test_a_job_says_how_much_it_has_listed(workspace, source):
    assert work(request_sync(source)).counts["listed"] == 4


def test_turns_of_a_site_are_shared_by_all_workers(servers):
    waits = []

    def stop():
        waits.append(1)
        raise JobCancelled("enough")

    Pace("turns.example.org", 30.0, stop).wait_turn()
    with pytest.raises(JobCancelled):
        Pace("turns.example.org", 30.0, stop).wait_turn()
    Pace("other.example.org", 30.0, stop).wait_turn()
    assert waits == [1]
