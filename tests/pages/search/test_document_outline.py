"""The document page's outline, and its links to other versions of the document."""

import html
import re

import pytest

from tests.pages.search.shelf import Passage, shelve


def page_of(visitor, document, query=""):
    response = visitor.get(f"/w/handbook/documents/{document.doc_id.hex}{query}")
    assert response.status_code == 200
    return response.content.decode()


def sections(page):
    """Return depth, link and heading of each section, as the wide page lists them."""
    listed = re.search(r'<nav class="outline aside".*?</nav>', page, re.DOTALL)
    found = re.findall(r'<li class="depth-(\d)"><a href="([^"]+)"[^>]*>([^<]*)<', listed[0]) if listed else []
    return [(int(depth), html.unescape(way), html.unescape(heading)) for depth, way, heading in found]


def current(page):
    return re.findall(r'<li class="depth-\d"><a href="[^"]+" aria-current="true">([^<]+)</a></li>', page)


def section(ordinal, line, *path):
    span = {"kind": "line", "start": line, "end": line}
    return Passage(text=f"text {ordinal}", ordinal=ordinal, heading_path=path, spans=[span])


GUIDE = "# Guide\n\n## Install\n\n### Linux\n\na\n\n### Windows\n\nb\n\n## Use\n\nc\n"
PASSAGES = [
    section(0, 5, "Guide", "Install", "Linux"),
    section(1, 9, "Guide", "Install", "Windows"),
    section(2, 11, "Guide", "Install", "Windows"),
    section(3, 13, "Guide", "Use"),
]


@pytest.fixture
def manual(workspace):
    return shelve(workspace, "manual.md", GUIDE, passages=PASSAGES)


def test_headings_are_listed_once_below_those_above_them_with_the_current_one(visitor, manual):
    page = page_of(visitor, manual)
    assert sections(page) == [
        (0, "#L5", "Install"),
        (1, "#L5", "Linux"),
        (1, "#L9", "Windows"),
        (0, "#L13", "Use"),
    ]
    assert 'class="versions' not in page
    assert set(current(page_of(visitor, manual, "?start=11&end=11"))) == {"Windows"}
    assert set(current(page_of(visitor, manual, "?start=14&end=14"))) == {"Use"}


def test_a_section_that_is_not_shown_is_a_window_away(visitor, workspace):
    text = "\n\n".join(f"# Part {n}\n\nText." for n in range(400))
    passages = [section(n, 4 * n + 1, f"Part {n}") for n in range(400)]
    document = shelve(workspace, "long.md", text, passages=passages)
    page = page_of(visitor, document, "?start=3&end=3&q=x")
    listed = sections(page)

    assert len(listed) == 300
    depth, way, heading = listed[299]
    assert (depth, heading) == (0, "Part 299")
    there = page_of(visitor, document, way.partition("#")[0])
    assert f'id="{way.partition("#")[2]}"' in there
    assert set(current(there)) == {"Part 299"}
    assert "start=3" in way
    assert "q=x" in way


def test_pages_and_passages_have_outlines_too(visitor, workspace):
    pages = [
        Passage(text=f"t{n}", ordinal=n, heading_path=(f"Part {n}",), spans=[{"kind": "page", "page": n + 1}])
        for n in range(3)
    ]
    printed = shelve(workspace, "a.pdf", "%PDF", media="pdf", mime="application/pdf", passages=pages)
    slides = shelve(workspace, "a.pptx", "PK", media="office", mime="application/x", passages=pages)

    assert [way.partition("&")[0] for _, way, _ in sections(page_of(visitor, printed))[1:]] == [
        "?from=2",
        "?from=3",
    ]
    assert all(way.startswith("#chunk-") for _, way, _ in sections(page_of(visitor, slides)))


def test_document_of_one_section_is_shown_without_an_outline(visitor, workspace):
    for passages in ([], PASSAGES[3:], [Passage(text="x", heading_path=("A",), spans=[])]):
        document = shelve(workspace, "a.md", "# A\n\nb", passages=passages)
        assert 'class="outline' not in page_of(visitor, document)


def test_headings_are_escaped_and_cut(visitor, workspace):
    long = "<b>" + "x" * 5_000
    passages = [section(0, 1, "A"), section(1, 1, long)]
    page = page_of(visitor, shelve(workspace, "a.md", "# A", passages=passages))

    assert len(page) < 20_000
    assert "<b>x" not in page


def test_other_versions_of_the_document_are_a_link_away(visitor, workspace, manual):
    first = shelve(workspace, "manual.md", GUIDE, version="v1")
    second = shelve(workspace, "manual.md", GUIDE, version="v2")
    shelve(workspace, "other.md", GUIDE, version="v3")
    shelve(workspace, "manual.md", GUIDE, source="elsewhere", version="v4")
    page = page_of(visitor, first)
    nav = re.search(r'aria-label="Versions of this document">(.*?)</nav>', page)[1]

    assert re.findall(r">([^<]+)</a>", nav) == ["v2", "v1", "default"]
    assert f'<a href="/w/handbook/documents/{second.doc_id.hex}">v2</a>' in nav
    assert re.findall(r'aria-current="true">(\w+)', nav) == ["v1"]


def test_shown_version_is_listed_even_with_many_newer_ones(visitor, workspace, manual, monkeypatch):
    monkeypatch.setattr("search.pages.document.related.MAX_VERSIONS", 2)
    first = shelve(workspace, "manual.md", GUIDE, version="v1")
    for tag in ("v2", "v3"):
        shelve(workspace, "manual.md", GUIDE, version=tag)
    nav = re.search(r'aria-label="Versions of this document">(.*?)</nav>', page_of(visitor, first))[1]

    assert re.findall(r">([^<]+)</a>", nav) == ["v3", "v2", "v1"]
    assert re.findall(r'aria-current="true">(\w+)', nav) == ["v1"]
