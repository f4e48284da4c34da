"""Sitemaps of every form, and what only looks like one."""

import contextlib
import gzip
import tracemalloc

import pytest

from ingest.connectors.web.sitemap import MAX_SITEMAP_ADDRESSES, SitemapUnreadable, read_sitemap

NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


@pytest.mark.parametrize(
    "text",
    [
        f"<urlset {NS}><url><loc> http://a/1 </loc><lastmod>2026</lastmod></url></urlset>",
        '<?xml version="1.0" encoding="UTF-8"?>\n<urlset><url><loc>http://a/1</loc></url></urlset>',
        '<s:urlset xmlns:s="x"><s:url><s:loc><![CDATA[http://a/1]]></s:loc></s:url></s:urlset>',
        f'<urlset {NS} xmlns:i="i"><url><loc>http://a/1</loc><i:image><i:loc>http://a/2</i:loc></i:image></url></urlset>',
        "http://a/1\n\n",
        "\ufeffhttp://a/1\r\n",
    ],
)
def test_pages_are_read(text):
    content = text.encode()
    assert read_sitemap(content).pages == ["http://a/1"]
    assert read_sitemap(gzip.compress(content)).pages == ["http://a/1"]


def test_escaped_addresses_are_read():
    assert read_sitemap(b"<urlset><url><loc>http://a/?x=1&amp;y=2</loc></url></urlset>").pages == [
        "http://a/?x=1&y=2"
    ]


def test_an_index_lists_sitemaps():
    found = read_sitemap(b"<sitemapindex><sitemap><loc>http://a/1.xml</loc></sitemap></sitemapindex>")
    assert (found.pages, found.sitemaps) == ([], ["http://a/1.xml"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "neither"),
        (b"hello", "neither"),
        (b"http://a/1\nhello\n", "neither"),
        (b"<urlset>", "not the XML"),
        (b"<rss/>", "begins with <rss>"),
        (b'<?xml version="1.0" encoding="utf-99"?><urlset/>', "not the XML"),
        (b'<!DOCTYPE u [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><urlset>&b;</urlset>', "document type"),
        (b'<!DOCTYPE u SYSTEM "file:///etc/passwd"><urlset/>', "document type"),
        (b"<urlset>" + b"<x>" * 100_000, "deeper"),
        (b"\x1f\x8bgarbage", "unpacked"),
        (gzip.compress(b"http://a/1\n", mtime=0)[:-9], "broke off"),
    ],
)
def test_what_is_no_sitemap_is_refused_with_a_reason(content, said):
    with pytest.raises(SitemapUnreadable, match=said):
        read_sitemap(content)


def test_so_many_addresses_are_taken():
    text = "http://a/1\n" * (MAX_SITEMAP_ADDRESSES + 1)
    assert len(read_sitemap(text.encode()).pages) == MAX_SITEMAP_ADDRESSES


@pytest.mark.parametrize("line", [b"http://a/1\n", b"x\n"])
def test_of_a_list_no_more_is_held_than_is_taken(line):
    content = line * (20_000_000 // len(line))
    tracemalloc.start()
    try:
        with contextlib.suppress(SitemapUnreadable):
            read_sitemap(content)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most_bytes < len(content) + 10_000_000
