"""A document that fills the window of candidates doesn't keep others out of a list, nor off its pages."""

from collections import Counter

import pytest

from kebab.identity.reader import Reader
from search.engine import pages, run
from search.engine import search as engine
from search.engine.candidates import find_candidates
from search.engine.pages import fetch_next_page
from search.engine.search import search
from search.retrieval.fusion import post_fusion
from search.retrieval.query.filters import SearchFilters
from search.retrieval.types import Mode, SearchQuery
from tests.support.corpus import chunk, write
from tests.support.search import ask, paths, sync

PASSAGES = 240
SHORT = 30
EVERY = {"long.md", *(f"{number:02}.md" for number in range(SHORT))}


def fill(workspace, *, passages=PASSAGES, notes=SHORT):
    """Write a book with "tide gauge" on each page, five notes that rank before it, and some behind it."""
    pages = [chunk(f"Tide gauge, tide gauge: page p{page}.", page) for page in range(passages)]
    write(workspace, "long.md", *pages)
    for number in range(notes):
        words = "tide gauge " * 4 if number < 5 else f"A gauge of the tide {'stands at the quay ' * 3}"
        write(workspace, f"{number:02}.md", f"{words} n{number}.")


@pytest.fixture
def tides(filled):
    return filled


@pytest.fixture
def windows(monkeypatch):
    """Return the list of windows that were searched."""
    searched = []

    def note(*given, window, **options):
        searched.append(window)
        return find_candidates(*given, window=window, **options)

    monkeypatch.setattr(run, "find_candidates", note)
    return searched


def all_pages(workspace, **options):
    page = search(workspace, SearchQuery(text="tide gauge", **options), caller="x")
    yield page
    while page.next_cursor is not None:
        page = fetch_next_page(workspace, page.next_cursor, "x", reader=Reader())
        yield page


@pytest.mark.parametrize("mode", [Mode.LEXICAL, Mode.HYBRID])
@pytest.mark.parametrize("k", [4, 10, 31, 50])
def test_each_document_is_on_one_page_and_pages_are_full(tides, mode, k):
    found = list(all_pages(tides, mode=mode, group="document", k=k))
    hits = [hit for page in found for hit in page.hits]
    assert sorted(hit.doc_path for hit in hits) == sorted(EVERY)
    assert [hit.rank for hit in hits] == list(range(1, len(EVERY) + 1))
    assert {len(page.hits) for page in found[:-1]} <= {k}
    assert not any(page.warnings for page in found)


def test_cap_per_document_fills_its_pages(tides):
    found = list(all_pages(tides, mode=Mode.LEXICAL, per_file_cap=2, k=10))
    counts = Counter(path for page in found for path in paths(page))
    assert counts == {**dict.fromkeys(EVERY, 1), "long.md": 2}
    assert [len(page.hits) for page in found] == [10, 10, 10, 2]


def test_pages_of_passages_go_on_behind_the_first_candidates(tides):
    hits = [hit for page in all_pages(tides, mode=Mode.LEXICAL, k=60) for hit in page.hits]
    assert len({hit.chunk_id for hit in hits}) == len(hits) == PASSAGES + SHORT


def test_window_is_widened_for_short_lists_alone(tides, windows):
    def searched(**options):
        windows.clear()
        ask(tides, "tide gauge", Mode.LEXICAL, **options)
        return windows

    assert searched(k=10) == [10]
    assert searched(group="document", k=5) == [100]
    assert searched(group="document", k=10) == [100, 1_000]
    assert searched(group="document", k=10, cutoff=True) == [100]
    assert searched(group="document", k=10, path_glob=("long.md",)) == [100]
    assert searched(per_file_cap=1, k=10, rerank=True) == [60]


def test_full_first_page_is_the_same_whether_or_not_its_list_goes_on(tides):
    first = search(tides, SearchQuery(text="tide gauge", group="document", k=4), caller="x")
    assert first.hits == ask(tides, "tide gauge", Mode.HYBRID, group="document", k=4).hits


def test_end_of_the_widest_window_is_told(tides, monkeypatch):
    for module, name in ((post_fusion, "LONGEST"), (run, "MAX_K"), (engine, "MAX_K"), (pages, "MAX_K")):
        monkeypatch.setattr(module, name, 110)
    *_, last = all_pages(tides, mode=Mode.LEXICAL, group="document", k=4)
    assert (last.next_cursor, len(last.warnings)) == (None, 1)
    (only,) = all_pages(tides, mode=Mode.LEXICAL, group="document", k=20)
    assert len(only.hits) < 20 and len(only.warnings) == 1
    whole = search(tides, SearchQuery(text="tide gauge", group="document", k=4, filters=SearchFilters(
        path_glob=("long.md",))), caller="x")  # fmt: skip
    assert (whole.next_cursor, whole.warnings) == (None, ())


def test_rewritten_document_is_not_found_again_behind_the_first_candidates(workspace):
    fill(workspace, passages=110, notes=8)
    sync(workspace)
    pages = all_pages(workspace, mode=Mode.LEXICAL, group="document", k=4)
    shown = next(pages).hits[0].doc_path
    write(workspace, shown, "Tide gauge, moved.")
    sync(workspace)
    later = [path for page in pages for path in paths(page)]
    assert len(later) == 5 and shown not in later
