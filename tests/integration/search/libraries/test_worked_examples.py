"""The numbers, strings and defaults that the specification of libraries gives, over HTTP."""

import pytest
from django.utils import timezone

from search.engine import search
from search.libraries.snippets import DEFAULT_LIMIT
from search.models import Source
from search.retrieval.types import Mode, SearchQuery
from tests.integration.search.libraries.making import add_library
from tests.support.actors import token_client
from tests.support.corpus import chunk, write
from tests.support.schemas import check_response
from tests.support.searching import sync


@pytest.fixture
def ask(workspace):
    """Ask an address of the workspace, and give the answer: what its JSON says, or its text."""
    client = token_client(workspace, "search")

    def get(tail, **given):
        response = client.get(f"/api/v1/workspaces/{workspace.slug}{tail}", given)
        assert response.status_code == 200, response.content
        check_response(response)
        is_json = response.headers["Content-Type"] == "application/json"
        return response.json() if is_json else response.content.decode()

    return get


def texts(answer):
    return [snippet["text"] for snippet in answer["snippets"]]


def add_react(workspace, **fields):
    values = {"library_id": "/facebook/react", "total_snippets": 1247, "trust_score": 9.2, **fields}
    return add_library(workspace, "React", **values)


def test_react_comes_before_react_router_and_preact_with_their_scores(workspace, ask):
    add_library(workspace, "Preact", description="Fast, like React.", total_snippets=300, trust_score=8.0)
    add_library(workspace, "React Router", description="Routes.", total_snippets=300, trust_score=8.0)
    add_react(workspace, description="The react library.")
    results = ask("/libs/search", libraryName="react")["results"]

    assert [(each["title"], each["score"]) for each in results] == [
        ("React", 274.47),
        ("React Router", 133.0),
        ("Preact", 103.0),
    ]


def test_libraries_read_as_shown(workspace, ask):
    add_react(workspace)
    assert ask("/libs/search", libraryName="react", type="txt") == (
        "1. React\n"
        "   Library ID: /facebook/react\n"
        "   Description: No description\n"
        "   Snippets: 1247 | Trust Score: 9.2/10\n"
        "   Available Versions: default branch"
    )
    for tag in ("v17", "v18"):
        write(workspace, "a.md", "text", source="preact", version=tag)
    add_library(workspace, "Preact", description="Small.", total_snippets=0, trust_score=0.0)
    assert ask("/libs/search", libraryName="react", type="txt").split("\n\n")[1] == (
        "2. Preact\n"
        "   Library ID: /local/preact\n"
        "   Description: Small.\n"
        "   Snippets: 0 | Trust Score: 0.0/10\n"
        "   Available Versions: v18, v17"
    )
    assert ask("/libs/search", libraryName="vue", type="txt") == "No libraries found matching your search."


def test_ten_libraries_are_given_or_as_many_as_are_asked_for_up_to_fifty(workspace, ask):
    for number in range(51):
        add_library(workspace, f"Tool {number:02}")
    first = [each["title"] for each in ask("/libs/search", libraryName="tool")["results"]]

    assert first == [f"Tool {number:02}" for number in range(10)]
    assert len(ask("/libs/search", libraryName="tool", limit=50)["results"]) == 50


@pytest.mark.parametrize(
    ("name", "title"), [("ÉCRAN", "L'écran"), ("straSSE", "Strasse"), ("ΛΌΓΟΣ", "λόγος")]
)
def test_upper_and_lower_case_are_alike_in_every_alphabet(workspace, ask, name, title):
    add_library(workspace, title, key="a")

    assert [each["title"] for each in ask("/libs/search", libraryName=name)["results"]] == [title]


def test_a_library_is_found_while_it_is_indexed_again(workspace, ask):
    add_react(workspace, state="indexing")
    add_library(workspace, "React Native", state="indexing", last_indexed_at=None)

    assert [each["title"] for each in ask("/libs/search", libraryName="react")["results"]] == ["React"]


@pytest.mark.parametrize(
    ("stars", "snippets", "url", "is_indexed", "description", "expected"),
    [
        (10_000, 1_500, "https://github.com/facebook/react", True, "A library.", 10.0),
        (999, 250, "https://github.com/facebook/react", True, "A library.", 6.5),
        (99, 100, "", True, "A library.", 4.2),
        (None, 125, "", False, "", 0.3),
        (None, 175, "", False, "", 0.3),
        (None, 0, "", False, "", 0.0),
    ],
)
def test_a_source_is_trusted_as_worked_out(
    workspace, stars, snippets, url, is_indexed, description, expected
):
    source = Source.objects.create(
        workspace=workspace,
        key="docs",
        kind="folder",
        config={"url": url} if url else {},
        stars=stars,
        total_snippets=snippets,
        description=description,
        last_indexed_at=timezone.now() if is_indexed else None,
    )

    assert source.trust_score == expected


@pytest.fixture
def react(workspace):
    add_react(workspace, key="react", rules=["Use functions."])
    write(workspace, "hooks.md", chunk("how to use hooks", heading="Hooks"), source="react")
    write(workspace, "other.md", chunk("use hooks", heading="Other"), source="react")
    write(workspace, "foo.md", chunk("a foo, a bare barrel, a reaction", heading="Foo"), source="react")
    code = chunk("const a = 1", 0, kind="code", language="js", breadcrumb="a.js > a", section_label="a")
    bare = chunk("make all", 1, kind="code", breadcrumb="", section_label="")
    write(workspace, "a.js", code, bare, source="react", version="v18", mime="text/javascript")
    sync(workspace)
    return workspace


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("how to use hooks", ["how to use hooks"]),
        ("how to use hoo", ["how to use hooks"]),
        ("how to", ["how to use hooks"]),
        ("to", ["how to use hooks"]),
        ("ab", []),
        ("react*", ["a foo, a bare barrel, a reaction"]),
        ("foo (bar)", ["a foo, a bare barrel, a reaction"]),
        ("foo bar", ["a foo, a bare barrel, a reaction"]),
        ("foo ba", []),
        ("hooks NOT how", ["use hooks"]),
        ('"use hooks"', ["use hooks", "how to use hooks"]),
    ],
)
def test_what_is_typed_finds_what_the_specification_says(react, ask, typed, found):
    assert texts(ask("/libs/snippets", libraryId="/facebook/react", query=typed)) == found


def test_a_snippet_has_its_sections_label_and_the_normalised_score(react, ask):
    (snippet,) = ask("/libs/snippets", libraryId="/facebook/react", query="how to use hooks")["snippets"]
    expression = '\'"how" "to" "use" "hooks"*\''
    (hit,) = search(react, SearchQuery(text=expression, mode=Mode.LEXICAL)).hits

    assert (snippet["title"], snippet["score"]) == ("Hooks", hit.score)
    assert 0 < hit.retrieval.lexical_score == hit.score < 1


def test_neither_trust_multiplies_a_score(react, ask):
    def scores():
        answer = ask("/libs/snippets", libraryId="/facebook/react", query="hooks")
        return [snippet["score"] for snippet in answer["snippets"]]

    before = scores()
    Source.objects.update(trust_score=0.0, stars=1)
    assert scores() == before != []


def test_twenty_snippets_from_the_first_on_are_given(react, ask):
    for number in range(25):
        write(react, f"{number:02}.md", "state", source="react")
    sync(react)
    first = ask("/libs/snippets", libraryId="/facebook/react", query="state")
    whole = ask("/libs/snippets", libraryId="/facebook/react", query="state", limit=100, offset=0)

    assert DEFAULT_LIMIT == 20
    assert (len(texts(whole)), first["snippets"]) == (25, whole["snippets"][:20])


def test_snippets_read_as_shown_with_rules_first(react, ask):
    written = ask("/context", libraryId="/facebook/react@v18", query="const make", type="txt")

    assert written.split("\n\n---\n\n")[0] == "## Library Rules\n- Use functions."
    assert sorted(written.split("\n\n---\n\n")[1:]) == [
        "### a\n*a.js > a*\n```js\nconst a = 1\n```",
        "```\nmake all\n```",
    ]
    Source.objects.update(rules=[])
    assert ask("/context", libraryId="/facebook/react@v18", query="zzz", type="txt") == ""


def test_context_is_json_of_ten_thousand_tokens_unless_something_else_is_asked_for(react, ask):
    for number in range(120):
        words = " ".join(f"tide{number}x{nth} state" for nth in range(40))
        write(react, f"{number:03}.md", chunk(words), source="react")
    sync(react)
    given = {"libraryId": "/facebook/react", "query": "state"}
    answer = ask("/context", **given)

    assert 9_000 < answer["total_tokens"] <= 10_000
    assert answer == ask("/context", **given, tokens=10_000, type="json")
    assert len(ask("/context", **given, tokens=1_000_000)["snippets"]) == 120


def test_a_third_part_is_a_version_where_the_library_has_it_else_a_deeper_group(workspace, ask):
    write(workspace, "a.md", "of the deeper group", source="deeper")
    write(workspace, "a.md", "of the tag", source="shallow", version="repo")
    write(workspace, "a.md", "of the tag in the deeper group", source="deeper", version="v1.2")
    add_library(workspace, "Deeper", library_id="/group-sub/repo")
    sync(workspace)

    def found(library):
        return texts(ask("/context", libraryId=library, query="of"))

    assert found("/group/sub/repo") == found("/group-sub/repo") == ["of the deeper group"]
    for library in ("/group/sub/repo/v1.2", "/group/sub/repo@v1.2", "/group-sub/repo/v1.2"):
        assert found(library) == ["of the tag in the deeper group"]
    add_library(workspace, "Shallow", library_id="/group/sub")
    assert found("/group/sub/repo") == ["of the tag"]


def test_a_mirror_that_is_not_there_is_named(react, ask, settings, tmp_path, monkeypatch):
    found = ask("/libs/search", libraryName="barrel")
    assert ([each["title"] for each in found["results"]], found["degraded"]) == (["React"], [])
    settings.KEBAB_MIRROR_DIR = tmp_path / "empty"
    monkeypatch.setattr("search.node.build_mirror", lambda workspace_id, *, limit_s: None)
    found = ask("/libs/search", libraryName="barrel")

    assert (found["results"], found["degraded"]) == ([], ["lexical"])
