"""Confluence's HTML and XML exports, true to samples of both."""

import pytest

from ingest.connectors.errors import ListingFailed
from ingest.exports.found import Exports
from ingest.parsers.registry import parse
from tests.unit.ingest.exports.samples import CONFLUENCE_PAGE, CONFLUENCE_XML

HTML_PATHS = (
    "OPS/index.html",
    "OPS/styles/site.css",
    "OPS/images/icons/bullet_blue.gif",
    "OPS/Runbook_65540.html",
    "OPS/65541.html",
    "OPS/attachments/65540/65550.png",
)
XML_PATHS = (
    "entities.xml",
    "exportDescriptor.properties",
    "attachments/1001/7001/1",
    "attachments/1001/7001/2",
    "attachments/1001/7002/1",
)


def test_page_of_an_html_export_has_its_own_title_and_byline():
    content = Exports.find(HTML_PATHS).convert("OPS/Runbook_65540.html", CONFLUENCE_PAGE.encode())
    document = parse(content, "OPS/Runbook_65540.html")
    text = "\n".join(document.outline.lines)

    assert document.title == "Runbook: restart"
    assert dict(document.metadata) == {"author": "Ada Lovelace", "modified": "2024-01-05"}
    assert text == "Stop the pump. See the other."
    assert b'<a href="65541.html">the other</a>' in content
    assert content.count(b"\n") == CONFLUENCE_PAGE.count("\n")
    line = CONFLUENCE_PAGE[: CONFLUENCE_PAGE.index("Stop")].count("\n") + 1
    assert document.outline.origins[0].start == line


@pytest.mark.parametrize(
    ("byline", "expected"),
    [
        (
            "Created by <span class='author'> Ada</span> on Feb 04, 2019",
            {"author": "Ada", "created": "2019-02-04"},
        ),
        (
            "Created by <span class='author'> Ada</span>, last modified by <span class='editor'> Bob</span>"
            " on Mar 24, 2017",
            {"author": "Ada", "modified": "2017-03-24"},
        ),
        (
            "Erstellt von <span class='author'> Ada</span>, zuletzt geändert am 05.01.2024",
            {"author": "Ada", "modified": "2024-01-05"},
        ),
    ],
)
def test_bylines_state_author_and_date(byline, expected):
    page = CONFLUENCE_PAGE[: CONFLUENCE_PAGE.index("Created by")] + byline + "</div></body></html>"
    content = Exports.find(HTML_PATHS).convert("OPS/Runbook_65540.html", page.encode())
    assert parse(content, "a.html").metadata == expected


def test_index_and_icons_of_an_html_export_are_skipped():
    places = Exports.find(HTML_PATHS).place(HTML_PATHS)
    assert [path for path, place in places if place == "export_file"] == list(HTML_PATHS[:3])


@pytest.fixture
def dump():
    exports = Exports.find(XML_PATHS)
    exports.read_index("entities.xml", CONFLUENCE_XML.encode())
    return exports


def test_current_pages_of_an_xml_export_are_documents(dump):
    pages = dict(dump.documents())
    assert sorted(pages) == ["Deputy_1002.html", "Run-book_1001.html"]
    document = parse(pages["Run-book_1001.html"], "Run-book_1001.html")
    text = "\n".join(document.outline.lines)

    assert (document.title, document.tags) == ("Run/book", ("ops", "pump"))
    assert document.metadata == {
        "author": "Ada Lovelace",
        "created": "2024-01-05T09:00:00",
        "modified": "2024-01-06T10:00:00",
    }
    for part in (
        "Ask @Ada Lovelace or the deputy.",
        "Mind\n\nNever alone.",
        "if a < b:",
        "Done: oil it",
        "café",
    ):
        assert part in text
    assert "language" not in text and "ignored" not in text
    assert '<a href="Deputy_1002.html">the deputy</a>' in pages["Run-book_1001.html"].decode()
    assert 'src="attachments/1001/plan-a.png"' in pages["Run-book_1001.html"].decode()


def test_newest_attachments_of_an_xml_export_have_their_names(dump):
    places = dict(dump.place(XML_PATHS))
    assert places.pop("attachments/1001/7001/2") == "attachments/1001/plan-a.png"
    assert set(places.values()) == {"export_file"}


@pytest.mark.parametrize("broken", [b"<hibernate-generic><object", b"not XML", b""])
def test_broken_dump_fails_the_listing(broken):
    with pytest.raises(ListingFailed):
        Exports.find(XML_PATHS).read_index("entities.xml", broken)
