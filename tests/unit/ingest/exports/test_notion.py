"""Notion's exports in Markdown and HTML, true to samples of both."""

import io

from ingest.archives.open_archive import open_archive
from ingest.archives.types import ArchiveLimits
from ingest.exports.found import Exports
from ingest.parsers.registry import parse
from tests.support.archives import zip_of

HOME, TASK, TABLE = "0123456789abcdef" * 2, "fedcba9876543210" * 2, "00112233445566778899aabbccddeeff"
PATHS = (
    f"Export/Home {HOME}.md",
    f"Export/Home/Tasks {TABLE}.csv",
    f"Export/Home/Tasks {TABLE}_all.csv",
    f"Export/Home/Tasks/Buy paper {TASK}.md",
    f"Export/Home/Tasks/Buy ink {TASK}.html",
    "Export/Home/photo.png",
    "Export/index.html",
)
PAGE = f"""# Buy paper

Status: Done
Tags: office, errand
Created: January 5, 2024 3:04 PM
Created by: Ada Lovelace

See [Home](https://www.notion.so/Home-{HOME}?pvs=21) and [the rest](https://www.notion.so/acme/{"9" * 32}).
"""
HTML = """<html><head><meta http-equiv="Content-Type" content="text/html; charset=utf-8"/>
<title>Buy ink</title></head><body>
<article id="x" class="page sans"><header><h1 class="page-title">Buy ink</h1>\
<table class="properties"><tbody><tr class="property-row property-row-created_time"><th><span class="icon">\
<svg><path/></svg></span>Born</th><td><time>@January 5, 2024 3:04 PM</time></td></tr>\
<tr class="property-row property-row-multi_select"><th>Tags</th><td><span class="selected-value select-value-\
color-blue">office</span><span class="selected-value select-value-color-red">errand</span></td></tr></tbody>\
</table></header><div class="page-body"><p>Black ink.</p></div></article></body></html>"""


def read(path, text):
    content = Exports.find(PATHS).convert(path, text.encode())
    return content.decode(), parse(content, path)


def test_properties_of_a_markdown_page_are_fields():
    text, document = read(PATHS[3], PAGE)
    assert f"[Home](../../Home%20{HOME}.md) and [the rest](https://www.notion.so/acme/" in text
    assert (document.title, document.tags) == ("Buy paper", ("office", "errand"))
    stated = {"author": "Ada Lovelace", "created": "2024-01-05T15:04:00", "Status": "Done"}
    assert {name: document.metadata.get(name) for name in stated} == stated


def test_first_lines_of_prose_are_not_read_as_properties():
    page = "# Home\n\nNote: mind the gap\nand the step.\n"
    assert read(PATHS[0], page)[0] == page


def test_properties_of_an_html_page_are_fields():
    text, document = read(PATHS[4], HTML)
    assert text.count("\n") == HTML.count("\n")
    assert (document.title, document.tags) == ("Buy ink", ("office", "errand"))
    assert document.metadata["created"] == "2024-01-05T15:04:00"


def test_unclosed_property_row_does_not_swallow_the_next():
    broken = '<tr class="property-row property-row-text"><th>Author</th><td>'
    document = read(PATHS[4], HTML.replace("<tbody>", f"<tbody>{broken * 3}"))[1]
    assert (document.tags, document.metadata["created"]) == (("office", "errand"), "2024-01-05T15:04:00")


def test_id_is_removed_from_the_title_of_a_table():
    assert parse(b"Name,Status\nBuy paper,Done\n", PATHS[2]).title == "Tasks.csv"


def test_page_lists_and_views_are_skipped():
    places = Exports.find(PATHS).place(PATHS)
    assert [path for path, place in places if place == "export_file"] == [PATHS[1], PATHS[6]]


def test_parts_of_an_export_are_one_archive():
    part = "ExportBlock-01234567-89ab-cdef-0123-456789abcdef-Part-{}.zip"
    packed = zip_of(
        {part.format(1): zip_of({"a.md": "A", "b.md": "B"}), part.format(2): zip_of({"c.md": "C"})}
    )
    limits = ArchiveLimits(max_members=10, max_unpacked_bytes=10_000)
    with open_archive(io.BytesIO(packed), limits) as archive:
        found = [(member.index, member.name, archive.read(member)) for member in archive.members()]
    assert found == [(0, "a.md", b"A"), (1, "b.md", b"B"), (2, "c.md", b"C")]
