"""Entries of feeds: what identifies them, their links, texts and dates."""

import json
from contextlib import closing
from itertools import count

import pytest

from ingest.connectors.errors import ListingFailed
from ingest.connectors.records.feed import FeedReader
from ingest.connectors.records.wire import CursorRecord, DocumentRecord
from tests.integration.ingest.connectors.records.hosts import feed_host
from tests.support.readers import reader_settings

DATED = "<pubDate>Mon, 03 Aug 2026 10:00:00 GMT</pubDate>"
_NAMESPACES = (
    'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" xmlns:media="http://search.yahoo.com/mrss/"'
    ' xmlns:content="http://purl.org/rss/1.0/modules/content/"'
)


def rss(*items, channel=""):
    listed = "".join(f"<item>{item}</item>" for item in items)
    return f'<rss version="2.0" {_NAMESPACES}><channel><title>T</title>{channel}{listed}</channel></rss>'


def json_feed(*items, **feed):
    return json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": items, **feed})


def read(body, cursor=""):
    """Return the documents of a feed, and its cursor without what asks for changes."""
    with feed_host() as host:
        host.template = (body, "", "")
        with closing(FeedReader(reader_settings(host.config))) as reader:
            records = list(reader.records(cursor))
    documents = [record for record in records if isinstance(record, DocumentRecord)]
    [state] = [json.loads(record.state) for record in records if isinstance(record, CursorRecord)]
    return documents, json.dumps({"paths": state["paths"]})


@pytest.mark.parametrize(
    "write",
    [
        lambda n: rss("<title>A</title><link>http://h/a</link>", "<title>B</title><link>http://h/b</link>"),
        lambda n: rss(
            "<title>A</title><pubDate>Mon, 03 Aug 2026 10:00:00 GMT</pubDate><description>x</description>",
            "<title>A</title><pubDate>Tue, 04 Aug 2026 10:00:00 GMT</pubDate><description>x</description>",
        ),
        lambda n: rss("<description>one</description>", "<description>two</description>"),
        lambda n: rss("<guid>http://h/</guid><title>A</title>", "<guid>http://h/</guid><title>B</title>"),
        lambda n: rss(f"<guid>{next(n)}</guid><title>A</title>", f"<guid>{next(n)}</guid><title>B</title>"),
        lambda n: rss(*(f"<title>{t}</title>{DATED}<link>http://h/{t}?s={next(n)}</link>" for t in "AB")),
        lambda n: json_feed({"id": 1, "content_text": "one"}, {"id": 2, "content_text": "two"}),
        lambda n: json_feed(
            {"content_html": f"<p>one<img src='{next(n)}'>"}, {"url": "http://h/b", "content_text": "b"}
        ),
    ],
    ids=["links", "dates", "texts", "one id", "random ids", "random links", "numbers", "random pictures"],
)
def test_entries_keep_their_paths_and_versions(write):
    numbers = count()
    first, cursor = read(write(numbers))
    again, _ = read(write(numbers), cursor)
    assert len({document.path for document in first}) == 2
    assert [(each.path, each.version) for each in again] == [(each.path, each.version) for each in first]


@pytest.mark.parametrize(
    ("body", "url", "text"),
    [
        (rss("<link>a</link>", channel="<link>http://h/blog/</link>"), "http://h/blog/a", ""),
        (rss("<link>/a</link><description>&lt;b>x&lt;/b></description>"), "/a", "<b>x</b>"),
        (
            '<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://h/x/"><entry xml:base="y/">'
            '<link href="a"/>'
            '<content type="html">&lt;a href="b">c&lt;/a></content></entry></feed>',
            "http://h/x/y/a",
            '<base href="http://h/x/y/a">',
        ),
        (rss("<title>a</title><itunes:summary>Long words &amp;lt;</itunes:summary>"), "", "Long words"),
        (
            rss(
                "<description>short</description><content:encoded>&lt;p>All of it&lt;/p></content:encoded>"
                "<itunes:summary>some</itunes:summary>"
            ),
            "",
            "<p>All of it</p>",
        ),
        (rss("<description>all of it</description><itunes:summary>some</itunes:summary>"), "", "all of it"),
        (
            rss("<title>a</title><media:group><media:description>film</media:description></media:group>"),
            "",
            "film",
        ),
        (
            json_feed(
                {
                    "id": "a",
                    "url": "a",
                    "content_text": "one\n\n<two>",
                    "attachments": [{"url": "f.pdf", "title": "Plan"}],
                },
                home_page_url="http://h/blog/",
            ),
            "http://h/blog/a",
            '<p>&lt;two&gt;</p>\n<p><a href="http://h/blog/f.pdf">Plan</a></p>',
        ),
    ],
)
def test_links_are_resolved_and_the_fullest_text_is_taken(body, url, text):
    [document], _ = read(body)
    found = document.metadata.get("url", "")
    assert found == url or (url.startswith("/") and found.endswith(url) and found.startswith("http://127"))
    assert text in document.content.decode()


@pytest.mark.parametrize(
    ("written", "date"),
    [
        ("Mon, 03 Aug 2026 10:00:00 EDT", "2026-08-03T10:00:00-04:00"),
        ("2026-08-03T10:00:00Z", "2026-08-03T10:00:00+00:00"),
        ("2026/08/03 10:00", "2026-08-03T10:00:00+00:00"),
        ("Montag, 3. August 2026", "2026-08-03T00:00:00+00:00"),
        ("1785751200", "2026-08-03T10:00:00+00:00"),
        ("03/08/2026", None),
        ("soon", None),
    ],
)
def test_ambiguous_dates_are_not_read(written, date):
    for body in (
        rss(f"<title>a</title><pubDate>{written}</pubDate>"),
        json_feed({"date_published": written}),
    ):
        [document], _ = read(body)
        assert (document.dated and document.dated.isoformat()) == date


def test_items_without_authors_have_the_authors_of_the_feed():
    items = [{"id": 1, "authors": [{"name": "Ada"}, {"name": "Bo"}]}, {"id": 2, "title": "B", "author": 5}]
    documents, _ = read(json_feed(*items, authors=[{"name": "Cy"}]))
    assert [document.author for document in documents] == ["Ada, Bo", "Cy"]


@pytest.mark.parametrize("body", ['{"items": 5}', '{"items": [', "{}", "[1]"])
def test_json_of_another_kind_is_refused(body):
    with pytest.raises(ListingFailed, match="feed"):
        read(body)
