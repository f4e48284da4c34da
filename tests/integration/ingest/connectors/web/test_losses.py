"""Pages removed from a site are deleted; pages that fail keep their documents."""

import pytest

from ingest.jobs.queue.report import ingest_report
from ingest.jobs.queue.schedule import retry
from ingest.models import Job, JobItem, WebPage
from search.corpus.blobs import has_blob
from search.corpus.content_ids import content_hash
from search.models import Source
from tests.integration.ingest.connectors.web.site import LINKED_PAGES, Page, html, redirect, sitemap
from tests.support.jobs import counts, failure, indexed_texts, sync, work

pytestmark = pytest.mark.usefixtures("reachable_sites", "linked_site")

ONE_UPDATED = {"seen": 4, "updated": 1, "unchanged": 3, "parser_calls": 1}


def link_many(site, count):
    """Make the site a start page with `count` links."""
    site.pages["/"] = html("Home", *(f"/{number}.html" for number in range(count)))
    for number in range(count):
        site.pages[f"/{number}.html"] = html(f"Page {number}")


@pytest.mark.parametrize("status", [404, 410])
def test_page_that_is_gone_is_deleted_with_its_bytes(workspace, site, make_source, status):
    source = make_source()
    sync(source)
    body = site.pages["/guide.html"].body
    site.pages["/guide.html"] = Page(status=status, is_tagged=False)
    report = sync(source)
    assert (report["deleted"], report["skipped_by_reason"]) == (1, {"not_found": 1})
    assert indexed_texts(workspace).keys() == LINKED_PAGES - {"guide.html"}
    assert not has_blob(workspace.pk, content_hash(body))
    assert not WebPage.objects.filter(path="guide.html").exists()


def test_page_without_links_to_it_stays_until_its_own_address_is_gone(workspace, site, make_source):
    source = make_source()
    sync(source)
    site.pages["/docs/"] = html("Docs")
    assert counts(sync(source)) == ONE_UPDATED
    site.pages["/docs/intro.html"] = html("Intro, alone")
    assert counts(sync(source)) == ONE_UPDATED
    del site.pages["/docs/intro.html"]
    assert counts(sync(source)) == {"seen": 4, "unchanged": 3, "skipped": 1, "deleted": 1}
    assert indexed_texts(workspace).keys() == LINKED_PAGES - {"docs/intro.html"}
    site.targets()
    sync(source)
    assert "/docs/intro.html" not in site.targets()


def test_start_page_that_loses_its_links_deletes_only_what_has_moved(workspace, site, make_source):
    source = make_source()
    sync(source)
    home = site.pages["/"]
    site.pages["/"] = html("Back soon")
    assert counts(sync(source)) == ONE_UPDATED
    site.pages["/docs/intro.html"] = redirect("/guide.html")
    assert sync(source)["deleted"] == 1
    assert indexed_texts(workspace).keys() == LINKED_PAGES - {"docs/intro.html"}
    site.pages["/"] = home
    assert sync(source)["deleted"] == 0


def test_truncated_sitemap_deletes_only_pages_answered_404(workspace, site, make_source):
    site.pages["/map.xml"] = sitemap(site, "/docs/", "/docs/intro.html", "/guide.html")
    source = make_source(sitemap=site.url("/map.xml"))
    sync(source)
    site.pages["/map.xml"] = sitemap(site, "/guide.html")
    del site.pages["/docs/intro.html"]
    assert counts(sync(source)) == {"seen": 3, "unchanged": 2, "skipped": 1, "deleted": 1}
    assert indexed_texts(workspace).keys() == {"docs/index.html", "guide.html"}


class _Everywhere(dict):
    """The same page at every address, robots.txt aside."""

    def __init__(self, page, **others):
        super().__init__(others)
        self._page = page

    def get(self, key, default=None):
        return default if key == "/robots.txt" else super().get(key, self._page)


@pytest.mark.slow
def test_site_answering_the_same_page_everywhere_changes_nothing(workspace, site, make_source, subtests):
    link_many(site, 12)
    source = make_source()
    sync(source)
    before, pages = indexed_texts(workspace), site.pages
    for closed in (
        _Everywhere(html("We are back soon")),
        _Everywhere(redirect("/login"), **{"/login": html("Log in")}),
        _Everywhere(redirect("/login"), **{"/": html("Welcome"), "/login": html("Log in")}),
    ):
        with subtests.test(closed=closed):
            site.pages = closed
            assert "same page" in failure(source)
            assert indexed_texts(workspace) == before
    site.pages = pages
    assert counts(sync(source)) == {"seen": 13, "unchanged": 13}


def test_site_redirecting_to_its_login_deletes_nothing(workspace, site, make_source):
    targets = [f"/docs/{number}.html" for number in range(12)]
    site.pages["/docs/"] = html("Docs", *targets)
    site.pages |= {target: html(target) for target in targets}
    source = make_source(url=site.url("/docs/"))
    sync(source)
    before = indexed_texts(workspace)
    site.pages |= dict.fromkeys(["/docs/", *targets], redirect("/login"))
    site.pages["/login"] = html("Log in")
    assert "same page" in failure(source)
    assert indexed_texts(workspace) == before


def test_pages_redirected_to_one_page_are_deleted(workspace, site, make_source):
    source = make_source()
    sync(source)
    for target in ("/docs/", "/docs/intro.html", "/guide.html"):
        site.pages[target] = redirect("/")
    assert sync(source)["deleted"] == 3
    assert indexed_texts(workspace).keys() == {"index.html"}


def test_single_page_that_fails_keeps_its_content_and_links(workspace, site, make_source):
    guide = site.pages.pop("/guide.html")
    site.pages["/guide.html"] = Page(status=503, is_tagged=False)
    source = make_source()
    assert counts(sync(source)) == {"seen": 4, "new": 3, "failed": 1, "parser_calls": 3}
    site.pages["/guide.html"] = guide
    site.pages["/docs/"] = Page(status=500, is_tagged=False)
    report = sync(source)
    assert counts(report) == {"seen": 4, "new": 1, "unchanged": 2, "failed": 1, "parser_calls": 1}
    assert report["failed_by_reason"] == {"unreadable": 1}
    assert indexed_texts(workspace).keys() == LINKED_PAGES
    failed = Job.objects.filter(kind="sync_source").latest("created_at")
    assert "500" in JobItem.objects.get(job=failed, outcome="failed").detail
    site.pages["/docs/"] = html("Docs, mended", "intro.html")
    assert counts(ingest_report(work(retry(failed)))) == {"seen": 1, "updated": 1, "parser_calls": 1}


def test_page_answered_503_or_429_is_requested_again(site, make_source):
    answers = iter([503, 429, 200])

    def behave(exchange):
        status = next(answers)
        page = html("Guide") if status == 200 else Page(status=status, headers=(("Retry-After", "0"),))
        exchange.answer(page)

    site.pages["/guide.html"] = Page(behaviour=behave)
    assert counts(sync(make_source()))["new"] == 4


@pytest.mark.parametrize("status", [500, 503, 429, 404, 403])
def test_site_whose_start_page_fails_deletes_nothing(workspace, site, make_source, status):
    source = make_source()
    sync(source)
    home = site.pages["/"]
    site.pages["/"] = Page(status=status)
    assert str(status) in failure(source)
    assert indexed_texts(workspace).keys() == LINKED_PAGES
    assert Source.objects.get(pk=source.pk).state == "error"
    site.pages["/"] = home
    assert counts(sync(source)) == {"seen": 4, "unchanged": 4}


@pytest.mark.parametrize("is_linked", [True, False])
def test_partly_failing_site_deletes_nothing(workspace, site, make_source, is_linked):
    link_many(site, 12)
    source = make_source()
    sync(source)
    if not is_linked:
        site.pages["/"] = html("Back soon")
    for number in range(0, 12, 3):
        site.pages[f"/{number}.html"] = Page(status=502)
    del site.pages["/1.html"]
    error = failure(source)
    assert ("4 of 13" in error, "502" in error) == (True, True)
    assert len(indexed_texts(workspace)) == 13


def test_crawl_stops_when_most_pages_fail(workspace, site, make_source):
    link_many(site, 16)
    source = make_source()
    sync(source)
    for number in range(16):
        site.pages[f"/{number}.html"] = Page(status=500)
    site.targets()
    assert "10 of 11" in failure(source)
    assert len(site.targets()) == 11
    assert len(indexed_texts(workspace)) == 17
