"""robots.txt and sitemaps determine which pages are read and how often."""

import gzip

import pytest

from ingest.connectors.web.requests import RateLimiter
from ingest.errors import JobCancelled
from kebab.sandbox.program import ChildDied
from tests.integration.ingest.connectors.web.site import (
    LINKED_PAGES,
    Page,
    gzip_page,
    html,
    redirect,
    sitemap,
)
from tests.integration.ingest.connectors.web.site_workers import WorkerWithoutProcess
from tests.support.jobs import failure, indexed_texts, sync

pytestmark = pytest.mark.usefixtures("reachable_sites", "linked_site")


def index(*addresses):
    """Return a sitemap that lists other sitemaps."""
    listed = "".join(f"<sitemap><loc>{address}</loc></sitemap>" for address in addresses)
    return Page(body=f"<sitemapindex>{listed}</sitemapindex>".encode(), mime="text/xml")


def crash(*_):
    raise ChildDied("it ran out of memory")


def test_robots_txt_is_respected(workspace, site, make_source):
    text = b"User-agent: *\nDisallow: /\n\nUser-agent: Kebab\nDisallow: /docs/*.html$\nAllow: /docs/\n"
    site.pages["/robots.txt"] = Page(body=text, mime="text/plain")
    report = sync(make_source())
    assert report["skipped_by_reason"] == {"disallowed_by_robots": 1}
    assert indexed_texts(workspace).keys() == LINKED_PAGES - {"docs/intro.html"}
    assert "/docs/intro.html" not in site.targets()


def test_unusable_robots_txt_forbids_the_site(site, make_source, monkeypatch):
    monkeypatch.setattr("ingest.connectors.web.child.judge_address", crash)
    monkeypatch.setattr("ingest.connectors.web.requests.SandboxWorker", WorkerWithoutProcess)
    assert "robots.txt" in failure(make_source())
    assert site.targets() == []


@pytest.mark.parametrize(
    ("robots", "said"),
    [
        (Page(body=b"User-agent: *\nDisallow: /\n"), "robots.txt"),
        (Page(status=500), "500"),
        (Page(status=429), "429"),
        (redirect("http://127.0.0.2/robots.txt"), "another host"),
        (redirect("/robots.txt"), "5 times"),
        (Page(body=b"User-agent: *\nCrawl-delay: 3600\n"), "3,600"),
    ],
)
def test_site_whose_robots_txt_forbids_or_fails_is_not_read(workspace, site, make_source, robots, said):
    source = make_source()
    sync(source)
    site.pages["/robots.txt"] = robots
    site.targets()
    assert said in failure(source)
    assert site.targets() == []
    assert indexed_texts(workspace).keys() == LINKED_PAGES


def test_requests_respect_the_crawl_delay(site, make_source, monkeypatch):
    paces = []
    site.pages["/robots.txt"] = Page(body=b"User-agent: *\nCrawl-delay: 7\n")
    monkeypatch.setattr(RateLimiter, "wait_turn", lambda self: paces.append(self.interval_s))
    sync(make_source())
    assert paces == [0.0001, 7.0, 7.0, 7.0, 7.0]


def test_workers_share_the_rate_limit_of_a_site():
    waits = []

    def stop():
        waits.append(1)
        raise JobCancelled("enough")

    RateLimiter("turns.example.org", 30.0, stop).wait_turn()
    with pytest.raises(JobCancelled):
        RateLimiter("turns.example.org", 30.0, stop).wait_turn()
    RateLimiter("other.example.org", 30.0, stop).wait_turn()
    assert waits == [1]


def test_sitemap_lists_the_pages_alone_or_beside_a_start_page(workspace, site, make_source):
    site.pages["/hidden.html"] = html("Hidden", "/guide.html")
    site.pages["/map.xml"] = sitemap(site, "/docs/", "/hidden.html", "/missing.html")
    report = sync(make_source(sitemap=site.url("/map.xml")))
    assert indexed_texts(workspace).keys() == {"docs/index.html", "hidden.html"}
    assert report["skipped_by_reason"] == {"not_found": 1}
    sync(make_source("both", url=site.url(), sitemap=site.url("/map.xml")))
    assert indexed_texts(workspace).keys() == {*LINKED_PAGES, "hidden.html"}


def test_sitemap_with_the_usual_mistakes_is_read(workspace, site, make_source):
    host = site.url("").partition("//")[2]
    locations = ("guide.html", f"HTTP://{host}/docs/", f"{host}/view?a=1&b=2", "https://elsewhere.example/")
    listed = "".join(f"<URL><Loc><![CDATA[ {location} ]]></Loc></URL>" for location in locations[:2])
    listed += "".join(f"<url><loc>{location}</loc></url>" for location in locations[2:])
    body = f"\n\ufeff<?xml version='1.0'?><urlset xmlns='http://example.org/'>{listed}</urlset>\n<!-- -->x"
    site.pages["/map"] = gzip_page(Page(body=body.encode(), mime="text/html"))
    site.pages["/view?a=1&b=2"] = html("View")
    report = sync(make_source(sitemap=site.url("/map")))
    assert indexed_texts(workspace).keys() == {"guide.html", "docs/index.html", "view?a=1&b=2.html"}
    assert report["skipped_by_reason"] == {"leads_elsewhere": 1}


@pytest.mark.parametrize("status", [404, 503])
def test_error_of_a_sitemap_hides_its_query_string(site, make_source, status):
    site.pages["/map.xml?token=hush"] = Page(status=status)
    shown = failure(make_source(sitemap=site.url("/map.xml?token=hush")))
    assert site.url("/map.xml") in shown
    assert "hush" not in shown


def test_index_of_packed_sitemaps_is_read(workspace, site, make_source):
    site.pages["/map.xml"] = index(site.url("/1.xml.gz"), site.url("/gone.xml"), "http://127.0.0.2/other.xml")
    site.pages["/1.xml.gz"] = Page(body=gzip_page(sitemap(site, "/guide.html")).body, mime="application/gzip")
    report = sync(make_source(sitemap=site.url("/map.xml")))
    assert indexed_texts(workspace).keys() == {"guide.html"}
    assert report["skipped_by_reason"] == {"not_found": 1, "leads_elsewhere": 1}


def test_sitemaps_over_the_limit_are_counted_once_a_listing(workspace, site, make_source, monkeypatch):
    monkeypatch.setattr("ingest.connectors.web.discovery._MAX_SITEMAPS", 4)
    site.pages["/map.xml"] = index(*(site.url(f"/{nth}.xml") for nth in (1, 2)), site.url("/map.xml"))
    elsewhere = (f"http://127.0.0.2/{nth}.xml" for nth in range(100))
    site.pages["/1.xml"] = index(*elsewhere, site.url("/pages.xml"))
    site.pages["/2.xml"] = index(*(site.url(f"/over/{nth}.xml") for nth in range(100)))
    site.pages["/pages.xml"] = sitemap(site, "/guide.html")
    report = sync(make_source(sitemap=site.url("/map.xml")))
    assert indexed_texts(workspace).keys() == {"guide.html"}
    assert report["skipped_by_reason"] == {"leads_elsewhere": 2}
    assert site.targets() == ["/map.xml", "/1.xml", "/2.xml", "/pages.xml", "/guide.html"]


def test_sitemap_that_cannot_be_read_deletes_nothing(workspace, site, make_source, subtests):
    site.pages["/map.xml"] = sitemap(site, "/guide.html")
    source = make_source(sitemap=site.url("/map.xml"))
    sync(source)
    for body, status, said in (
        (b"", 500, "500"),
        (b"", 404, "not there"),
        (b"<urlset><url>", 200, "XML"),
        (b"<urlset/>", 200, "no page"),
    ):
        with subtests.test(body=body, status=status):
            site.pages["/map.xml"] = Page(body=body, status=status, mime="application/xml")
            assert said in failure(source)
            assert indexed_texts(workspace).keys() == {"guide.html"}


def test_packed_sitemap_that_grows_without_end_is_refused(site, make_source, monkeypatch):
    monkeypatch.setattr("ingest.connectors.web.discovery.MAX_SITEMAP_BYTES", 1_000_000)
    site.pages["/map.xml.gz"] = Page(body=gzip.compress(b" " * 20_000_000), mime="application/gzip")
    assert "1,000,000 bytes" in failure(make_source(sitemap=site.url("/map.xml.gz")))
