"""Searches without words in an order of their own: they list the documents that pass the filters."""

from datetime import UTC, datetime

import pytest

from kebab.identity.reader import OPERATOR
from search.engine.search import search
from search.mirror import local_mirrors
from search.mirror.files import MirrorBusy
from search.models import Source
from search.retrieval.types import Group, Mode, SearchQuery, Sort
from tests.support.corpus import chunk, restrict, write
from tests.support.search import ask, embed, paths, sync


@pytest.fixture
def shelf(workspace):
    for path, title, year in (("b.md", "Alpha", 2020), ("a.md", "Gamma", 2026), ("c.md", "«Bêta»", 2023)):
        texts = (f"{title} one.", chunk("f()", 1, kind="code", language="python"))
        write(workspace, path, *texts, title=title, modified_at=datetime(year, 1, 1, tzinfo=UTC))
    sync(workspace)
    embed(workspace)
    return workspace


@pytest.mark.parametrize("group", Group)
@pytest.mark.parametrize("mode", Mode)
def test_documents_are_listed_by_date_or_title(shelf, mode, group):
    newest = ask(shelf, "", mode, sort=Sort.DATE, group=group)
    assert paths(newest) == ["a.md", "c.md", "b.md"]
    assert [hit.snippet for hit in newest.hits] == ["Gamma one.", "«Bêta» one.", "Alpha one."]
    assert paths(ask(shelf, " ", mode, sort=Sort.TITLE, group=group)) == ["b.md", "c.md", "a.md"]
    assert paths(ask(shelf, "", mode)) == []


def test_titles_are_in_order_by_their_words(shelf):
    assert paths(ask(shelf, "one", sort=Sort.TITLE)) == ["b.md", "c.md", "a.md"]


@pytest.mark.parametrize("text", ["", "one"])
def test_numbers_in_titles_are_sorted_as_numbers(workspace, text):
    titles = [
        "Lektion 2b",
        "Lesson 10",
        "第10課",
        "lesson 9",
        "Lesson 2.10",
        "第2課",
        "Lesson 02.9",
        "Lektion 2",
    ]
    for number, title in enumerate((*titles, "")):
        write(workspace, f"lesson {number + 3}.md", "one", title=title)
    sync(workspace)
    listed = [hit.title for hit in ask(workspace, text, sort=Sort.TITLE).hits]
    assert listed == [
        *("Lektion 2", "Lektion 2b", "Lesson 02.9", "Lesson 2.10", "lesson 9", "Lesson 10", ""),
        *("第2課", "第10課"),
    ]


@pytest.mark.parametrize("text", ["", "one"])
def test_undated_documents_are_last_by_date_in_both_directions(workspace, text):
    write(workspace, "undated.md", "one")
    for year in (2021, 2019, 2020):
        write(workspace, f"{year}.md", "one", metadata={"date": f"{year}-05-01"})
    write(workspace, "also.md", "one")
    write(workspace, "undated.md", "one", parser_version="p2")
    sync(workspace)
    newest, oldest = (paths(ask(workspace, text, sort=sort)) for sort in (Sort.DATE, Sort.DATE_ASC))
    assert newest == ["2021.md", "2020.md", "2019.md", "also.md", "undated.md"]
    assert oldest == ["2019.md", "2020.md", "2021.md", "undated.md", "also.md"]


def test_filters_and_operators_narrow_a_listing(shelf):
    write(shelf, "prose.md", "No code.")
    sync(shelf)
    code = ask(shelf, "", sort=Sort.TITLE, kind=("code",))
    assert (paths(code), code.hits[0].snippet) == (["b.md", "c.md", "a.md"], "f()")
    assert paths(ask(shelf, "after:2025", sort=Sort.DATE, operators=True)) == ["a.md", "prose.md"]
    assert paths(ask(shelf, "", sort=Sort.DATE, path_glob=("missing*",))) == []


def test_hidden_documents_are_not_listed(shelf):
    restrict(Source.objects.in_workspace(shelf).get(key="docs"))
    write(shelf, "open.md", "Open.", source="open")
    sync(shelf)
    query = SearchQuery(text="", mode=Mode.LEXICAL, sort=Sort.DATE)
    assert paths(search(shelf, query)) == ["open.md"]
    assert len(paths(search(shelf, query, reader=OPERATOR))) == 4


@pytest.mark.parametrize("mode", Mode)
def test_listing_without_a_mirror_names_what_is_missing(workspace, monkeypatch, mode):
    def refuse(*_, **__):
        raise MirrorBusy

    write(workspace, "a.md", "One.")
    monkeypatch.setattr(local_mirrors, "sync_mirror", refuse)
    listed = ask(workspace, "", mode, sort=Sort.DATE)
    assert (paths(listed), listed.degraded) == ([], ("lexical",))
