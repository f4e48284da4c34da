"""The page of a document's chunks."""

import html
import re

import pytest

from kebab.identity.models import Role
from search.models import Chunk
from tests.pages.search.shelf import Passage, make_member, shelve


def address(document, query=""):
    return f"/w/handbook/documents/{document.doc_id.hex}/chunks{query}"


def page_of(visitor, document, query=""):
    response = visitor.get(address(document, query))
    assert response.status_code == 200
    return response.content.decode()


def numbers(page):
    return [int(number) for number in re.findall(r'<span class="number">(\d+)</span>', page)]


@pytest.fixture
def long(workspace):
    spans = [[{"kind": "line", "start": n + 1, "end": n + 2}] for n in range(120)]
    passages = [
        Passage(
            text=f"text {n} <b>",
            ordinal=n,
            breadcrumb=f"Guide > Part {n}",
            kind="code" if n % 2 else "info",
            language="python" if n % 2 else None,
            token_count=n,
            spans=spans[n],
        )
        for n in range(120)
    ]
    return shelve(workspace, "long.md", "x\n" * 130, passages=passages)


def test_chunk_page_shows_all_indexed_fields(visitor, long):
    page = page_of(visitor, long)
    chunk = page[page.index('<span class="number">2</span>') :]

    for text in ("long.md#L2-L3", "Guide &gt; Part 1", "1 token ", "Code", "python", "text 1 &lt;b&gt;"):
        assert text in chunk
    assert "test/1" in page
    seen = numbers(page)
    while following := re.search(r'rel="next" href="([^"]+)"', page):
        page = page_of(visitor, long, html.unescape(following[1]))
        seen += numbers(page)

    assert seen == list(range(1, 121))


def test_a_hit_leads_editors_to_its_chunk_and_the_chunk_to_its_place(visitor, client, workspace, long):
    chunk = Chunk.objects.in_workspace(workspace).get(document=long, ordinal=99)
    there = f"/w/handbook/documents/{long.doc_id.hex}?chunk={chunk.chunk_id.hex}"
    assert "/chunks" not in visitor.get(there).content.decode()
    client.force_login(make_member(workspace, "editor@example.org", Role.EDITOR))
    document = client.get(there)
    way = re.search(r'href="([^"]+/chunks[^"]*)"', document.content.decode())[1]
    page = visitor.get(way.partition("#")[0]).content.decode()

    assert way.endswith(f"#chunk-{chunk.chunk_id.hex}")
    assert f'<li class="chunk cited" id="chunk-{chunk.chunk_id.hex}">' in page
    assert numbers(page)[0] == 100
    place = (
        f"/w/handbook/documents/{long.doc_id.hex}?start=100&amp;end=101&amp;chunk={chunk.chunk_id.hex}#L100"
    )
    assert f'href="{place}"' in page


def test_chunk_of_another_document_leads_to_the_start(visitor, workspace, long, guide):
    foreign = Chunk.objects.in_workspace(workspace).filter(document=guide).latest("ordinal")

    assert numbers(page_of(visitor, long, f"?chunk={foreign.chunk_id.hex}"))[0] == 1
    assert visitor.get(address(long, "?cursor=x")).status_code == 400


def test_long_chunk_is_cut(visitor, workspace):
    passages = [Passage(text="word " * 100_000, breadcrumb="b" * 100_000)]

    assert len(page_of(visitor, shelve(workspace, "a.md", "x", passages=passages))) < 20_000


def test_hidden_document_is_not_found(visitor, other_workspace):
    hidden = shelve(other_workspace, "a.md", "x")
    missing = visitor.get(f"/w/handbook/documents/{'0' * 32}/chunks")
    strange = visitor.get(address(hidden))

    assert (missing.status_code, strange.status_code) == (404, 404)
    assert visitor.get(f"/w/secrets/documents/{hidden.doc_id.hex}/chunks").status_code == 404


def test_preview_has_the_cited_passage_between_its_neighbours(visitor, long):
    chunk = Chunk.objects.get(document=long, ordinal=6)
    headers = {"hx-request": "true"}
    passage = visitor.get(address(long, f"?chunk={chunk.chunk_id.hex}&q=6"), headers=headers).context[
        "passage"
    ]

    assert "text <mark>6</mark> " in passage["here"]
    assert ["text" in each for each in (*passage["before"], *passage["after"])] == [True, True]
    for query in ("", f"?chunk={'0' * 32}"):
        assert visitor.get(address(long, query), headers=headers).status_code == 404
