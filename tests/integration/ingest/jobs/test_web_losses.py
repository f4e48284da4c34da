"""What is deleted with a site that loses pages, and what stays with one that fails."""

import pytest

from ingest.jobs.report import ingest_report
from ingest.jobs.request import retry
from ingest.models import Job, JobItem, WebPage
from search.blobs import has_blob
from search.identifiers import content_hash
from search.models import Source
from tests.integration.ingest.jobs.site import LINKED_PAGES, Page, html, redirect, sitemap
from tests.support.jobs import counts, failure, indexed, sync, work

pytestmark = pytest.mark.usefixtures("reachable_sites")


@pytest.fixture
def site(linked_site):
    return linked_site


@pytest.fixture
def make(site_source):
    return site_source


@pytest.mark.parametrize("status", [404, 410])
def test_a_page_that_is_gone_is_deleted_with_its_bytes(workspace, site, make, status):
    source = make()
    sync(source)
    body = site.pages["/guide.html"].body
    site.pages["/guide.html"] = Page(status=status, is_tagged=False)
    report = sync(source)
    assert (report["deleted"], report["skipped_by_reason"]) == (1, {"not_found": 1})
    assert indexed(workspace).keys() == LINKED_PAGES - {"guide.html"}
    assert not has_blob(workspace.pk, content_hash(body))
    assert not WebPage.objects.filter(path="guide.html").exists()


def test_a_page_that_nothing_leads_to_any_more_stays_until_its_own_address_says_that_it_is_gone(
    workspace, site, make
):
    source = make()
    sync(source)
    site.pages["/docs/"] = html("Docs")
    assert counts(sync(source)) == {"seen": 4, "updated": 1, "unchanged": 3, "parser_calls": 1}
    site.pages["/docs/intro.html"] = html("Intro, alone")
    assert counts(sync(source)) == {"seen": 4, "updated": 1, "unchanged": 3, "parser_calls": 1}
    del site.pages["/docs/intro.html"]
    assert counts(sync(source)) == {"seen": 4, "unchanged": 3, "skipped": 1, "deleted": 1}
    assert indexed(workspace).keys() == LINKED_PAGES - {"docs/intro.html"}
    site.targets()
    sync(source)
    assert "/docs/intro.html" not in site.targets()


def test_a_page_that_nothing_leads_to_any_more_and_that_has_moved_is_deleted(workspace, site, make):
    source = make()
    sync(source)
    site.pages["/docs/"] = html("Docs")
    site.pages["/docs/intro.html"] = redirect("/guide.html")
    assert sync(source)["deleted"] == 1
    assert indexed(workspace).keys() == LINKED_PAGES - {"docs/intro.html"}


def test_a_start_page_that_says_back_soon_deletes_nothing(workspace, site, make):
    source = make()
    sync(source)
    home = site.pages["/"]
    site.pages["/"] = html("Back soon")
    assert counts(sync(source)) == {"seen": 4, "updated": 1, "unchanged": 3, "parser_calls": 1}
    site.pages["/"] = home
    assert counts(sync(source)) == {"seen": 4, "updated": 1, "unchanged": 3, "parser_calls": 1}


def test_a_sitemap_that_was_cut_off_deletes_what_is_gone_alone(workspace, site, make):
    site.pages["/map.xml"] = sitemap(site, "/docs/", "/docs/intro.html", "/guide.html")
    source = make(sitemap=site.url("/map.xml"))
    sync(source)
    site.pages["/map.xml"] = sitemap(site, "/guide.html")
    del site.pages["/docs/intro.html"]
    assert counts(sync(source)) == {"seen": 3, "unchanged": 2, "skipped": 1, "deleted": 1}
    assert indexed(workspace).keys() == {"docs/index.html", "guide.html"}


def test_known_pages_that_fail_fail_the_listing_when_nothing_leads_to_them(workspace, site, make):
    many(site, 12)
    source = make()
    sync(source)
    site.pages["/"] = html("Back soon")
    for number in range(0, 12, 2):
        site.pages[f"/{number}.html"] = Page(status=503)
    del site.pages["/1.html"]
    assert "6 of 13 pages" in failure(source)
    assert len(indexed(workspace)) == 13


class _Everywhere(dict):
    """The same page at every address, robots.txt aside."""

    def __init__(self, page, **others):
        super().__init__(others)
        self._page = page

    def get(self, key, default=None):
        return default if key == "/robots.txt" else super().get(key, self._page)


@pytest.mark.parametrize(
    "closed",
    [
        _Everywhere(html("We are back soon")),
        _Everywhere(redirect("/login"), **{"/login": html("Log in")}),
        _Everywhere(redirect("/login"), **{"/": html("Welcome"), "/login": html("Log in")}),
    ],
)
def test_a_site_that_answers_the_same_everywhere_deletes_and_replaces_nothing(workspace, site, make, closed):
    many(site, 12)
    source = make()
    sync(source)
    before = indexed(workspace)
    pages, site.pages = site.pages, closed
    assert "show or lead to the same page now" in failure(source)
    assert indexed(workspace) == before
    site.pages = pages
    assert counts(sync(source)) == {"seen": 13, "unchanged": 13}


def test_a_site_that_leads_out_of_the_source_to_its_login_deletes_nothing(workspace, site, make):
    targets = [f"/docs/{number}.html" for number in range(12)]
    site.pages["/docs/"] = html("Docs", *targets)
    site.pages |= {target: html(target) for target in targets}
    source = make(url=site.url("/docs/"))
    sync(source)
    before = indexed(workspace)
    site.pages |= dict.fromkeys(["/docs/", *targets], redirect("/login"))
    site.pages["/login"] = html("Log in")
    assert "show or lead to the same page now" in failure(source)
    assert indexed(workspace) == before


def test_a_few_pages_may_become_one(workspace, site, make):
    source = make()
    sync(source)
    for target in ("/docs/", "/docs/intro.html", "/guide.html"):
        site.pages[target] = redirect("/")
    assert sync(source)["deleted"] == 3
    assert indexed(workspace).keys() == {"index.html"}


def test_a_single_page_that_fails_keeps_its_content_and_its_links_and_is_told(workspace, site, make):
    source = make()
    sync(source)
    site.pages["/docs/"] = Page(status=500, is_tagged=False)
    report = sync(source)
    assert counts(report) == {"seen": 4, "unchanged": 3, "failed": 1}
    assert report["failed_by_reason"] == {"unreadable": 1}
    assert indexed(workspace).keys() == LINKED_PAGES
    assert JobItem.objects.get(outcome="failed").detail == "The site answered 500."
    failed = Job.objects.filter(kind="sync_source").latest("created_at")
    site.pages["/docs/"] = html("Docs, mended", "intro.html")
    assert counts(ingest_report(work(retry(failed)))) == {"seen": 1, "updated": 1, "parser_calls": 1}


def test_a_new_page_that_fails_is_told_and_found_when_it_answers(workspace, site, make):
    site.pages["/guide.html"] = Page(status=503, is_tagged=False)
    source = make()
    assert counts(sync(source)) == {"seen": 4, "new": 3, "failed": 1, "parser_calls": 3}
    site.pages["/guide.html"] = html("Guide")
    assert counts(sync(source)) == {"seen": 4, "new": 1, "unchanged": 3, "parser_calls": 1}


def test_a_site_that_asks_for_patience_is_asked_again(workspace, site, make):
    answers = iter([503, 429, 200])

    def behave(exchange):
        status = next(answers)
        page = html("Guide") if status == 200 else Page(status=status, headers=(("Retry-After", "0"),))
        exchange.answer(page)

    site.pages["/guide.html"] = Page(behaviour=behave)
    assert counts(sync(make()))["new"] == 4


@pytest.mark.parametrize("page", [Page(status=status) for status in (500, 503, 429, 404, 403)])
def test_a_site_whose_start_page_cannot_be_had_deletes_nothing(workspace, site, make, page):
    source = make()
    sync(source)
    home = site.pages["/"]
    site.pages["/"] = page
    assert f"answered {page.status}" in failure(source)
    assert indexed(workspace).keys() == LINKED_PAGES
    assert Source.objects.get(pk=source.pk).state == "error"
    site.pages["/"] = home
    assert counts(sync(source)) == {"seen": 4, "unchanged": 4}


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"", 500, "answered 500"),
        (b"", 404, "is not there"),
        (b"<urlset><url>", 200, "is not the XML"),
        (b"<urlset/>", 200, "lists no page"),
        (b"<html></html>", 200, "is no sitemap"),
        (b'<!DOCTYPE x [<!ENTITY a "b">]><urlset/>', 200, "document type"),
    ],
)
def test_a_sitemap_that_cannot_be_read_deletes_nothing(workspace, site, make, body, status, said):
    site.pages["/map.xml"] = sitemap(site, "/guide.html")
    source = make(sitemap=site.url("/map.xml"))
    sync(source)
    site.pages["/map.xml"] = Page(body=body, status=status, mime="application/xml")
    assert said in failure(source)
    assert indexed(workspace).keys() == {"guide.html"}


def many(site, count):
    site.pages["/"] = html("Home", *(f"/{number}.html" for number in range(count)))
    for number in range(count):
        site.pages[f"/{number}.html"] = html(f"Page {number}")


def test_a_site_of_which_a_share_fails_deletes_nothing(workspace, site, make):
    many(site, 12)
    source = make()
    sync(source)
    for number in range(0, 12, 3):
        site.pages[f"/{number}.html"] = Page(status=502)
    del site.pages["/1.html"]
    error = failure(source)
    assert "4 of 13 pages" in error
    assert "answered 502" in error
    assert len(indexed(workspace)) == 13


def test_a_site_that_has_broken_down_is_left_alone(workspace, site, make):
    many(site, 40)
    source = make()
    sync(source)
    for number in range(40):
        site.pages[f"/{number}.html"] = Page(status=500)
    site.targets()
    assert "10 of 11 pages" in failure(source)
    assert len(site.targets()) == 11
    assert len(indexed(workspace)) == 41
