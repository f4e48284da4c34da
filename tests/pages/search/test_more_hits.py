"""Further hits: each once, as a page and as a fragment."""

import html
import re

import pytest

from search.models import Document
from tests.pages.search.shelf import index, make_member, shelve

TYPING = {"hx-request": "true"}


@pytest.fixture
def entries(transactional_db, workspace):
    for n in range(25):
        shelve(workspace, f"{n}.md", f"entry {n} of the list")
    index(workspace)


def get(visitor, address, **headers):
    return visitor.get(address, headers=headers or None).content.decode()


def paths(page):
    return re.findall(r'<p class="mono">([^<#]+)#', page)


def more(page):
    found = re.search(r'rel="next" href="([^"]+)"', page)
    return None if found is None else html.unescape(found[1])


def test_each_hit_comes_once_page_by_page(visitor, entries):
    for mode in ("lexical", "hybrid"):
        page, seen = get(visitor, f"/w/handbook/search?q=entry&mode={mode}"), []
        while True:
            seen += paths(page)
            if more(page) is None:
                break
            page = get(visitor, more(page))

        assert len(seen) == len(set(seen)) == 25
        assert 'id="result-25"' in page


def test_related_hits_stand_behind_a_divider(visitor, entries):
    divider = '<li class="divider">Related</li>'
    page = get(visitor, "/w/handbook/search?q=entry+numismatic+byzantine+follis+catalogue&mode=lexical")
    assert page.index(divider) < page.index('<li class="result related"') and page.count(divider) == 1
    assert '<li class="result"' not in page
    part = get(visitor, more(page), **TYPING)
    assert (divider in part, part.count('<li class="result related"')) == (True, 10)
    assert divider not in get(visitor, "/w/handbook/search?q=entry&mode=lexical")


def test_document_added_between_pages_repeats_no_hit(visitor, workspace, entries):
    first = get(visitor, "/w/handbook/search?q=entry&mode=lexical")
    shelve(workspace, "new.md", "entry entry entry")
    index(workspace)
    second = get(visitor, more(first))

    assert not set(paths(first)) & set(paths(second))
    assert len(paths(second)) == 10


def test_more_hits_are_appended_while_one_types(visitor, entries):
    typed = get(visitor, "/w/handbook/search?q=entry&mode=lexical", **TYPING)
    part = get(visitor, more(typed), **TYPING)

    assert "<html" not in part
    assert part.lstrip().startswith('<li class="result"')
    assert len(set(paths(part))) == 20
    assert len({*paths(part), *paths(get(visitor, more(part), **TYPING))}) == 25


def test_hits_shown_while_typing_are_shown_again_with_more(visitor, workspace, entries):
    typed = get(visitor, "/w/handbook/search?q=entry&mode=lexical", **TYPING)
    shelve(workspace, "new.md", "entry entry entry")
    index(workspace)
    response = visitor.get(more(typed), headers=TYPING)

    assert (response["HX-Retarget"], response["HX-Reswap"]) == (".results", "innerHTML")
    assert "new.md" in paths(response.content.decode())
    assert re.findall(r'id="result-(\d+)"', response.content.decode()) == [str(rank) for rank in range(1, 21)]


def test_typing_stores_no_ranked_lists(visitor, entries, monkeypatch):
    monkeypatch.setattr("search.engine.search.add_cursor", None)

    assert len(paths(get(visitor, "/w/handbook/search?q=entry", **TYPING))) == 10


def test_filters_and_deletions_hold_for_all_hits(visitor, workspace, entries):
    first = get(visitor, "/w/handbook/search?q=entry&mode=lexical&path_glob=1*.md&lang=en")
    second = get(visitor, more(first))
    assert len(paths(first)) == 10
    assert 'class="facet"' in second
    assert paths(second) and all(path.startswith("1") for path in paths(second))

    gone = paths(second)[0]
    Document.objects.in_workspace(workspace).filter(path=gone).delete()
    assert gone not in paths(get(visitor, more(first)))


def test_expired_or_foreign_list_links_back_to_the_search(client, workspace, visitor, entries):
    address = f"/w/handbook/search/more?cursor={'0' * 36}&q=entry&mode=lexical"
    whole, part = visitor.get(address), visitor.get(address, headers=TYPING)

    assert whole.status_code == part.status_code == 410
    assert 'name="q"' in whole.content.decode()
    assert "<html" not in part.content.decode()
    assert 'href="/w/handbook/search?q=entry&amp;mode=lexical&amp;k=10"' in part.content.decode()
    own = more(get(visitor, "/w/handbook/search?q=entry&mode=lexical"))
    client.force_login(make_member(workspace, "bob@example.org"))
    assert client.get(own).status_code == 410
