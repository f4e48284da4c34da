"""Libraries found by name, with their order and scores."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kebab.identity.reader import Reader
from search.libraries.find import find_libraries
from search.models import Source
from tests.integration.search.libraries.factories import add_library
from tests.support.corpus import make_workspace, write
from tests.support.search import sync


def found_libraries(workspace, name, **options):
    return [(each.title, each.score) for each in find_libraries(workspace, Reader(), name, **options).results]


def titles(workspace, name, **options):
    return [title for title, _ in found_libraries(workspace, name, **options)]


def test_library_scores_follow_the_specification(workspace):
    add_library(workspace, "Preact", description="A small react.", total_snippets=300, trust_score=8.0)
    add_library(workspace, "React Router", description="Routes.", total_snippets=300, trust_score=8.0)
    add_library(workspace, "React", description="The React library.", total_snippets=1247, trust_score=9.2)
    add_library(workspace, "L'écran", key="a")
    add_library(workspace, "Strasse", key="b")
    add_library(workspace, "λόγος", key="c")
    assert found_libraries(workspace, "react") == [
        ("React", 274.47),
        ("React Router", 133.0),
        ("Preact", 103.0),
    ]
    assert found_libraries(workspace, "REACT") == found_libraries(workspace, "react")
    assert titles(workspace, "react", limit=2) == ["React", "React Router"]
    assert titles(workspace, "ÉCRAN") == ["L'écran"]
    assert titles(workspace, "straSSE") == ["Strasse"]
    assert titles(workspace, "ΛΌΓΟΣ") == ["λόγος"]


def test_percent_and_underscore_are_matched_literally(workspace, subtests):
    add_library(workspace, "React")
    for name in ("%", "_", "\\", "re%t", "r_act"):
        with subtests.test(name=name):
            assert found_libraries(workspace, name) == []
            library = add_library(workspace, f"About {name} signs", key="signs")
            assert titles(workspace, name) == [f"About {name} signs"]
            library.delete()


def test_title_id_and_description_are_searched(workspace):
    add_library(workspace, "Alpha", key="alpha", library_id="/zeta/alpha")
    add_library(workspace, "Beta zeta")
    add_library(workspace, "Gamma", description="Of zeta.")
    add_library(workspace, "Delta")
    assert found_libraries(workspace, "zeta") == [("Gamma", 20.0), ("Beta zeta", 0.0), ("Alpha", 0.0)]


def test_library_found_by_content_gets_no_extra_score(workspace):
    write(workspace, "a.md", "the quixotic adapter", source="alpha")
    write(workspace, "b.md", "something else", source="beta")
    write(workspace, "b.md", "quixotic", source="beta", version="v1")
    other = make_workspace()
    write(other, "a.md", "quixotic", source="alpha")
    add_library(other, "Alpha of another workspace")
    for title in ("Alpha", "Beta"):
        add_library(workspace, title, total_snippets=100)
    sync(workspace)
    sync(other)
    assert found_libraries(workspace, "quixotic") == [("Alpha", 1.0)]
    assert found_libraries(workspace, "adapter quixotic") == [("Alpha", 1.0)]
    assert found_libraries(workspace, "quixotic else") == []
    assert titles(workspace, "alpha") == ["Alpha"]


def test_library_is_found_by_content_beside_a_much_larger_one(workspace, monkeypatch):
    monkeypatch.setattr("search.libraries.find._HITS_PER_ROUND", 3)
    for number in range(8):
        write(workspace, f"{number}.md", "quixotic quixotic", source="big")
    write(workspace, "a.md", "a long text that says quixotic only once and then goes on", source="small")
    for title in ("Big", "Small"):
        add_library(workspace, title)
    sync(workspace)
    assert titles(workspace, "quixotic") == ["Big", "Small"]


def test_missing_mirror_is_named(workspace, settings, tmp_path, monkeypatch):
    write(workspace, "a.md", "a barrel", source="alpha")
    add_library(workspace, "Alpha")
    sync(workspace)
    result = find_libraries(workspace, Reader(), "barrel")
    assert ([each.title for each in result.results], result.degraded) == (["Alpha"], ())
    settings.KEBAB_MIRROR_DIR = tmp_path / "empty"
    monkeypatch.setattr("search.mirror.local_mirrors.build_mirror", lambda workspace_id, *, limit_s: None)
    result = find_libraries(workspace, Reader(), "barrel")
    assert ([*result.results], result.degraded) == ([], ("lexical",))


def test_libraries_indexed_once_are_found_and_equal_scores_stand_by_id(workspace):
    for state in ("indexing", "error", "indexed"):
        add_library(workspace, f"Alpha {state}", state=state)
    add_library(workspace, "Alpha pending", state="pending", last_indexed_at=None)
    assert titles(workspace, "alpha") == ["Alpha error", "Alpha indexed", "Alpha indexing"]
    assert titles(workspace, "alpha", limit=2) == ["Alpha error", "Alpha indexed"]


@pytest.fixture
def tied_libraries(workspace):
    write(workspace, "a.md", "nothing of it", source="tool-a")
    write(workspace, "b.md", "about waffles and many other things that one may bake at home", source="tool-b")
    write(workspace, "c.md", "waffles", source="tool-c")
    write(workspace, "d.md", "waffles waffles", source="tool-d")
    for letter in "abc":
        add_library(workspace, f"Tool {letter}")
    add_library(workspace, "Tool d", total_snippets=1)
    sync(workspace)
    return workspace


def test_query_breaks_ties_by_the_best_snippet(tied_libraries, subtests):
    assert titles(tied_libraries, "tool", query="waffles") == ["Tool d", "Tool c", "Tool b", "Tool a"]
    assert titles(tied_libraries, "tool", query="nothing") == ["Tool d", "Tool a", "Tool b", "Tool c"]
    assert titles(tied_libraries, "tool", query="waffles", limit=2) == ["Tool d", "Tool c"]
    assert found_libraries(tied_libraries, "tool", query="waffles")[0] == ("Tool d", 50.01)
    assert titles(tied_libraries, "tool d", query="nothing") == ["Tool d"]
    for query in ("'waffles AND'", "'", '"', "(", "NEAR(", "waffles*"):
        with subtests.test(query=query):
            assert sorted(titles(tied_libraries, "tool", query=query)) == [
                "Tool a",
                "Tool b",
                "Tool c",
                "Tool d",
            ]
    for name in ("'tool AND'", "'", '"', "(", "*", "q\u202ew", "NOT", "x" * 300):
        with subtests.test(name=name):
            assert titles(tied_libraries, name) == []


def test_versions_are_those_that_hold_documents_the_newest_first(workspace):
    for tag in ("", "v9", "v17", "v18"):
        write(workspace, "a.md", "one", source="alpha", version=tag)
    source = add_library(workspace, "Alpha")
    source.versions.create(workspace=workspace, tag="v19")
    (only,) = find_libraries(workspace, Reader(), "alpha").results
    assert [version.tag for version in only.versions] == ["v18", "v17", "v9"]


def queries(workspace, name, **options):
    with CaptureQueriesContext(connection) as captured:
        find_libraries(workspace, Reader(), name, **options)
    return len(captured)


def test_number_of_queries_does_not_grow_with_libraries(tied_libraries):
    few = queries(tied_libraries, "tool", query="waffles", limit=50)
    for number in range(20):
        write(tied_libraries, "x.md", "waffles", source=f"tool-{number}")
        add_library(tied_libraries, f"Tool {number}")
    sync(tied_libraries)
    assert queries(tied_libraries, "tool", query="waffles", limit=50) == few
    assert Source.objects.in_workspace(tied_libraries).count() == 24
