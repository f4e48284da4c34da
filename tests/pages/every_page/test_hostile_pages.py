"""Oversized documents: pages stay small, and nothing overflows."""

import tracemalloc
from dataclasses import replace

import pytest
from django.test import Client

from kebab.identity.models import Role, Workspace
from tests.pages.every_page.registry import PAGES
from tests.pages.every_page.visit import visit
from tests.pages.search.shelf import Passage, index, passages_of, shelve
from tests.support.actors import person_client
from tests.support.api import address, post_text, run
from tests.support.browser import needs_browser

# Ingesting a heading of 200 KB and shelving 10,000 passages takes many seconds.
pytestmark = [pytest.mark.slow, pytest.mark.django_db]
_PAGE_LIMIT_BYTES = 150_000
# Each link that asks the same again has the whole query in its address, in which a sign takes up to 12 bytes.
_LONG_QUERY_LIMIT_BYTES = 1_000_000
_MEMORY_LIMIT_BYTES = 15_000_000
_LINE = "The tide runs out past the long pontoon until the bell at the wall has rung.\n"
_BIG_BYTES = 30_000_000
_DRAWN = {
    "rows.csv": ("text/csv", "a,b,c\n" + "1,two,three\n" * 500_000),
    "cells.csv": ("text/csv", "a,b\n" + ",".join(["cell"] * 100_000)),
    "word.html": ("text/html", f"<h1>{'w' * 20_000}</h1><table><tr>{'<td>cell' * 300}</table>"),
    "nested.html": ("text/html", "<div><ul><li><b><table><tr><td><blockquote>" * 20_000 + "deep"),
    "lists.rst": ("text/x-rst", "".join("  " * level + "* x\n\n" for level in range(200))),
    "quotes.rst": ("text/x-rst", "*x `y " * 50_000),
}
_SEARCH = next(entry for entry in PAGES if entry.label == "search")
_DOCUMENT = next(entry for entry in PAGES if entry.label == "document")


@pytest.fixture(scope="module")
def too_much(ground):
    """Return the ground with a heading of 200 KB, 10,000 passages with one word, and 30 MB of text."""
    workspace = Workspace.objects.get(slug=ground.ids["slug"])
    heading = "Würgassen 🚢 הרציף " * 8_000
    client = person_client(ground.people[Role.EDITOR])
    answer = post_text(client, workspace, "heading.md", text=f"# {heading}\n\nUnder a colossal heading.\n")
    assert run(workspace, answer).state == "succeeded"
    for number in range(100):
        texts = "\n\n".join(f"Foghorn {number}, blast {blast}." for blast in range(100))
        shelve(workspace, f"foghorns/{number:03}.txt", texts, passages=passages_of(texts), title="Foghorns")
    big = shelve(workspace, "big.log", _LINE * (_BIG_BYTES // len(_LINE)), passages=[Passage(text=_LINE)])
    drawn = {
        name: shelve(workspace, name, text, mime=mime, passages=[Passage(text="x")]).doc_id.hex
        for name, (mime, text) in _DRAWN.items()
    }
    index(workspace)
    ids = {"heading": answer.json()["document"]["id"], "big": big.doc_id.hex, **drawn}
    return replace(ground, ids=dict(ground.ids) | ids)


@pytest.fixture
def viewer(too_much):
    client = Client()
    client.force_login(too_much.people[Role.VIEWER])
    return client


def hits(*, shows=".results article", status=200, **asked):
    query = "&".join(f"{name}={value}" for name, value in asked.items())
    return replace(_SEARCH, query=query, shows=shows, status=status)


def document(name, query="", shows="article"):
    return replace(_DOCUMENT, arguments={"doc_id": name}, query=query, shows=shows)


_TOO_MUCH = {
    "a-heading-of-200-kb": document("heading"),
    "the-hits-of-it": hits(q="colossal+heading", mode="lexical"),
    "10000-hits": hits(q="foghorn", mode="lexical", k="50"),
    "30-mb": document("big", "start=200000&end=200001&view=source", shows=".cited"),
    "30-mb-rendered": document("big", "start=200000&end=200001"),
    "500000-rows": document("rows.csv", "start=300000&end=300000"),
    "100000-cells": document("cells.csv"),
    "a-word-of-20000-letters": document("word.html"),
    "nested-elements": document("nested.html"),
    "nested-lists": document("lists.rst"),
    "starts-of-emphasis": document("quotes.rst"),
    "words-that-break-layouts": document("hostile"),
    "the-hits-of-them": hits(q="%D7%94%D7%A8%D7%A6%D7%99%D7%A3", mode="lexical"),
    "a-query-of-2000-signs": hits(q="%F0%9F%9A%A2%D7%94" * 1_000, mode="lexical"),
    "a-word-of-2000-signs": hits(q="w" * 2_000, mode="lexical", shows=".empty"),
}


def test_pages_of_huge_content_stay_below_the_size_limit(viewer, too_much, subtests):
    for name, entry in _TOO_MUCH.items():
        with subtests.test(page=name):
            response = viewer.get(entry.address(too_much))

            is_long = len(entry.query) > 1_000
            assert response.status_code == entry.status
            assert len(response.content) < (_LONG_QUERY_LIMIT_BYTES if is_long else _PAGE_LIMIT_BYTES)
            if name == "10000-hits":
                assert response.content.count(b"<article") == 50


def test_listing_of_huge_documents_stays_below_the_size_limit(too_much):
    workspace = Workspace.objects.get(slug=too_much.ids["slug"])
    client = person_client(too_much.people[Role.VIEWER])

    assert len(client.get(address(workspace, "/documents")).content) < _PAGE_LIMIT_BYTES


def test_window_of_30_mb_is_shown_without_holding_them_in_memory(viewer, too_much):
    where = _TOO_MUCH["30-mb"].address(too_much)
    viewer.get(where)
    tracemalloc.start()
    try:
        page = viewer.get(where).content.decode()
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert 'id="L200000" class="cited"' in page
    assert page.count('<li id="L') == 400
    assert most_bytes < _MEMORY_LIMIT_BYTES


class TestInABrowser:
    pytestmark = needs_browser

    def test_visits_of_oversized_pages_find_no_defect(self, browser, server, too_much, subtests):
        for name, entry in _TOO_MUCH.items():
            with subtests.test(page=name):
                found = visit(browser, server, too_much, entry)

                assert (found.status, found.is_shown) == (entry.status, True)
                assert [*found.overflow, *found.violations, *found.complaints, *found.keyboard] == []
