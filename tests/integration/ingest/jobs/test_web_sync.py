"""Syncing a web site: what is listed, what is asked for again, what goes."""

import pytest

from ingest.jobs.request import request_source_deletion
from ingest.models import WebPage
from kebab import __version__
from search.blobs import has_blob
from search.identifiers import content_hash
from search.models import Change, Chunk, Document
from tests.integration.ingest.jobs.site import LINKED_PAGES, Page, html, packed, redirect
from tests.support.jobs import PICTURE, counts, failure, indexed, sync, work

pytestmark = pytest.mark.usefixtures("reachable_sites")


@pytest.fixture
def site(linked_site):
    return linked_site


@pytest.fixture
def make(site_source):
    return site_source


def test_the_pages_that_links_lead_to_become_documents(workspace, site, make):
    report = sync(make())
    assert counts(report) == {"seen": 4, "new": 4, "parser_calls": 4}
    assert indexed(workspace).keys() == LINKED_PAGES
    assert site.targets() == ["/", "/docs/", "/guide.html", "/docs/intro.html"]


def test_a_document_has_its_address_and_its_title_and_a_citation_that_points_at_its_line(
    workspace, site, make
):
    sync(make())
    document = Document.objects.get(path="docs/intro.html")
    assert document.metadata["url"] == site.url("/docs/intro.html")
    assert (document.title, document.mime) == ("Intro", "text/html")
    chunk = Chunk.objects.filter(document=document).order_by("ordinal").first()
    cited = site.pages["/docs/intro.html"].body.decode().split("\n")[chunk.source_spans[0]["start"] - 1]
    assert "All about Intro." in chunk.text
    assert cited.strip() in ("<h1>Intro</h1>", "<p>All about Intro.</p>")


def test_a_second_sync_gets_no_bytes_and_parses_nothing(workspace, site, make):
    source = make()
    sync(source)
    site.asked.clear()
    assert counts(sync(source)) == {"seen": 4, "unchanged": 4}
    assert {asked.headers.get("if-none-match") is None for asked in site.asked[1:]} == {False}
    assert len(site.asked) == 5
    assert Change.objects.count() == 4


def test_a_changed_page_alone_is_parsed_and_links_of_unchanged_ones_are_still_known(workspace, site, make):
    source = make()
    sync(source)
    site.pages["/docs/intro.html"] = html("Intro, second edition")
    assert counts(sync(source)) == {"seen": 4, "updated": 1, "unchanged": 3, "parser_calls": 1}
    assert "second edition" in indexed(workspace)["docs/intro.html"][0]


def test_last_modified_is_enough_to_ask_whether_a_page_has_changed(workspace, site, make):
    date = "Sat, 01 Aug 2026 10:00:00 GMT"
    site.pages["/"] = html("Home", is_tagged=False, headers=(("Last-Modified", date),))
    source = make()
    sync(source)
    site.targets()
    sync(source)
    assert site.asked[1].headers["if-modified-since"] == date


@pytest.mark.parametrize("tag", ['"caf\xe9"', '"caf\xc3\xa9"'])
def test_a_validator_beyond_ascii_is_not_sent_back(site, make, tag):
    site.pages["/"] = html("Home", is_tagged=False, headers=(("ETag", tag), ("Last-Modified", tag)))
    source = make()
    sync(source)
    assert counts(sync(source)) == {"seen": 1, "unchanged": 1}


def test_a_page_without_validators_is_sent_again_and_not_parsed(workspace, site, make):
    site.pages["/"] = html("Home", is_tagged=False)
    source = make()
    sync(source)
    assert counts(sync(source)) == {"seen": 1, "unchanged": 1}


def test_robots_txt_is_respected(workspace, site, make):
    text = b"User-agent: *\nDisallow: /\n\nUser-agent: Kebab\nDisallow: /docs/*.html$\nAllow: /docs/\n"
    site.pages["/robots.txt"] = Page(body=text, mime="text/plain")
    report = sync(make())
    assert report["skipped_by_reason"] == {"disallowed_by_robots": 1}
    assert indexed(workspace).keys() == LINKED_PAGES - {"docs/intro.html"}
    assert "/docs/intro.html" not in site.targets()


@pytest.mark.parametrize(
    ("robots", "said"),
    [
        (Page(body=b"User-agent: *\nDisallow: /\n"), "does not allow"),
        (Page(status=500), "answered 500"),
        (Page(status=429), "answered 429"),
        (redirect("http://127.0.0.2/robots.txt"), "another host"),
        (redirect("/robots.txt"), "more than 5 times"),
        (Page(body=b"User-agent: *\nCrawl-delay: 3600\n"), "3,600 seconds"),
    ],
)
def test_nothing_is_read_where_robots_txt_forbids_it_or_cannot_be_had(workspace, site, make, robots, said):
    source = make()
    sync(source)
    site.pages["/robots.txt"] = robots
    site.targets()
    assert said in failure(source)
    assert site.targets() == []
    assert indexed(workspace).keys() == LINKED_PAGES


def test_pages_may_ask_not_to_be_indexed_or_followed(workspace, site, make):
    site.pages["/"] = html("Home", "/a.html", "/b.html", "/c.html")
    site.pages["/a.html"] = html("A", "/d.html", head='<META content="NOINDEX" name=Robots>')
    site.pages["/b.html"] = html("B", "/e.html", headers=(("X-Robots-Tag", "kebab: nofollow"),))
    site.pages["/c.html"] = html("C", headers=(("X-Robots-Tag", "otherbot: noindex"),))
    site.pages["/d.html"] = html("D")
    site.pages["/e.html"] = html("E")
    source = make()
    report = sync(source)
    assert indexed(workspace).keys() == {"index.html", "b.html", "c.html", "d.html"}
    assert report["skipped_by_reason"] == {"noindex": 1}
    assert counts(sync(source)) == {"seen": 5, "unchanged": 4, "skipped": 1}


def test_a_page_that_comes_to_ask_not_to_be_indexed_is_deleted(workspace, site, make):
    source = make()
    sync(source)
    body = site.pages["/guide.html"].body
    site.pages["/guide.html"] = html("Guide", head='<meta name="robots" content="none">')
    assert sync(source)["deleted"] == 1
    assert "guide.html" not in indexed(workspace)
    assert not has_blob(workspace.pk, content_hash(body))


def test_a_page_is_listed_under_its_canonical_address(workspace, site, make):
    site.pages["/"] = html("Home", "/print/guide.html", "/circle/a.html", "/lost.html")
    site.pages["/print/guide.html"] = html("Guide", head='<link rel="canonical" href="/guide.html">')
    site.pages["/circle/a.html"] = html("Circle", head='<link rel=canonical href="b.html">')
    site.pages["/circle/b.html"] = html("Circle", head='<link rel=canonical href="a.html">')
    site.pages["/lost.html"] = html("Lost", head='<link rel=canonical href="/missing.html">')
    source = make()
    sync(source)
    assert indexed(workspace).keys() == {"index.html", "guide.html", "circle/a.html", "lost.html"}
    assert counts(sync(source))["unchanged"] == 4


def test_redirects_lead_to_one_document(workspace, site, make):
    site.pages["/"] = html("Home", "/old.html", "/guide.html", "/older.html", "/loop/a", "/self", "/hidden")
    site.pages["/old.html"] = redirect("/guide.html", 302)
    site.pages["/older.html"] = redirect("old.html", 308)
    site.pages["/loop/a"] = redirect("/loop/b")
    site.pages["/loop/b"] = redirect("/loop/a")
    site.pages["/self"] = redirect("/self?cookie=1")
    site.pages["/hidden"] = redirect("/secret/a.html")
    report = sync(make(exclude=["secret/**"]))
    assert indexed(workspace).keys() == {"index.html", "guide.html"}
    assert report["skipped_by_reason"] == {"redirect_loop": 2, "excluded_page": 1}
    assert "/secret/a.html" not in site.targets()


def test_the_start_page_may_redirect_within_its_host(workspace, site, make):
    site.pages["/start"] = redirect("/docs/")
    sync(make(url=site.url("/start")))
    assert indexed(workspace).keys() == {"docs/index.html", "docs/intro.html"}


@pytest.mark.parametrize("target", ["/", "/guide.html", "/docs/intro.html", "/elsewhere/"])
def test_a_start_page_that_redirects_above_itself_widens_nothing(workspace, site, make, target):
    site.pages["/docs/v2/"] = redirect(target)
    site.pages["/elsewhere/"] = redirect("/")
    assert "more than was asked for" in failure(make(url=site.url("/docs/v2/")))
    assert site.targets()[0] == "/docs/v2/"
    assert indexed(workspace) == {}
    sync(make("whole", url=site.url("/docs/v2/"), whole_host=True))
    assert indexed(workspace)


@pytest.mark.parametrize("location", ["/\u00fc.html".encode().decode("latin-1"), "/%C3%BC.html", "\xfc.html"])
def test_a_redirect_may_be_written_in_utf_8_or_latin_1(workspace, site, make, location):
    site.pages["/"] = html("Home", "/a.html")
    site.pages["/a.html"] = redirect(location)
    site.pages["/%C3%BC.html"] = html("Umlaut")
    sync(make())
    assert indexed(workspace).keys() == {"index.html", "\u00fc.html"}


def test_addresses_without_an_extension_get_that_of_their_content(workspace, site, make):
    site.pages["/"] = html("Home", "/a", "/b.php", "/c.md", "/d", "/e.html")
    site.pages["/a"] = html("A")
    site.pages["/b.php"] = html("B")
    site.pages["/c.md"] = Page(body=b"# C\n\nmarked down\n", mime="text/markdown")
    site.pages["/d"] = Page(body=b"plain\n", mime="text/plain")
    site.pages["/e.html"] = Page(body=b"<html><p>E</p></html>", mime="text/html;charset=latin-1")
    sync(make())
    assert indexed(workspace).keys() == {"index.html", "a.html", "b.php.html", "c.md", "d", "e.html"}
    assert Document.objects.get(path="c.md").title == "C"


def test_what_no_parser_reads_is_skipped_without_its_bytes(workspace, site, make):
    site.pages["/"] = html("Home", "/x.zip", "/picture", "/film", "/typeless")
    site.pages["/picture"] = Page(body=PICTURE, mime="image/x-unheard-of")
    site.pages["/film"] = Page(body=PICTURE, mime="video/mp4")
    site.pages["/typeless"] = Page(body=PICTURE, mime=None)
    report = sync(make())
    assert report["skipped_by_reason"] == {"no_parser": 4}
    assert "/x.zip" not in site.targets()


def test_two_addresses_of_one_path_are_one_document(workspace, site, make):
    site.pages["/"] = html("Home", "/a", "/a.html")
    site.pages["/a"] = html("A")
    site.pages["/a.html"] = html("A, again")
    report = sync(make())
    assert report["skipped_by_reason"] == {"duplicate_path": 1}
    assert indexed(workspace)["a.html"] == ["All about A."]


@pytest.mark.parametrize(
    ("mime", "head", "charset"),
    [
        ("text/html; charset=windows-1251", "", "cp1251"),
        ('text/html; charset="Shift_JIS"', "", "cp932"),
        ("text/html", '<meta charset="iso-8859-2">', "iso8859-2"),
        ("text/html", '<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">', "koi8-r"),
        ("text/html; charset=iso-8859-7", '<meta charset="koi8-r">', "iso8859-7"),
        ("text/html; charset=koi8-r", "", "utf-8"),
        ("text/html; charset=zip", "", "utf-8"),
    ],
)
def test_the_charset_that_a_server_or_a_page_names_is_that_of_its_text(
    workspace, site, make, mime, head, charset
):
    words = {
        "cp1251": "ёж",
        "cp932": "図書",
        "iso8859-2": "łąka źdźbło",
        "koi8-r": "ёж",
        "iso8859-7": "ώρα",
        "utf-8": "œuvre ёж",
    }[charset]
    body = f"<html><head>{head}</head><body>\n<p>{words}</p>\n<a href='/{words}.html'>x</a></body></html>"
    site.pages["/"] = Page(body=body.encode(charset), mime=mime)
    report = sync(make())
    assert words in indexed(workspace)["index.html"][0]
    assert Document.objects.get(path="index.html").chunks.get().source_spans[0]["start"] == 2
    assert report["examples"]["not_found"] == [f"{words}.html"]


def test_links_are_seen_from_the_base_that_a_page_names(workspace, site, make):
    site.pages["/"] = html("Home", "intro.html", "/guide.html", head='<base href="/docs/">')
    site.pages["/guide.html"] = html("Guide", "a.html", head='<base href="http://127.0.0.2/">')
    report = sync(make())
    assert indexed(workspace).keys() == {"index.html", "docs/intro.html", "guide.html"}
    assert report["skipped"] == 0


def test_packed_pages_are_read(workspace, site, make):
    site.pages["/"] = packed(html("Home"))
    sync(make())
    assert indexed(workspace) == {"index.html": ["All about Home."]}


def test_a_source_that_is_deleted_takes_its_pages_and_their_bytes_along(workspace, site, make):
    site.pages["/unread.html"] = Page(body=PICTURE)
    site.pages["/"] = html("Home", "/unread.html")
    source = make()
    assert counts(sync(source)) == {"seen": 2, "new": 1, "skipped": 1, "parser_calls": 2}
    assert has_blob(workspace.pk, content_hash(PICTURE))
    assert work(request_source_deletion(source)).state == "succeeded"
    assert not WebPage.objects.exists()
    for page in site.pages.values():
        assert not has_blob(workspace.pk, content_hash(page.body))


def test_the_user_agent_says_who_asks_and_where_to_complain(workspace, site, make, settings):
    settings.KEBAB_CRAWL_CONTACT = "mailto:docs@example.org"
    sync(make())
    assert {asked.headers["user-agent"] for asked in site.asked} == {
        f"Kebab/{__version__} (+mailto:docs@example.org)"
    }


def test_versions_of_a_site_share_what_is_remembered(workspace, site, make):
    source = make()
    sync(source)
    report = sync(source, version="v1")
    assert counts(report)["new"] == 4
    assert all("if-none-match" in asked.headers for asked in site.asked[6:])
    assert Document.objects.count() == 8


def test_a_site_is_asked_no_oftener_than_it_likes(workspace, site, make, monkeypatch):
    paces = []
    site.pages["/robots.txt"] = Page(body=b"User-agent: *\nCrawl-delay: 7\n")

    def wait(self):
        paces.append(self.interval_s)

    monkeypatch.setattr("ingest.connectors.web.pace.Pace.wait_turn", wait)
    sync(make())
    assert paces == [0.0001, 7.0, 7.0, 7.0, 7.0]
