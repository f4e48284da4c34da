"""The numbers, strings and defaults that the specification of libraries gives, over HTTP."""

import pytest

from search.engine.candidates import _CONTRASTS
from search.engine.search import search
from search.libraries.snippets import DEFAULT_LIMIT
from search.models import Source
from search.retrieval.types import Mode, SearchQuery
from tests.integration.search.libraries.factories import add_library
from tests.support.actors import token_client
from tests.support.corpus import chunk, write
from tests.support.schemas import check_response
from tests.support.search import embed, sync


@pytest.fixture
def ask(workspace):
    """Return a function that gets an address of the workspace: its JSON, or its text."""
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


def test_libraries_are_listed_as_text_and_as_json(workspace, ask):
    add_react(workspace)
    for tag in ("v17", "v18"):
        write(workspace, "a.md", "text", source="preact", version=tag)
    add_library(workspace, "Preact", description="Small.", total_snippets=0, trust_score=0.0)
    react, preact = ask("/libs/search", libraryName="react", type="txt").split("\n\n")
    assert react.startswith("1. React\n   Library ID: /facebook/react\n")
    assert preact.startswith("2. Preact\n") and preact.endswith("Available Versions: v18, v17")
    answer = ask("/libs/search", libraryName="react")
    assert ([each["title"] for each in answer["results"]], answer["degraded"]) == (["React", "Preact"], [])


def test_ten_libraries_are_listed_or_up_to_fifty(workspace, ask):
    for number in range(51):
        add_library(workspace, f"Tool {number:02}")
    first = [each["title"] for each in ask("/libs/search", libraryName="tool")["results"]]
    assert first == [f"Tool {number:02}" for number in range(10)]
    assert len(ask("/libs/search", libraryName="tool", limit=50)["results"]) == 50


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


def test_typed_queries_find_what_the_specification_says(react, ask, subtests):
    foo = "a foo, a bare barrel, a reaction"
    cases = {
        "how to use hooks": ["how to use hooks"], "how to use hoo": ["how to use hooks"],
        "how to": ["how to use hooks"], "to": ["how to use hooks"], "ab": [], "react*": [foo],
        "foo (bar)": [foo], "foo bar": [foo], "foo ba": [], "hooks NOT how": ["use hooks"],
        '"use hooks"': ["use hooks", "how to use hooks"],
    }  # fmt: skip
    for typed, found in cases.items():
        with subtests.test(typed=typed):
            assert texts(ask("/libs/snippets", libraryId="/facebook/react", query=typed)) == found


def test_snippet_has_its_label_and_a_score_that_trust_does_not_change(react, ask):
    def snippets(query="how to use hooks"):
        return ask("/libs/snippets", libraryId="/facebook/react", query=query)["snippets"]

    (snippet,) = snippets()
    expression = '\'"how" "to" "use" "hooks"*\''
    (hit,) = search(react, SearchQuery(text=expression, mode=Mode.LEXICAL)).hits

    assert (snippet["title"], snippet["score"]) == ("Hooks", hit.retrieval.lexical_score)
    assert 0 < hit.retrieval.lexical_score < 1
    before = snippets("hooks")
    Source.objects.update(trust_score=0.0, stars=1)
    assert snippets("hooks") == before != []


def test_twenty_snippets_are_given_from_the_first_on(react, ask):
    for number in range(25):
        write(react, f"{number:02}.md", "state", source="react")
    sync(react)
    first = ask("/libs/snippets", libraryId="/facebook/react", query="state")
    whole = ask("/libs/snippets", libraryId="/facebook/react", query="state", limit=100, offset=0)
    assert DEFAULT_LIMIT == 20
    assert (len(texts(whole)), first["snippets"]) == (25, whole["snippets"][:20])


def test_context_is_written_with_the_rules_first(react, ask):
    written = ask("/context", libraryId="/facebook/react@v18", query="const make", type="txt")
    assert written.split("\n\n---\n\n")[0] == "## Library Rules\n- Use functions."
    assert sorted(written.split("\n\n---\n\n")[1:]) == [
        "### a\n*a.js > a*\n```js\nconst a = 1\n```",
        "```\nmake all\n```",
    ]
    Source.objects.update(rules=[])
    assert ask("/context", libraryId="/facebook/react@v18", query="zzz", type="txt") == ""


def test_context_is_json_of_ten_thousand_tokens_by_default(react, ask):
    words = " ".join(f"tide{nth}x state" for nth in range(40))
    for number in range(18):
        passages = [chunk(f"{words} {number} {ordinal}", ordinal) for ordinal in range(4)]
        write(react, f"{number:03}.md", *passages, source="react")
    sync(react)
    given = {"libraryId": "/facebook/react", "query": "state"}
    answer = ask("/context", **given)
    assert 9_000 < answer["total_tokens"] <= 10_000
    assert answer == ask("/context", **given, tokens=10_000, type="json")
    assert len(ask("/context", **given, tokens=1_000_000)["snippets"]) == 72


def test_context_leaves_out_what_is_only_related(react, ask, monkeypatch):
    monkeypatch.setitem(_CONTRASTS, "hash", None)
    embed(react)
    assert ask("/context", libraryId="/facebook/react", query="qwrtzp xcvbnm")["snippets"] == []
    assert "use hooks" in texts(ask("/context", libraryId="/facebook/react", query="use hooks"))


def test_third_part_of_an_id_is_a_version_if_the_library_has_it(workspace, ask):
    write(workspace, "a.md", "of the deeper group", source="deeper")
    write(workspace, "a.md", "of the tag", source="shallow", version="repo")
    write(workspace, "a.md", "of the tag in the deeper group", source="deeper", version="v1.2")
    add_library(workspace, "Deeper", library_id="/group-sub/repo")
    sync(workspace)

    def found_texts(library):
        return texts(ask("/context", libraryId=library, query="of"))

    assert found_texts("/group/sub/repo") == found_texts("/group-sub/repo") == ["of the deeper group"]
    for library in ("/group/sub/repo/v1.2", "/group/sub/repo@v1.2", "/group-sub/repo/v1.2"):
        assert found_texts(library) == ["of the tag in the deeper group"]
    add_library(workspace, "Shallow", library_id="/group/sub")
    assert found_texts("/group/sub/repo") == ["of the tag"]
