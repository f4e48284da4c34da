"""Web pages become documents, and are requested again only when needed."""

from datetime import UTC, datetime

import pytest

from ingest.jobs.queue.request import request_source_deletion
from ingest.models import WebPage
from kebab import __version__
from search.corpus.blobs import has_blob
from search.corpus.content_ids import content_hash
from search.models import Change, Chunk, Document
from tests.integration.ingest.connectors.web.site import LINKED_PAGES, Page, gzip_page, html
from tests.support.jobs import PICTURE, counts, indexed_texts, sync, work

pytestmark = pytest.mark.usefixtures("reachable_sites", "linked_site")


def test_linked_pages_become_documents_with_address_title_and_lines(workspace, site, make_source):
    report = sync(make_source())
    assert counts(report) == {"seen": 4, "new": 4, "parser_calls": 4}
    assert indexed_texts(workspace).keys() == LINKED_PAGES
    assert site.targets() == ["/", "/docs/", "/guide.html", "/docs/intro.html"]

    document = Document.objects.get(path="docs/intro.html")
    assert document.metadata["url"] == site.url("/docs/intro.html")
    assert (document.title, document.mime) == ("Intro", "text/html")
    chunk = Chunk.objects.filter(document=document).order_by("ordinal").first()
    cited = site.pages["/docs/intro.html"].body.decode().split("\n")[chunk.source_spans[0]["start"] - 1]
    assert "All about Intro." in chunk.text
    assert cited.strip() in ("<h1>Intro</h1>", "<p>All about Intro.</p>")


def test_later_syncs_get_and_parse_only_what_changed(workspace, site, make_source, settings):
    settings.KEBAB_CRAWL_CONTACT = "mailto:docs@example.org"
    source = make_source()
    sync(source)
    agents = {asked.headers["user-agent"] for asked in site.asked}
    assert agents == {f"Kebab/{__version__} (+mailto:docs@example.org)"}

    site.asked.clear()
    assert counts(sync(source)) == {"seen": 4, "unchanged": 4}
    assert ["if-none-match" in asked.headers for asked in site.asked] == [False, *[True] * 4]
    assert Change.objects.count() == 4
    site.asked.clear()
    assert counts(sync(source, version="v1"))["new"] == 4
    assert ["if-none-match" in asked.headers for asked in site.asked] == [False, *[True] * 4]
    assert Document.objects.count() == 8

    # Links of unchanged pages stay known.
    site.pages["/docs/intro.html"] = gzip_page(html("Intro, second edition"))
    assert counts(sync(source)) == {"seen": 4, "updated": 1, "unchanged": 3, "parser_calls": 1}
    assert Chunk.objects.get(document__path="docs/intro.html", document__version__tag="").text == (
        "All about Intro, second edition."
    )


def test_last_modified_is_enough_to_ask_whether_a_page_has_changed(site, make_source):
    date = "Sat, 01 Aug 2026 10:00:00 GMT"
    site.pages["/"] = html("Home", is_tagged=False, headers=(("Last-Modified", date),))
    source = make_source()
    sync(source)
    assert Document.objects.get().dated_at == datetime(2026, 8, 1, 10, tzinfo=UTC)
    site.targets()
    sync(source)
    assert site.asked[1].headers["if-modified-since"] == date


@pytest.mark.parametrize("tag", ["", '"caf\xe9"', '"caf\xc3\xa9"'])
def test_page_without_a_usable_validator_is_not_parsed_again(site, make_source, tag):
    headers = (("ETag", tag), ("Last-Modified", tag)) if tag else ()
    site.pages["/"] = html("Home", is_tagged=False, headers=headers)
    source = make_source()
    sync(source)
    assert counts(sync(source)) == {"seen": 1, "unchanged": 1}


def test_pages_may_ask_not_to_be_indexed_or_followed(workspace, site, make_source):
    site.pages["/"] = html("Home", "/a.html", "/b.html", "/c.html")
    site.pages["/a.html"] = html("A", "/d.html", head='<META content="NOINDEX" name=Robots>')
    site.pages["/b.html"] = html("B", "/e.html", headers=(("X-Robots-Tag", "kebab: nofollow"),))
    site.pages["/c.html"] = html("C", headers=(("X-Robots-Tag", "otherbot: noindex"),))
    site.pages["/d.html"] = html("D")
    site.pages["/e.html"] = html("E")
    source = make_source()
    report = sync(source)
    assert indexed_texts(workspace).keys() == {"index.html", "b.html", "c.html", "d.html"}
    assert report["skipped_by_reason"] == {"noindex": 1}
    assert counts(sync(source)) == {"seen": 5, "unchanged": 4, "skipped": 1}

    body = site.pages["/c.html"].body
    site.pages["/c.html"] = html("C", head='<meta name="robots" content="none">')
    assert sync(source)["deleted"] == 1
    assert indexed_texts(workspace).keys() == {"index.html", "b.html", "d.html"}
    assert not has_blob(workspace.pk, content_hash(body))


def test_pages_that_no_parser_reads_are_skipped_without_their_bytes(site, make_source):
    site.pages["/"] = html("Home", "/x.zip", "/picture", "/film", "/typeless")
    site.pages["/picture"] = Page(body=PICTURE, mime="image/x-unheard-of")
    site.pages["/film"] = Page(body=PICTURE, mime="video/mp4")
    site.pages["/typeless"] = Page(body=PICTURE, mime=None)
    report = sync(make_source())
    assert report["skipped_by_reason"] == {"no_parser": 4}
    assert "/x.zip" not in site.targets()


@pytest.mark.parametrize(
    ("mime", "head", "charset", "words"),
    [
        ("text/html; charset=windows-1251", "", "cp1251", "ёж"),
        ('text/html; charset="Shift_JIS"', "", "cp932", "図書"),
        ("text/html", '<meta charset="iso-8859-2">', "iso8859-2", "łąka źdźbło"),
        ("text/html", '<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">', "koi8-r", "ёж"),
        ("text/html; charset=iso-8859-7", '<meta charset="koi8-r">', "iso8859-7", "ώρα"),
        ("text/html; charset=koi8-r", "", "utf-8", "œuvre ёж"),
        ("text/html; charset=zip", "", "utf-8", "œuvre ёж"),
    ],
)
def test_charset_named_by_server_or_page_is_used(workspace, site, make_source, mime, head, charset, words):
    body = f"<html><head>{head}</head><body>\n<p>{words}</p>\n<a href='/{words}.html'>x</a></body></html>"
    site.pages["/"] = Page(body=body.encode(charset), mime=mime)
    report = sync(make_source())
    assert words in indexed_texts(workspace)["index.html"][0]
    assert Document.objects.get(path="index.html").chunks.get().source_spans[0]["start"] == 2
    assert report["examples"]["not_found"] == [f"{words}.html"]


def test_deleted_source_takes_its_pages_and_their_bytes_along(workspace, site, make_source):
    site.pages["/unread.html"] = Page(body=PICTURE)
    site.pages["/"] = html("Home", "/unread.html")
    source = make_source()
    assert counts(sync(source)) == {"seen": 2, "new": 1, "skipped": 1, "parser_calls": 2}
    assert has_blob(workspace.pk, content_hash(PICTURE))
    assert work(request_source_deletion(source)).state == "succeeded"
    assert not WebPage.objects.exists()
    for page in site.pages.values():
        assert not has_blob(workspace.pk, content_hash(page.body))
