"""Documents drawn from their parts on the document page, with cited places and words of the query marked."""

import html
import json
import re

import pytest

from ingest.digest.digester import Digester
from search.models import Chunk
from search.pages.document import rendition
from search.pages.document.part_tokens import MalformedPart, part_tokens
from search.pages.document.query_words import QueryWords
from search.pages.markdown.html import render_html
from tests.pages.search.shelf import Passage, shelve
from tests.support.samples import content_of

SECTION = Passage(text="x", spans=[{"kind": "line", "start": 4, "end": 4}])
PAGE = """<h1>Guide</h1>
<p>Intro <a href="javascript:alert(1)">bad</a> <a href="https://a.example">good</a></p>
<h2>Install</h2>
<p>Restart the <b>workers</b> &amp; wait. <img src="https://evil.example/x.png" alt="a plan"></p>
<h2>Use</h2>
<p>Run it.</p>
"""


@pytest.fixture
def shelve_sample(workspace):
    """Return a function that shelves a sample file as a job does."""
    digester = Digester()

    def add(name, **fields):
        digest = digester.digest(content_of(name), name)
        found = {key: getattr(digest, key) for key in ("title", "lang", "mime", "media", "metadata")}
        text = content_of(name).decode("latin-1")
        return shelve(workspace, name, text, charset="latin-1", passages=digest.chunks, **(found | fields))

    yield add
    digester.close()


@pytest.fixture
def page_file(workspace):
    return shelve(workspace, "guide.html", PAGE, mime="text/html", passages=[SECTION], title="Guide")


def page_of(visitor, document, **parameters):
    response = visitor.get(f"/w/handbook/documents/{document.doc_id.hex}", parameters)
    assert response.status_code == 200
    return response.content.decode()


def rendered(page):
    return re.search(r'<div class="rendered">(.*?)</div>\n', page, re.DOTALL)[1]


def test_web_page_opens_as_a_document_with_its_source_a_tab_away(visitor, page_file):
    page = page_of(visitor, page_file, start=4, end=4)
    shown = rendered(page)

    assert '<p id="L4" class="cited">Restart the <strong>workers</strong> &amp; wait.' in shown
    assert '<a href="https://a.example" rel="noopener noreferrer nofollow">good</a>' in shown
    assert "javascript" not in shown
    assert "<img" not in shown
    source = html.unescape(re.search(r'<a href="([^"]+)">Source</a>', page)[1])
    lines = visitor.get(f"/w/handbook/documents/{page_file.doc_id.hex}{source}").content.decode()
    assert '<li id="L4" class="cited">' in lines
    assert source.endswith("#L4")


def test_heading_that_repeats_the_title_is_left_out(visitor, page_file):
    assert "Guide" not in rendered(page_of(visitor, page_file))


def test_outline_marks_the_heading_of_the_cited_place(visitor, page_file):
    page = page_of(visitor, page_file, start=6, end=6)
    listed = re.findall(r'<li class="depth-0"><a href="#(L\d+)"( aria-current="true")?>(\w+)</a>', page)

    assert [(place, heading) for place, _, heading in listed[:2]] == [("L3", "Install"), ("L5", "Use")]
    assert [bool(is_current) for _, is_current, _ in listed[:2]] == [False, True]


def test_words_of_the_query_are_marked_in_every_form(visitor, workspace, page_file):
    shown = rendered(page_of(visitor, page_file, q="how to restart a worker amp"))

    assert "<mark>Restart</mark>" in shown
    assert "<strong><mark>workers</mark></strong>" in shown
    assert "&amp; wait" in shown
    assert "<mark>to</mark>" not in shown
    lines = page_of(visitor, page_file, q="restart", view="source")
    assert "<mark>Restart</mark>" in lines
    cue = "WEBVTT\n\n00:01.000 --> 00:02.000\nRestart it.\n"
    spoken = shelve(workspace, "a.vtt", cue, media="transcript", mime="text/vtt")
    assert "<mark>Restart</mark>" in page_of(visitor, spoken, q="restart")
    passage = Passage(text="Restart it.", spans=[{"kind": "page", "page": 1}])
    printed = shelve(workspace, "a.pdf", "%PDF", media="pdf", mime="application/pdf", passages=[passage])
    assert "<mark>Restart</mark>" in page_of(visitor, printed, q="restart")


def test_office_document_names_its_place_by_heading_and_not_by_lines(visitor, shelve_sample):
    document = shelve_sample("office/handbook.docx", title="Handbook")
    chunk = Chunk.objects.get(document=document)
    page = page_of(visitor, document, start=7, end=7, chunk=chunk.chunk_id.hex)

    assert re.search(r'<p id="L7" class="cited">(\s|<[^>]*>)*The lamp burns colza oil', page)
    assert ">Source</a>" not in page
    assert "Word document" in page
    assert not re.search(r"Lines? \d", page)


def test_cited_sheet_is_marked_and_has_the_id_that_results_lead_to(visitor, shelve_sample):
    document = shelve_sample("office/tides.xlsx")
    chunk = Chunk.objects.get(document=document, text__contains="Jamestown")
    page = page_of(visitor, document, chunk=chunk.chunk_id.hex)
    marked = re.findall(r'<tr id="(L\d+)" class="cited">(.*?)</tr>', page, re.DOTALL)

    assert f'id="chunk-{chunk.chunk_id.hex}"' in marked[0][1]
    assert [re.findall(r">([^<>\s]+)</td>", row) for _, row in marked][1] == ["2024-06-01", "Newport", "1.25"]
    assert "Ida Lewis of Lime Rock" not in "".join(row for _, row in marked)
    keepers = Chunk.objects.get(document=document, text__contains="Lime Rock")
    page = page_of(visitor, document, chunk=keepers.chunk_id.hex)
    assert set(re.findall(r'<a href="#L[^"]+" aria-current="true">([^<]+)</a></li>', page)) == {"Keepers"}


def test_mail_has_its_head_as_a_table(visitor, shelve_sample):
    page = page_of(visitor, shelve_sample("email/report.eml"))

    assert '<table class="facts">' in page
    for name, value in (
        ("Subject", "Report of the rescue"),
        ("To", "Trinity House &lt;office@trinity.example&gt;"),
    ):
        assert re.search(rf"<th>{name}</th>\s*<td>{value}</td>", page), name


def test_notebook_is_rendered_with_its_cells(visitor, shelve_sample):
    shown = rendered(page_of(visitor, shelve_sample("notebook/tides.ipynb", title="x")))

    assert "<strong>centimetres</strong>" in shown
    assert '<p class="label">In [1]</p>' in shown
    assert '<span class="line" id="L29">' in shown


def test_long_table_is_shown_in_parts_and_the_cited_row_is_in_its_part(visitor, workspace):
    rows = "".join(f"{number},name {number}\n" for number in range(5_000))
    document = shelve(workspace, "a.csv", f"id,label\n{rows}", mime="text/csv", passages=[SECTION])
    page = page_of(visitor, document, start=4_000, end=4_001)

    assert len(page) < 150_000
    assert len(re.findall(r'<tr id="L400[01]" class="cited">', page)) == 2
    assert 'rel="prev"' in page
    assert 'rel="next"' in page
    following = html.unescape(re.search(r'rel="next" href="([^"]+)"', page)[1])
    last = max(map(int, re.findall(r'<tr id="L(\d+)"', page)))
    there = visitor.get(f"/w/handbook/documents/{document.doc_id.hex}{following}").content.decode()
    assert f'<tr id="L{last + 1}"' in there


def test_document_that_cannot_be_drawn_is_shown_by_lines_or_passages(visitor, workspace, monkeypatch):
    monkeypatch.setattr(rendition, "MAX_BYTES", 3)
    web = shelve(workspace, "a.html", "<p>words", mime="text/html", passages=[SECTION])
    office = shelve(workspace, "a.docx", "words", media="office", passages=[Passage(text="read words")])

    assert '<li id="L1">' in page_of(visitor, web)
    assert "read words" in page_of(visitor, office)


def test_link_to_the_cited_place_is_whole(visitor, page_file):
    page = page_of(visitor, page_file, start=4, end=4, q="worker")
    link = html.unescape(re.search(r'<span id="link" hidden>([^<]+)<', page)[1])
    markdown = html.unescape(re.search(r'<span id="markdown" hidden>([^<]+)<', page)[1])

    assert link == f"http://testserver/w/handbook/documents/{page_file.doc_id.hex}?start=4&end=4#L4"
    assert markdown == f"[Guide #L4]({link})"


def test_document_opens_at_its_source_where_that_has_an_address(visitor, workspace, page_file):
    def source_address():
        found = re.search(
            r'<a href="([^"]+)" rel="noopener noreferrer">', page_of(visitor, page_file, start=3)
        )
        return found and found[1]

    source = page_file.source
    assert source_address() is None
    for config, kind, url, expected in (
        ({"url": "https://github.com/a/b.git"}, "git", None, "https://github.com/a/b/blob/HEAD/guide.html"),
        ({"url": "https://github.com/a/b.wiki.git"}, "git", None, "https://github.com/a/b/wiki/guide"),
        ({"url": "https://evil.example/a/b"}, "git", None, None),
        ({}, "web", "https://a.example/x", "https://a.example/x"),
        ({}, "github", "https://a.example/x", "https://a.example/x"),
        ({}, "web", "javascript:alert(1)", None),
    ):
        source.kind, source.config = kind, config
        source.save()
        page_file.metadata = {"url": url}
        page_file.save()
        assert source_address() == expected


def test_document_is_bookmarked_from_its_menu(visitor, page_file):
    def action():
        return html.unescape(
            re.search(r'<form method="post" action="([^"]+/bookmarks/[^"]+)">', page_of(visitor, page_file))[
                1
            ]
        )

    assert visitor.post(action()).status_code == 302
    assert page_file.bookmarks.count() == 1
    visitor.post(action())
    assert page_file.bookmarks.count() == 0


def tokens_html(*parts):
    return render_html([token for token in part_tokens(parts) if token.type != "heading_open"])


def paragraph(*content):
    return {"is": "paragraph", "at": [1, 1], "text": list(content)}


def test_parts_from_a_hijacked_process_are_refused_or_escaped():
    nested = paragraph("x")
    for _ in range(60):
        nested = {"is": "quote", "at": [1, 1], "parts": [nested], "title": ""}
    for bad in (
        {"is": "script", "at": [1, 1]},
        paragraph(["script", "x"]),
        paragraph(["strong onclick=x", "y"]),
        paragraph(["a"]),
        {"is": "paragraph", "at": "x", "text": []},
        {"is": "heading", "at": [1, 1], "level": "1><script>", "text": ["x"]},
        nested,
        json.loads("[" * 500 + "]" * 500),
        None,
    ):
        with pytest.raises(MalformedPart):
            part_tokens([bad])
    shown = tokens_html(paragraph("<script>", ["code", "<b>"]), {"is": "rule", "at": [-5, "3"]})
    assert "<script>" not in shown
    assert "<b>" not in shown


@pytest.mark.parametrize(
    ("query", "language", "text", "marked"),
    [
        ("Urlaub beantragen", "de", "Die Urlaube beantragen", ["Urlaube", "beantragen"]),
        ("the", "en", "the end", ["the"]),
        ("-cat dog", "en", "cat and dogs", ["dogs"]),
        ("lt a&b", "en", "x &lt; b", ["b"]),
        ("東京", "ja", "私は東京に住む", ["東京"]),
        ("x" * 5_000, "en", "x", []),
        ("", "en", "x", []),
        ("og nøkler", "nb", "og nøkkel", ["nøkkel"]),
    ],
)
def test_words_are_marked_outside_of_tags_and_references(query, language, text, marked):
    found = QueryWords(query, language).mark(f'<a title="dog lt the">{text}</a>')

    assert re.findall("<mark>(.*?)</mark>", found) == marked
    assert re.sub("</?mark>", "", found) == f'<a title="dog lt the">{text}</a>'
