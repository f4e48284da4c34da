"""Which pages of a site are read: below what, how far, how many, by links or by a sitemap."""

import pytest

from tests.integration.ingest.jobs.site import LINKED_PAGES, Page, html, packed, serving, sitemap
from tests.support.jobs import counts, indexed, sync

pytestmark = pytest.mark.usefixtures("reachable_sites")


@pytest.fixture
def site(linked_site):
    return linked_site


@pytest.fixture
def make(site_source):
    return site_source


def test_only_what_lies_below_the_start_page_is_read(workspace, site, make):
    sync(make(url=site.url("/docs/")))
    assert indexed(workspace).keys() == {"docs/index.html", "docs/intro.html"}


def test_the_whole_host_is_read_on_request(workspace, site, make):
    sync(make(url=site.url("/docs/"), whole_host=True))
    assert indexed(workspace).keys() == LINKED_PAGES


def test_links_to_other_hosts_are_not_followed(workspace, site, make):
    with serving("127.0.0.2") as other:
        other.pages["/"] = html("Other")
        site.pages["/"] = html(
            "Home", other.url(), "//127.0.0.2/", "ftp://127.0.0.1/", "mailto:a@b", "javascript:0"
        )
        sync(make())
        assert other.asked == []
    assert indexed(workspace).keys() == {"index.html"}


def test_patterns_choose_pages(workspace, site, make):
    report = sync(make(include=["docs/**"], exclude=["docs/intro*"]))
    assert indexed(workspace).keys() == {"docs/index.html"}
    assert report["skipped_by_reason"] == {"excluded_page": 3}
    assert site.targets() == ["/", "/docs/"]


def test_at_most_so_many_pages_are_read(workspace, site, make):
    report = sync(make(max_pages=2))
    assert (counts(report)["new"], report["skipped_by_reason"]) == (2, {"max_pages": 2})
    assert indexed(workspace).keys() == {"index.html", "docs/index.html"}


def test_pages_beyond_those_that_are_looked_at_are_counted_once(workspace, site, make):
    links = [f"/many/{n}.html" for n in range(1_500)]
    site.pages["/"] = html("Home", *links)
    site.pages["/many/0.html"] = html("Zero", *links)
    report = sync(make(max_pages=2))
    assert (counts(report)["new"], report["skipped_by_reason"]) == (2, {"max_pages": 1_499})


def test_of_pages_that_are_not_looked_at_those_that_would_be_left_out_anyway_do_not_count(
    workspace, site, make
):
    links = [f"/many/{n}.html" for n in range(1_100)]
    others = [f"/drafts/{n}.html" for n in range(50)] + [f"/many/{n}.iso" for n in range(50)]
    site.pages["/"] = html("Home", *links, *others)
    site.pages["/many/0.html"] = html("Zero", *(f"/deep/{n}.html" for n in range(50)))
    report = sync(make(max_pages=2, max_depth=1, exclude=["drafts/**"]))
    assert (counts(report)["new"], report["skipped_by_reason"]) == (2, {"max_pages": 1_099})


def test_links_are_followed_so_far(workspace, site, make):
    report = sync(make(max_depth=1))
    assert report["skipped_by_reason"] == {"max_depth": 1}
    assert indexed(workspace).keys() == LINKED_PAGES - {"docs/intro.html"}


def test_a_query_is_dropped_unless_it_tells_pages_apart(workspace, site, make):
    site.pages["/"] = html("Home", "/a.html?lang=en&session=1", "/a.html?session=2&lang=fr#x")
    site.pages["/a.html"] = html("A")
    for lang in ("en", "fr"):
        site.pages[f"/a.html?lang={lang}"] = html(f"A in {lang}")
    sync(make("plain"))
    assert indexed(workspace).keys() == {"index.html", "a.html"}
    sync(make("told-apart", query_parameters=["lang"]))
    assert indexed(workspace).keys() >= {"a.html?lang=en.html", "a.html?lang=fr.html"}


def test_a_sitemap_lists_the_pages_and_their_links_are_not_followed(workspace, site, make):
    site.pages["/map.xml"] = sitemap(site, "/docs/", "/guide.html", "/missing.html")
    report = sync(make(sitemap=site.url("/map.xml")))
    assert indexed(workspace).keys() == {"docs/index.html", "guide.html"}
    assert report["skipped_by_reason"] == {"not_found": 1}


def test_an_index_of_packed_sitemaps_is_read(workspace, site, make):
    index = "".join(
        f"<sitemap><loc>{address}</loc></sitemap>"
        for address in (site.url("/1.xml.gz"), site.url("/gone.xml"), "http://127.0.0.2/other.xml")
    )
    site.pages["/map.xml"] = Page(body=f"<sitemapindex>{index}</sitemapindex>".encode(), mime="text/xml")
    raw = packed(sitemap(site, "/guide.html"))
    site.pages["/1.xml.gz"] = Page(body=raw.body, mime="application/gzip")
    report = sync(make(sitemap=site.url("/map.xml")))
    assert indexed(workspace).keys() == {"guide.html"}
    assert report["skipped_by_reason"] == {"not_found": 1, "leads_elsewhere": 1}


def test_sitemaps_over_the_limit_are_told_once_for_each_that_lists_them(workspace, site, make, monkeypatch):
    monkeypatch.setattr("ingest.connectors.web.front._MAX_SITEMAPS", 4)

    def index(*addresses):
        listed = "".join(f"<sitemap><loc>{address}</loc></sitemap>" for address in addresses)
        return Page(body=f"<sitemapindex>{listed}</sitemapindex>".encode(), mime="text/xml")

    site.pages["/map.xml"] = index(*(site.url(f"/{nth}.xml") for nth in (1, 2)), site.url("/map.xml"))
    elsewhere = (f"http://127.0.0.2/{nth}.xml" for nth in range(100))
    site.pages["/1.xml"] = index(*elsewhere, site.url("/pages.xml"))
    site.pages["/2.xml"] = index(*(site.url(f"/over/{nth}.xml") for nth in range(100)))
    site.pages["/pages.xml"] = sitemap(site, "/guide.html")
    report = sync(make(sitemap=site.url("/map.xml")))
    assert indexed(workspace).keys() == {"guide.html"}
    assert report["skipped_by_reason"] == {"leads_elsewhere": 2}
    assert site.targets() == ["/map.xml", "/1.xml", "/2.xml", "/pages.xml", "/guide.html"]


def test_a_sitemap_beside_a_start_page_adds_what_no_link_leads_to(workspace, site, make):
    site.pages["/hidden.html"] = html("Hidden")
    site.pages["/map.xml"] = sitemap(site, "/hidden.html")
    sync(make(url=site.url(), sitemap=site.url("/map.xml")))
    assert indexed(workspace).keys() == {*LINKED_PAGES, "hidden.html"}
