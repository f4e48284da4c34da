"""Finding libraries by name: who is found, in which order, with which score."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kebab.people.reader import Reader
from search.libraries.find import find_libraries
from search.models import Source
from tests.integration.search.libraries.making import add_library
from tests.support.corpus import make_workspace, write
from tests.support.searching import sync


def found(workspace, name, **options):
    return [
        (each.source.title, each.score)
        for each in find_libraries(workspace, Reader(), name, **options).libraries
    ]


def titles(workspace, name, **options):
    return [title for title, _ in found(workspace, name, **options)]


@pytest.fixture
def reacts(workspace):
    add_library(workspace, "Preact", description="A small react.", total_snippets=300, trust_score=8.0)
    add_library(workspace, "React Router", description="Routes.", total_snippets=300, trust_score=8.0)
    add_library(workspace, "React", description="The React library.", total_snippets=1247, trust_score=9.2)
    return workspace


def test_react_scores_as_the_specification_works_it_out(reacts):
    assert found(reacts, "react") == [("React", 274.47), ("React Router", 133.0), ("Preact", 103.0)]


def test_upper_and_lower_case_are_alike(reacts):
    assert found(reacts, "REACT") == found(reacts, "react")


def test_the_list_ends_at_the_limit(reacts):
    assert titles(reacts, "react", limit=2) == ["React", "React Router"]


@pytest.mark.parametrize("name", ["%", "_", "\\", "re%t", "r_act"])
def test_percent_and_underscore_mean_themselves(reacts, name):
    assert found(reacts, name) == []
    add_library(reacts, f"About {name} signs", key="signs")
    assert titles(reacts, name) == [f"About {name} signs"]


def test_title_id_and_description_are_looked_through(workspace):
    add_library(workspace, "Alpha", key="alpha", library_id="/zeta/alpha")
    add_library(workspace, "Beta zeta")
    add_library(workspace, "Gamma", description="Of zeta.")
    add_library(workspace, "Delta")

    assert found(workspace, "zeta") == [("Gamma", 20.0), ("Beta zeta", 0.0), ("Alpha", 0.0)]


def test_content_adds_a_library_and_no_points(workspace):
    write(workspace, "a.md", "the quixotic adapter", source="alpha")
    write(workspace, "b.md", "something else", source="beta")
    for title in ("Alpha", "Beta"):
        add_library(workspace, title, total_snippets=100)
    sync(workspace)

    assert found(workspace, "quixotic") == [("Alpha", 1.0)]
    assert found(workspace, "adapter quixotic") == [("Alpha", 1.0)]
    assert found(workspace, "quixotic else") == []


def test_content_that_one_big_library_has_too_hides_no_other(workspace, monkeypatch):
    monkeypatch.setattr("search.libraries.find._HITS", 3)
    for number in range(8):
        write(workspace, f"{number}.md", "quixotic quixotic", source="big")
    write(workspace, "a.md", "a long text that says quixotic only once and then goes on", source="small")
    for title in ("Big", "Small"):
        add_library(workspace, title)
    sync(workspace)

    assert titles(workspace, "quixotic") == ["Big", "Small"]


def test_content_of_a_version_does_not_count(workspace):
    write(workspace, "a.md", "quixotic", source="alpha", version="v1")
    write(workspace, "b.md", "other", source="alpha")
    add_library(workspace, "Alpha")
    sync(workspace)

    assert found(workspace, "quixotic") == []


def test_only_libraries_that_were_indexed_once_are_found(workspace):
    for state in ("indexing", "error", "indexed"):
        add_library(workspace, f"Alpha {state}", state=state)
    add_library(workspace, "Alpha pending", state="pending", last_indexed_at=None)

    assert titles(workspace, "alpha") == ["Alpha error", "Alpha indexed", "Alpha indexing"]


def test_equal_scores_stand_by_id(workspace):
    for title in ("Tool c", "Tool a", "Tool b"):
        add_library(workspace, title)

    assert titles(workspace, "tool") == ["Tool a", "Tool b", "Tool c"]
    assert titles(workspace, "tool", limit=2) == ["Tool a", "Tool b"]


@pytest.fixture
def tied(workspace):
    write(workspace, "a.md", "nothing of it", source="tool-a")
    write(workspace, "b.md", "about waffles and many other things that one may bake at home", source="tool-b")
    write(workspace, "c.md", "waffles", source="tool-c")
    write(workspace, "d.md", "waffles waffles", source="tool-d")
    for letter in "abc":
        add_library(workspace, f"Tool {letter}")
    add_library(workspace, "Tool d", total_snippets=1)
    sync(workspace)
    return workspace


def test_a_query_breaks_ties_by_the_best_snippet(tied):
    assert titles(tied, "tool", query="waffles") == ["Tool d", "Tool c", "Tool b", "Tool a"]
    assert titles(tied, "tool", query="nothing") == ["Tool d", "Tool a", "Tool b", "Tool c"]


def test_a_tie_at_the_end_of_the_list_is_broken_too(tied):
    assert titles(tied, "tool", query="waffles", limit=2) == ["Tool d", "Tool c"]


def test_a_query_weighs_nothing_where_there_is_no_tie(tied):
    assert found(tied, "tool", query="waffles")[0] == ("Tool d", 50.01)
    assert titles(tied, "tool d", query="nothing") == ["Tool d"]


@pytest.mark.parametrize("query", ["'waffles AND'", "'", '"', "(", "NEAR(", "waffles*"])
def test_a_query_of_any_signs_breaks_ties_or_does_not(tied, query):
    assert sorted(titles(tied, "tool", query=query)) == ["Tool a", "Tool b", "Tool c", "Tool d"]


@pytest.mark.parametrize("name", ["'tool AND'", "'", '"', "(", "*", "a\u202eb", "NOT", "x" * 300])
def test_a_name_of_any_signs_is_answered(tied, name):
    assert titles(tied, name) == []


def test_another_workspaces_libraries_are_not_found(workspace):
    other = make_workspace()
    write(other, "a.md", "quixotic", source="alpha")
    add_library(other, "Alpha")
    sync(other)

    assert found(workspace, "alpha") == found(workspace, "quixotic") == []


def test_versions_are_those_that_hold_documents_the_newest_first(workspace):
    for tag in ("", "v9", "v17", "v18"):
        write(workspace, "a.md", "one", source="alpha", version=tag)
    source = add_library(workspace, "Alpha")
    source.versions.create(workspace=workspace, tag="v19")
    (only,) = find_libraries(workspace, Reader(), "alpha").libraries

    assert [version.tag for version in only.versions] == ["v18", "v17", "v9"]


def queries(workspace, name, **options):
    with CaptureQueriesContext(
        connection,
    ) as captured:
        find_libraries(workspace, Reader(), name, **options)
    return len(captured)


def test_more_libraries_take_no_more_queries(tied):
    few = queries(tied, "tool", query="waffles", limit=50)
    for number in range(20):
        write(tied, "x.md", "waffles", source=f"tool-{number}")
        add_library(tied, f"Tool {number}")
    sync(tied)

    assert queries(tied, "tool", query="waffles", limit=50) == few
    assert Source.objects.in_workspace(tied).count() == 24
