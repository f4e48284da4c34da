"""Outdated pages are folded below what replaces them, or lowered, and say so."""

import pytest

from kebab.identity.reader import Reader
from search.corpus import delete_documents
from search.engine.pages import fetch_next_page
from search.engine.search import search
from search.models import Document
from search.retrieval.types import Group, Mode, SearchQuery, Sort
from tests.support.corpus import write
from tests.support.search import ask, embed, paths, sync

OLD = "Every employee has 25 days of paid vacation per year. Unused days expire in December."
NEW = "Every employee has 30 days of paid vacation per year. Ask your manager two weeks ahead for more days."
TRIP = "Paid vacation days per year in Lisbon: photos of hotels, luggage, museums, concerts, trams, beaches."
QUERY = "paid vacation days per year"


def fill(workspace, *pages, **options):
    """Write pages of a path, a title and a text, and a page about something else."""
    for path, title, text in pages:
        write(workspace, path, text, title=title, **options)
    write(workspace, "other.md", "Paid parking costs 25 euros per year and month.", title="Parking")
    sync(workspace)
    embed(workspace)


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("group", list(Group))
def test_superseded_page_is_folded_below_the_newer_one(workspace, mode, group):
    fill(
        workspace,
        ("old.md", "Vacation policy 2024 (superseded)", OLD),
        ("new.md", "Vacation policy", NEW),
    )

    first, *others = ask(workspace, QUERY, mode, group=group).hits

    assert first.doc_path == "new.md"
    assert "old.md" not in [hit.doc_path for hit in others]
    assert [(page.path, page.edition) for page in first.older] == [("old.md", "2024")]


@pytest.mark.parametrize(
    ("old", "title", "new"),
    [
        ("2023/vacation.md", "Vacation policy", "2025/vacation.md"),
        ("vacation-old.md", "Vacation policy", "vacation.md"),
        ("vacation-v1.md", "Vacation policy", "vacation-v2.md"),
        ("archive/vacation.md", "Vacation policy", "vacation.md"),
        ("a.md", "Former vacation policy", "b.md"),
    ],
)
def test_older_edition_is_folded_below_the_newer_one(workspace, old, title, new):
    fill(workspace, (old, title, OLD), (new, "Vacation policy", NEW))

    first = ask(workspace, QUERY, Mode.LEXICAL).hits[0]

    assert (first.doc_path, [page.path for page in first.older]) == (new, [old])


@pytest.mark.parametrize(
    ("one", "other", "text"),
    [
        (("a.md", "Report 2023"), ("b.md", "Report 2024"), OLD),
        (("2023-05/a.md", "Vacation policy 2023-05"), ("b.md", "Vacation policy 2024-05"), OLD),
        (("a/x.md", "Vacation policy"), ("b/x.md", "Vacation policy"), OLD),
        (("a.md", "Vacation trip 2023"), ("b.md", "Vacation trip 2025"), TRIP),
        (("a.md", "Vacation policy 2998"), ("b.md", "Vacation policy 2999"), OLD),
    ],
)
def test_pages_that_replace_nothing_are_current(workspace, one, other, text):
    fill(workspace, (*one, text), (*other, NEW))

    hits = ask(workspace, QUERY, Mode.LEXICAL).hits

    assert {hit.doc_path for hit in hits} >= {one[0], other[0]}
    assert not any(hit.outdated or hit.older for hit in hits)


@pytest.mark.parametrize("mode", list(Mode))
def test_outdated_page_without_a_newer_one_is_lowered_and_says_so(workspace, mode):
    fill(workspace, ("archive/fax.md", "Fax", OLD), ("leave.md", "Leave", NEW))

    hits = {hit.doc_path: hit for hit in ask(workspace, QUERY, mode).hits}

    assert next(iter(hits)) == "leave.md"
    fax = hits["archive/fax.md"]
    assert (hits["leave.md"].outdated, fax.outdated, fax.replaced_by) == (False, True, None)


@pytest.mark.parametrize("query", [f"{QUERY} 2024", "superseded vacation policy", "Vacation policy 2024"])
def test_older_version_is_found_by_a_query_for_it(workspace, query):
    fill(
        workspace,
        ("old.md", "Vacation policy 2024 (superseded)", OLD),
        ("new.md", "Vacation policy", NEW),
    )

    (old,) = [hit for hit in ask(workspace, query, Mode.LEXICAL).hits if hit.doc_path == "old.md"]

    assert old.outdated
    assert old.replaced_by is not None and old.replaced_by.path == "new.md"


def test_older_version_is_found_by_a_filter_and_in_a_listing(workspace):
    fill(workspace, ("old.md", "Vacation policy (archived)", OLD), tags=("archive",))
    write(workspace, "new.md", NEW, title="Vacation policy")
    sync(workspace)

    tagged = search(workspace, SearchQuery(text=f"{QUERY} tag:archive", operators=True, mode=Mode.LEXICAL))

    assert "old.md" in paths(tagged)
    assert "old.md" in paths(ask(workspace, "", Mode.LEXICAL, sort=Sort.TITLE))


def test_stated_successor_replaces_a_page_of_another_title(workspace):
    fill(workspace, ("leave.md", "Time off", NEW))
    write(workspace, "old/holidays.md", OLD, title="Holidays", metadata={"superseded_by": "../leave.md"})
    sync(workspace)

    first = ask(workspace, QUERY, Mode.LEXICAL).hits[0]

    assert (first.doc_path, [page.path for page in first.older]) == ("leave.md", ["old/holidays.md"])


def test_verified_page_replaces_nothing_and_is_replaced_by_nothing(workspace):
    fill(workspace, ("new.md", "Vacation policy 2025", NEW))
    write(workspace, "old/b.md", OLD, title="Vacation policy 2024", metadata={"status": "verified"})
    sync(workspace)

    hits = ask(workspace, QUERY, Mode.LEXICAL).hits

    assert {"new.md", "old/b.md"} <= {hit.doc_path for hit in hits}
    assert not any(hit.outdated for hit in hits)


def test_page_is_current_again_once_the_newer_one_is_gone(workspace):
    fill(workspace, ("a.md", "Vacation policy 2024", OLD), ("b.md", "Vacation policy 2025", NEW))
    assert "a.md" not in paths(ask(workspace, QUERY, Mode.LEXICAL))

    delete_documents(workspace, [Document.objects.in_workspace(workspace).get(path="b.md").doc_id])
    sync(workspace)

    first = ask(workspace, QUERY, Mode.LEXICAL).hits[0]
    assert (first.doc_path, first.outdated) == ("a.md", False)


def test_older_versions_are_on_no_later_page_and_why_not_says_so(workspace):
    fill(workspace, ("a.md", "Vacation policy 2024", OLD), ("b.md", "Vacation policy 2025", NEW))
    query = SearchQuery(text=QUERY, mode=Mode.LEXICAL, k=1)
    first = search(workspace, query, caller="x")

    second = fetch_next_page(workspace, first.next_cursor, "x", reader=Reader())

    assert paths(first) + paths(second) == ["b.md", "other.md"]
    old = Document.objects.in_workspace(workspace).get(path="a.md")
    verdict = ask(workspace, QUERY, Mode.LEXICAL, why_not=old.doc_id.hex).explain["why_not"]
    assert verdict["gate"] == "older"
