"""Scope, depth and number of the pages that a crawl reads."""

import pytest

from search.models import Document
from tests.integration.ingest.connectors.web.site import LINKED_PAGES, Page, html, redirect, serving
from tests.support.jobs import counts, failure, indexed_texts, sync

pytestmark = pytest.mark.usefixtures("reachable_sites", "linked_site")


def test_options_of_a_source_choose_pages(site, make_source, subtests):
    site.pages["/start"] = redirect("/docs/")
    docs = {"docs/index.html", "docs/intro.html"}
    patterns = {"include": ["docs/**"], "exclude": ["docs/intro*"]}
    for key, options, read, skipped in (
        ("below", {"url": site.url("/docs/")}, docs, {}),
        ("redirected", {"url": site.url("/start")}, docs, {}),
        ("whole", {"url": site.url("/docs/"), "whole_host": True}, LINKED_PAGES, {}),
        ("patterns", patterns, {"docs/index.html"}, {"excluded_page": 3}),
        ("depth", {"max_depth": 1}, LINKED_PAGES - {"docs/intro.html"}, {"max_depth": 1}),
        ("number", {"max_pages": 2}, {"index.html", "docs/index.html"}, {"max_pages": 2}),
    ):
        with subtests.test(options=options):
            source = make_source(key, **options)
            site.targets()
            assert sync(source)["skipped_by_reason"] == skipped
            assert set(Document.objects.filter(source=source).values_list("path", flat=True)) == read
            assert key != "patterns" or site.targets() == ["/", "/docs/"]


def test_links_to_other_hosts_are_not_followed(workspace, site, make_source):
    with serving("127.0.0.2") as other:
        other.pages["/"] = html("Other")
        site.pages["/"] = html(
            "Home", other.url(), "//127.0.0.2/", "ftp://127.0.0.1/", "mailto:a@b", "javascript:0"
        )
        sync(make_source())
        assert other.asked == []
    assert indexed_texts(workspace).keys() == {"index.html"}


def test_pages_over_the_maximum_are_counted_once_if_not_excluded(site, make_source):
    links = [f"/many/{n}.html" for n in range(1_100)]
    others = [f"/drafts/{n}.html" for n in range(50)] + [f"/many/{n}.iso" for n in range(50)]
    site.pages["/"] = html("Home", *links, *others)
    site.pages["/many/0.html"] = html("Zero", *links, *(f"/deep/{n}.html" for n in range(50)))
    report = sync(make_source(max_pages=2, max_depth=1, exclude=["drafts/**"]))
    assert (counts(report)["new"], report["skipped_by_reason"]) == (2, {"max_pages": 1_099})


def test_links_counted_from_one_page_are_limited(site, make_source):
    site.pages["/"] = html("Home", *(f"/{number}.html" for number in range(8_000)))
    report = sync(make_source(max_pages=1))
    assert report["new"] == 1
    assert report["skipped_by_reason"]["max_pages"] <= 5_000


def test_query_parameters_are_dropped_unless_configured(workspace, site, make_source):
    site.pages["/"] = html("Home", "/a.html?lang=en&session=1", "/a.html?session=2&lang=fr#x")
    site.pages["/a.html"] = html("A")
    for lang in ("en", "fr"):
        site.pages[f"/a.html?lang={lang}"] = html(f"A in {lang}")
    sync(make_source("plain"))
    assert indexed_texts(workspace).keys() == {"index.html", "a.html"}
    sync(make_source("told-apart", query_parameters=["lang"]))
    assert indexed_texts(workspace).keys() >= {"a.html?lang=en.html", "a.html?lang=fr.html"}


def test_page_is_listed_under_its_canonical_address(workspace, site, make_source):
    site.pages["/"] = html("Home", "/print/guide.html", "/circle/a.html", "/lost.html")
    site.pages["/print/guide.html"] = html("Guide", head='<link rel="canonical" href="/guide.html">')
    site.pages["/circle/a.html"] = html("Circle", head='<link rel=canonical href="b.html">')
    site.pages["/circle/b.html"] = html("Circle", head='<link rel=canonical href="a.html">')
    site.pages["/lost.html"] = html("Lost", head='<link rel=canonical href="/missing.html">')
    source = make_source()
    sync(source)
    assert indexed_texts(workspace).keys() == {"index.html", "guide.html", "circle/a.html", "lost.html"}
    assert counts(sync(source))["unchanged"] == 4


def test_redirects_lead_to_one_document(workspace, site, make_source):
    site.pages["/"] = html("Home", "/old.html", "/guide.html", "/older.html", "/loop/a", "/self", "/hidden")
    site.pages["/old.html"] = redirect("/guide.html", 302)
    site.pages["/older.html"] = redirect("old.html", 308)
    site.pages["/loop/a"] = redirect("/loop/b")
    site.pages["/loop/b"] = redirect("/loop/a")
    site.pages |= dict.fromkeys(["/self", "/self?cookie=1"], redirect("/self?cookie=1"))
    site.pages["/hidden"] = redirect("/secret/a.html")
    report = sync(make_source(exclude=["secret/**"]))
    assert indexed_texts(workspace).keys() == {"index.html", "guide.html"}
    assert report["skipped_by_reason"] == {"redirect_loop": 2, "excluded_page": 1}
    assert "/secret/a.html" not in site.targets()


def test_redirect_of_the_start_page_does_not_widen_the_crawl(workspace, site, make_source, subtests):
    site.pages["/elsewhere/"] = redirect("/")
    source = make_source(url=site.url("/docs/v2/"))
    for target in ("/", "/guide.html", "/docs/intro.html", "/elsewhere/"):
        with subtests.test(target=target):
            site.pages["/docs/v2/"] = redirect(target)
            assert "whole_host" in failure(source)
            assert site.targets()[0] == "/docs/v2/"
            assert indexed_texts(workspace) == {}
    sync(make_source("whole", url=site.url("/docs/v2/"), whole_host=True))
    assert indexed_texts(workspace)


def test_redirect_may_be_written_in_utf_8_or_latin_1(workspace, site, make_source):
    written = ["/\u00fc.html".encode().decode("latin-1"), "/%C3%B6.html", "\xe4.html"]
    site.pages["/"] = html("Home", "/0.html", "/1.html", "/2.html")
    for number, location in enumerate(written):
        site.pages[f"/{number}.html"] = redirect(location)
    for letter in ("%C3%BC", "%C3%B6", "%C3%A4"):
        site.pages[f"/{letter}.html"] = html(letter)
    sync(make_source())
    assert indexed_texts(workspace).keys() == {"index.html", "\u00fc.html", "\u00f6.html", "\u00e4.html"}


def test_addresses_get_the_extension_of_their_content(workspace, site, make_source):
    site.pages["/"] = html("Home", "/a", "/b.php", "/c.md", "/d", "/e.html")
    site.pages["/a"] = html("A")
    site.pages["/b.php"] = html("B")
    site.pages["/c.md"] = Page(body=b"# C\n\nmarked down\n", mime="text/markdown")
    site.pages["/d"] = Page(body=b"plain\n", mime="text/plain")
    site.pages["/e.html"] = Page(body=b"<html><p>E</p></html>", mime="text/html;charset=latin-1")
    sync(make_source())
    assert indexed_texts(workspace).keys() == {"index.html", "a.html", "b.php.html", "c.md", "d", "e.html"}
    assert indexed_texts(workspace)["c.md"] == ["marked down"]


def test_two_urls_with_one_path_become_one_document(workspace, site, make_source):
    site.pages["/"] = html("Home", "/a", "/a.html")
    site.pages["/a"] = html("A")
    site.pages["/a.html"] = html("A, again")
    report = sync(make_source())
    assert report["skipped_by_reason"] == {"duplicate_path": 1}
    assert indexed_texts(workspace)["a.html"] == ["All about A."]


def test_bases_that_a_page_names_are_respected_or_left_out(workspace, site, make_source):
    site.pages["/"] = html("Home", "intro.html", "/guide.html", "/long.html", head='<base href="/docs/">')
    site.pages["/guide.html"] = html("Guide", "a.html", head='<base href="http://127.0.0.2/">')
    # Joined with each link it would take minutes.
    base = f'<base href="/{"x/" * 1_000_000}">'
    site.pages["/long.html"] = html("Long", *["guide.html"] * 5_000, head=base)
    report = sync(make_source())
    assert indexed_texts(workspace).keys() == {"index.html", "docs/intro.html", "guide.html", "long.html"}
    assert report["skipped"] == 0


def test_malformed_links_are_ignored(workspace, site, make_source):
    links = [
        "http://[::1",
        "/\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
        "/../../../etc/passwd",
        "/a%00b.html",
        "/a%23b.html",
        "/%2e%2e/%2F.html",
        "/" + "x" * 5_000,
        "/e%CC%81.html",
        "\x00",
        "http://127.0.0.1:port/",
        "//",
        "?",
        "&#1114112;",
    ]
    site.pages["/"] = html("Home", *links)
    for target in ("/etc/passwd", "/a%00b.html", "/a%23b.html", "/%2F.html", "/e%CC%81.html"):
        site.pages[target] = html(target)
    sync(make_source())
    read = {"etc/passwd.html", "a%00b.html", "a%23b.html", "%2F.html", "\u00e9.html"}
    assert indexed_texts(workspace).keys() == {"index.html", *read}
