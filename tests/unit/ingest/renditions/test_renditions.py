"""Renditions of documents of each format, and of hostile ones."""

import json

import pytest

from ingest.renditions import parts
from ingest.renditions.child import draw
from tests.support.samples import content_of


def parts_of(content, path):
    if isinstance(content, str):
        content = content.encode()
    return draw(content, path)["parts"]


def sample(name):
    return draw(content_of(name), name)


def kinds(found):
    return [part["is"] for part in found]


def lines(part):
    return tuple(part["at"])


def test_office_documents_have_headings_lists_and_tables():
    for name in ("office/handbook.docx", "office/handbook.odt"):
        found = sample(name)["parts"]
        (table,) = (part for part in found if part["is"] == "table")

        assert kinds(found)[:3] == ["heading", "paragraph", "heading"]
        assert [part["level"] for part in found if part["is"] == "heading"] == [1, 2, 3, 2, 2]
        assert [row["cells"] for row in table["header"]] == [[["Station"], ["Blasts"], ["Interval"]]]
        assert table["rows"][0]["cells"] == [["Longstone"], ["2"], ["90 seconds"]]
        (bullets, _) = (part for part in found if part["is"] == "list")
        assert bullets["items"][-1]["parts"][-1]["is"] == "list"


def test_sheets_and_slides_tell_the_first_lines_of_their_pages():
    assert sample("office/tides.xlsx")["pages"] == [(1, 1), (2, 8)]
    assert [page for page, _ in sample("office/signals.pptx")["pages"]] == [1, 2, 3]


def test_mail_begins_with_its_head():
    found = sample("email/report.eml")["parts"]

    assert found[0]["pairs"][:2] == [
        ("Subject", "Report of the rescue"),
        ("From", "William Brooks <brooks@bamburgh.example>"),
    ]
    assert lines(found[1]) == (12, 12)


def test_html_retains_emphasis_links_tables_and_lines_but_nothing_that_acts():
    page = """<html><head><title>T</title><style>p{}</style></head><body><nav><p>menu</p></nav>
<h1 onclick=x>Net<a href=#net>¶</a></h1>
<p>Use <b>the <i>net</i></b>, see <a href="javascript:x()" onclick=y>this</a>.<br>Next
line<script>alert(1)</script>
<ul><li>one<li>two<ol start=3><li>deep</ol></ul>
<table><tr><th>Host<th>IP<tr><td>nas<td>10</table>
<pre><code class="language-python">def f():
    pass</code></pre>
<dl><dt>Term<dd>What it means</dl><iframe srcdoc="<b>no</b>"></iframe><img src=a.png alt=plan onerror=z>
"""
    found = parts_of(page, "a.html")

    assert kinds(found) == ["heading", "paragraph", "list", "table", "code", "list", "paragraph"]
    assert found[1]["text"] == [
        "Use ",
        ["strong", "the ", ["em", "net"]],
        ", see ",
        ["a", "javascript:x()", "this"],
        ".",
        ["br"],
        "Next line",
    ]
    assert [lines(part) for part in found[:4]] == [(2, 2), (3, 5), (5, 5), (6, 6)]
    assert found[3]["header"][0]["cells"] == [["Host"], ["IP"]]
    assert (found[4]["language"], found[4]["lines"], lines(found[4])) == (
        "python",
        ["def f():", "    pass"],
        (7, 8),
    )
    assert [part["text"] for part in found[5]["items"][0]["parts"]] == [
        [["strong", "Term"]],
        ["What it means"],
    ]
    text = json.dumps(found)
    for word in ("menu", "alert", "onclick", "onerror", "srcdoc"):
        assert word not in text


def test_layout_table_is_not_rendered_as_a_table():
    found = parts_of("<table><tr><td><h1>A</h1><p>b</p><ul><li>c</ul></td></tr></table>", "a.html")

    assert kinds(found) == ["heading", "paragraph", "list"]


def test_page_with_a_navigation_that_never_ends_is_shown_whole():
    assert kinds(parts_of("<p>before</p><nav><p>after</p><h2>More</h2>", "a.html"))[-1] == "heading"


def test_rst_has_notes_code_lists_and_tables_and_runs_nothing(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("hunter2")
    source = f"""Title
=====

See *this* `site <https://a.example>`_ and :func:`run`.

.. include:: {secret}

.. raw:: html

   <script>alert(1)</script>

.. note:: Read
   twice.

.. literalinclude:: {secret}

.. csv-table::
   :file: {secret}

.. code-block:: python
   :linenos:

   x = 1

.. versionadded:: 2.0
   Words.
"""
    found = parts_of(source, "a.rst")
    text = json.dumps(found)

    assert "hunter2" not in text
    assert "alert" not in text
    assert found[1]["text"] == [
        "See ",
        ["em", "this"],
        " ",
        ["a", "https://a.example", "site"],
        " and ",
        ["code", "run"],
        ".",
    ]
    notes = [part for part in found if part["is"] == "quote"]
    assert [note["title"] for note in notes] == ["Note", "Added in version 2.0"]
    (code,) = (part for part in found if part["is"] == "code" and part["language"])
    assert (code["lines"], lines(code)) == (["x = 1"], (23, 24))


def test_notebook_has_its_cells_with_labels_and_lines():
    found = sample("notebook/tides.ipynb")["parts"]

    assert kinds(found)[:3] == ["markdown", "code", "code"]
    assert found[0]["lines"][0] == "# Tides at the north quay"
    assert found[0]["numbers"] == [8, 9, 10]
    assert [part["label"] for part in found[1:3]] == ["In [1]", "Out [1]"]


def test_table_has_its_header_and_the_lines_of_its_records():
    (table,) = sample("table/gauges.csv")["parts"]

    assert table["header"][0]["cells"] == [["number"], ["quay"], ["depth_m"], ["note"]]
    assert lines(table["rows"][1]) == (3, 4)
    assert table["rows"][1]["cells"][3] == ["float sticks\nin frost; knock twice"]


def test_wiki_renditions_have_headings_paragraphs_and_tables():
    for name in ("dredging.adoc", "pilot-cutters.wiki", "swell.tex", "watch.org"):
        assert {"heading", "paragraph", "table"} <= set(kinds(sample(f"markup/{name}")["parts"]))


def test_long_table_is_divided_and_each_part_has_the_header():
    rows = "".join(f"{number},name {number}\n" for number in range(1_000))
    found = parts_of(f"id,label\n{rows}", "a.csv")

    assert kinds(found) == ["table"] * 5
    assert all(part["header"][0]["cells"] == [["id"], ["label"]] for part in found)
    assert lines(found[1]) == (202, 401)


def depth(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return 1 + max(map(depth, inner), default=0)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("a.html", "<ul><li>" * 20_000 + "x"),
        ("a.html", "<b><i>" * 20_000 + "x"),
        ("a.html", "<table><tr><td>" * 5_000 + "x"),
        ("a.html", "<blockquote>" * 20_000 + "x"),
        ("a.html", "<p>" + "<a href=x>" * 20_000 + "x"),
        ("a.rst", "".join("  " * level + "* x\n\n" for level in range(100))),
        ("a.org", "".join("  " * level + "- x\n" for level in range(2_000))),
        ("a.csv", "a,b\n" + "," * 100_000 + "\n"),
        ("a.ipynb", '{"cells": ' + "[" * 50_000),
    ],
)
def test_hostile_structure_is_drawn_within_bounds(path, content):
    rendition = draw(content.encode(), path)

    assert depth(rendition) < 120
    assert len(json.dumps(rendition)) < 3 * parts.MAX_CHARS


def test_document_of_too_much_text_is_cut():
    rendition = draw(b"<p>" + b"word " * 100 * 6_000 + b"<p>" + b"<p>more words here" * 25_000, "a.html")

    assert rendition["is_cut"]
    assert len(json.dumps(rendition["parts"])) < 3 * parts.MAX_CHARS
