"""Sitemaps of every form, and files that resemble one."""

import contextlib
import gzip
import tracemalloc

import pytest

from ingest.connectors.web import sitemap
from ingest.connectors.web.sitemap import MAX_SITEMAP_ADDRESSES, SitemapUnreadable, parse_sitemap

NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def test_pages_of_a_sitemap_are_read(subtests):
    for text in [
        f"<urlset {NS}><url><loc> http://a/1 </loc><lastmod>2026</lastmod></url></urlset>",
        '<?xml version="1.0" encoding="UTF-8"?>\n<urlset><url><loc>http://a/1</loc></url></urlset>',
        '<s:urlset xmlns:s="x"><s:url><s:loc><![CDATA[http://a/1]]></s:loc></s:url></s:urlset>',
        f'<urlset {NS} xmlns:i="i"><url><loc>http://a/1</loc><i:image><i:loc>http://a/2</i:loc></i:image></url></urlset>',
        '\n \n<?xml version="1.0"?><urlset><url><loc>http://a/1</loc></url></urlset>',
        "\ufeff<UrlSet xmlns='x:y'><URL><Loc>\nhttp://a/1\n</Loc><z:image/></URL></UrlSet> <!-- 1 s --> done",
        "<urlset><url><loc>http://a/1</loc><title>A & B &nbsp;\x0b</title></url></urlset>",
        "# pages\nhttp://a/1\n",
        "http://a/1\n\n",
        "\ufeffhttp://a/1\r\n",
    ]:
        with subtests.test(case=text):
            for content in (text.encode(), gzip.compress(text.encode())):
                assert parse_sitemap(content).pages == ["http://a/1"]
    escaped = b"<urlset><url><loc>http://a/?x=1&amp;y=2</loc></url></urlset>"
    assert parse_sitemap(escaped).pages == ["http://a/?x=1&y=2"]
    for text in ("<urlset><url><loc>/?x=1&y=2</loc></url></urlset>", "/?x=1&y=2"):
        assert parse_sitemap(text.encode("utf-16")).pages == ["/?x=1&y=2"]
    latin = "<urlset><url><loc>http://a/é&b</loc></url></urlset>".encode("latin-1")
    assert parse_sitemap(latin).pages == ["http://a/é&b"]
    found = parse_sitemap(b"<sitemapindex><sitemap><loc>http://a/1.xml</loc></sitemap></sitemapindex>")
    assert (found.pages, found.sitemaps) == ([], ["http://a/1.xml"])


def test_malformed_sitemap_is_refused(subtests):
    for content in [
        *(b"", b"hello", b"http://a/1\nhello\n", b"<urlset>", b"<rss/>"),
        b'<?xml version="1.0" encoding="utf-99"?><urlset/>',
        b'<!DOCTYPE u [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><urlset>&b;</urlset>',
        b'<!DOCTYPE u SYSTEM "file:///etc/passwd"><urlset/>',
        b"<urlset>" + b"<x>" * 100_000,
        b"\x1f\x8bgarbage",
        gzip.compress(b"http://a/1\n", mtime=0)[:-9],
    ]:
        with subtests.test(case=content[:60]), pytest.raises(SitemapUnreadable):
            parse_sitemap(content)


def test_number_of_addresses_is_limited():
    text = "http://a/1\n" * (MAX_SITEMAP_ADDRESSES + 1)
    assert len(parse_sitemap(text.encode()).pages) == MAX_SITEMAP_ADDRESSES


@pytest.mark.parametrize("line", [b"http://a/1\n", b"x\n"])
def test_sitemap_over_its_limit_is_not_held_in_memory(line, monkeypatch):
    monkeypatch.setattr(sitemap, "MAX_SITEMAP_ADDRESSES", 5_000)
    content = line * (2_000_000 // len(line))
    tracemalloc.start()
    try:
        with contextlib.suppress(SitemapUnreadable):
            parse_sitemap(content)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most_bytes < len(content) + 2_000_000
