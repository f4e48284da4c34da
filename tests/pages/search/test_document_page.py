"""The document page."""

import html
import re

import pytest
from django.core.files.storage import default_storage

from search.corpus.blobs import blob_name
from search.models import Chunk
from search.pages.document.window import WINDOW_LINES, WINDOW_PASSAGES
from tests.pages.search.shelf import Passage, shelve


def open_page(visitor, document, **parameters):
    return visitor.get(f"/w/handbook/documents/{document.doc_id.hex}", parameters)


def text_of(response):
    return response.content.decode()


def line_ids(page):
    return [int(number) for number in re.findall(r'<li id="L(\d+)"', page)]


def cited_lines(page):
    return [int(number) for number in re.findall(r'<li id="L(\d+)" class="cited"', page)]


def follow(visitor, document, page, direction):
    query = re.search(rf'rel="{direction}" href="([^"]+)"', page)[1]
    return text_of(visitor.get(f"/w/handbook/documents/{document.doc_id.hex}{html.unescape(query)}"))


@pytest.fixture
def log(workspace):
    lines = [f"entry {n}" for n in range(1, 2001)]
    return shelve(
        workspace, "long.log", "\n".join(lines), mime="text/plain", passages=[Passage(text="entry")]
    )


def test_text_is_shown_with_the_cited_lines_marked_and_the_way_back(visitor, guide):
    page = text_of(open_page(visitor, guide, start=3, end=4, view="source", q="a&b", mode="lexical", k="20"))

    assert line_ids(page) == [1, 2, 3, 4, 5]
    assert cited_lines(page) == [3, 4]
    assert "Push the image, then restart the workers one by one." in page
    assert 'href="/w/handbook/search?q=a%26b&amp;mode=lexical&amp;k=20"' in page
    assert "“a&amp;b”</a>" in page


def test_document_page_offers_the_citation_to_copy(visitor, workspace, guide):
    chunk = Chunk.objects.in_workspace(workspace).get(document=guide, ordinal=1)

    def citation(**parameters):
        page = text_of(open_page(visitor, guide, **parameters))
        return re.findall(r'id="citation">([^<]+)<', page)

    assert citation() == []
    assert citation(chunk=chunk.chunk_id.hex) == ["ops/deploy.md#L3"]
    assert citation(start=3, end=5) == ["ops/deploy.md#L3-L5"]
    assert citation(chunk="0" * 32) == []


def test_fields_of_the_document_are_shown(visitor, workspace):
    document = shelve(workspace, "ops/a.md", "text", title="The title", tags=("alpha",), lang="de")
    page = text_of(open_page(visitor, document))

    for fact in ("The title", "ops/a.md", "handbook", "Primary", "alpha", "<dd>de</dd>", "Markdown"):
        assert fact in page
    assert "text/markdown" not in page


def test_page_of_a_document_tells_what_was_not_read(visitor, workspace):
    document = shelve(workspace, "ops/a.md", "text")
    document.omissions = {"scanned_pages": {"amount": 1_200}, "site_parts": {"amount": 34, "where": ["<b>"]}}
    document.save()
    page = text_of(open_page(visitor, document))
    assert '<p class="message">Pages that are pictures were not read' in page
    assert "<dt>Left out</dt><dd>Navigation" in page and "34; &lt;b&gt;)" in page


def test_text_of_a_document_is_escaped(visitor, workspace):
    text = "</code></li><script>alert(1)</script>"
    path = "a <b onmouseover=alert(1)>.md"
    document = shelve(workspace, path, text, title=text, tags=(text,))
    page = text_of(open_page(visitor, document, q=text))

    assert "<script>alert" not in page
    assert "<b onmouseover" not in page
    assert page.count("&lt;/code&gt;&lt;/li&gt;&lt;script&gt;") >= 4


def test_long_document_is_shown_in_windows_that_join_around_the_cited_lines(visitor, log):
    page = text_of(open_page(visitor, log, start=1000, end=1010))
    later = follow(visitor, log, page, "next")
    earlier = follow(visitor, log, page, "prev")

    assert len(line_ids(page)) == WINDOW_LINES
    assert cited_lines(page) == list(range(1000, 1011))
    assert f"{line_ids(page)[0]}–{line_ids(page)[-1]}" in page
    assert line_ids(later)[0] == line_ids(page)[-1] + 1
    assert line_ids(earlier)[-1] == line_ids(page)[0] - 1
    assert "1000–1010" in later
    assert len(line_ids(text_of(open_page(visitor, log, start=1, end=999_999_999)))) == WINDOW_LINES


def test_next_links_lead_through_a_whole_long_document(visitor, log):
    page = text_of(open_page(visitor, log))
    seen = line_ids(page)
    while 'rel="next"' in page:
        page = follow(visitor, log, page, "next")
        seen += line_ids(page)

    assert seen == list(range(1, 2001))


def test_line_past_the_end_links_back_and_invalid_line_shows_the_start(visitor, log):
    page = text_of(open_page(visitor, log, start=999_999, end=999_999))
    assert line_ids(page) == []
    assert line_ids(follow(visitor, log, page, "prev"))[-1] == 2000

    for start in ("-1", "0", "x", "1e3", "٣", "9" * 50, ""):
        page = text_of(open_page(visitor, log, start=start))
        assert (line_ids(page)[0], cited_lines(page)) == (1, []), start


def test_endless_line_is_cut(visitor, workspace):
    script = {"mime": "text/javascript", "passages": [Passage(text="x")]}
    response = open_page(visitor, shelve(workspace, "min.js", "x" * 1_000_000, **script))

    assert 1_000 < text_of(response).count("x") < 20_000
    assert len(response.content) < 20_000


def test_an_old_charset_is_read(visitor, workspace):
    text = "Die Größe der Straße und die Änderung über Nacht, schön gewählt für München.\n" * 3
    document = shelve(workspace, "alt.txt", text, charset="latin-1")

    assert "Die Größe der Straße" in text_of(open_page(visitor, document))


def test_a_document_whose_bytes_are_gone_is_shown_by_passages(visitor, workspace, guide):
    default_storage.delete(blob_name(workspace.pk, guide.content_hash))
    chunk = Chunk.objects.in_workspace(workspace).get(ordinal=1)
    page = text_of(open_page(visitor, guide, chunk=chunk.chunk_id.hex))

    assert f'class="passage cited" id="chunk-{chunk.chunk_id.hex}"' in page
    assert "restart the workers" in page


def test_document_without_lines_is_shown_by_passages(visitor, workspace, guide):
    passages = [
        Passage(text=f"page {n} <b>", ordinal=n, spans=[{"kind": "page", "page": n + 1}]) for n in range(100)
    ]
    document = shelve(workspace, "a.pptx", "PK\x03\x04", media="office", passages=passages)
    cited = Chunk.objects.in_workspace(workspace).get(document=document, ordinal=50)
    page = text_of(open_page(visitor, document, chunk=cited.chunk_id.hex))

    assert page.count('<section class="passage') == WINDOW_PASSAGES
    assert "page 50 &lt;b&gt;" in page
    assert page.count('class="passage cited"') == 1
    later = follow(visitor, document, page, "next")
    assert "76–100" in later
    assert 'rel="next"' not in later
    # A chunk of another document leads to the start.
    foreign = Chunk.objects.in_workspace(workspace).filter(document=guide).latest("ordinal")
    assert "1–30" in text_of(open_page(visitor, document, chunk=foreign.chunk_id.hex))
