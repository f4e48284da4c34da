"""Libraries over HTTP: found by name, asked while somebody types, and read within a budget."""

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from search.embedders.tokenizer import TokenCounter
from search.models import Chunk, Source
from tests.support.actors import Role, member_client, token_client
from tests.support.api import address
from tests.support.corpus import chunk, write
from tests.support.schemas import validate

RULES = ["Prefer functions.", "Keep state local."]
PYTHON = "def hook():\n    return 'hooks'"


def fill(workspace):
    hooks = chunk("Call hooks at the top level.", 0, heading="Hooks", breadcrumb="React > Hooks")
    code = chunk(PYTHON, 1, heading="hook", kind="code", language="python", breadcrumb="hook.py > hook")
    plain = chunk("An effect uses hooks to and fro.", 2, section_label="", breadcrumb="")
    write(workspace, "hooks.md", hooks, code, plain, source="react")
    write(workspace, "hooks.md", "Old hooks of seventeen.", source="react", version="v17")
    write(workspace, "hooks.md", "Old hooks of sixteen.", source="react", version="release/16")
    for number in range(30):
        write(workspace, f"more/{number:02}.md", f"More on state and memory, part {number}.", source="react")
    write(workspace, "vue.md", "Vue has no hooks, it has composables.", source="vue")
    write(workspace, "empty.md", "nothing", source="silent")
    for key, title, rules in (("react", "React", RULES), ("vue", "Vue", []), ("silent", "Silent", [])):
        sources = Source.objects.in_workspace(workspace).filter(key=key)
        sources.update(
            title=title, rules=rules, state="indexed", last_indexed_at=timezone.now(), trust_score=9.2
        )
    Source.objects.in_workspace(workspace).filter(key="react").update(total_snippets=1247)
    Source.objects.in_workspace(workspace).filter(key="vue").update(library_id="/vuejs/core")


@pytest.fixture
def workspace(filled):
    return filled


def get(client, workspace, tail, **given):
    response = client.get(address(workspace, tail), given)
    assert response.status_code == 200, response.content
    return response


def libraries(client, workspace, name, **given):
    return get(client, workspace, "/libs/search", libraryName=name, **given)


def snippets(client, workspace, query, library="/local/react", **given):
    return get(client, workspace, "/libs/snippets", libraryId=library, query=query, **given).json()


def context(client, workspace, query, library="/local/react", **given):
    return get(client, workspace, "/context", libraryId=library, query=query, **given)


def texts(body):
    return [snippet["text"] for snippet in body["snippets"]]


def test_libraries_are_found_by_name(reader, workspace):
    body = libraries(reader, workspace, "react").json()
    validate("library_search.v1", body)
    (found,) = body["results"]

    assert (body["library_name"], body["query"]) == ("react", "")
    assert (found["id"], found["title"], found["score"]) == ("/local/react", "React", 254.47)
    assert found["versions"] == [{"tag": "v17", "title": None}, {"tag": "release/16", "title": None}]
    assert (found["total_snippets"], found["trust_score"], found["stars"]) == (1247, 9.2, None)


def test_libraries_are_written_out_for_agents(reader, workspace):
    response = libraries(reader, workspace, "react", type="txt")

    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert response.content.decode() == (
        "1. React\n"
        "   Library ID: /local/react\n"
        "   Description: No description\n"
        "   Snippets: 1247 | Trust Score: 9.2/10\n"
        "   Available Versions: v17, release/16"
    )
    nothing = libraries(reader, workspace, "zzz", type="txt")
    assert nothing.content == b"No libraries found matching your search."
    assert libraries(reader, workspace, "zzz").json()["results"] == []


def test_a_librarys_content_finds_it(reader, workspace):
    assert [each["id"] for each in libraries(reader, workspace, "composables").json()["results"]] == [
        "/vuejs/core"
    ]


def test_a_limit_and_a_query_are_heeded(reader, workspace):
    by_id = libraries(reader, workspace, "/", limit=2).json()["results"]
    by_query = libraries(reader, workspace, "vu", query="composables").json()["results"]

    assert [each["id"] for each in by_id] == ["/local/react", "/local/silent"]
    assert [each["id"] for each in by_query] == ["/vuejs/core"]


@pytest.mark.parametrize(
    ("tail", "given", "field"),
    [
        ("/libs/search", {}, "libraryName"),
        ("/libs/search", {"libraryName": ""}, "libraryName"),
        ("/libs/search", {"libraryName": " "}, "libraryName"),
        ("/libs/search", {"libraryName": "x" * 301}, "libraryName"),
        ("/libs/search", {"libraryName": "a", "limit": "0"}, "limit"),
        ("/libs/search", {"libraryName": "a", "limit": "51"}, "limit"),
        ("/libs/search", {"libraryName": "a", "type": "xml"}, "type"),
        ("/libs/search", {"libraryName": "a", "name": "a"}, "name"),
        ("/libs/search", {"libraryName": "a\x00"}, "libraryName"),
        ("/libs/snippets", {"query": "a"}, "libraryId"),
        ("/libs/snippets", {"libraryId": "/local/react"}, "query"),
        ("/libs/snippets", {"libraryId": "/local/react", "query": "x" * 1_001}, "query"),
        ("/libs/snippets", {"libraryId": "/local/react", "query": "a", "limit": "101"}, "limit"),
        ("/libs/snippets", {"libraryId": "/local/react", "query": "a", "offset": "-1"}, "offset"),
        ("/libs/snippets", {"libraryId": "/local/react", "query": "a", "offset": "901"}, "offset"),
        ("/libs/snippets", {"libraryId": "/local/react", "query": "a", "version": ""}, "version"),
        ("/libs/snippets", {"libraryId": "/local/react", "query": "a", "kind": "prose"}, "kind[0]"),
        ("/libs/snippets", {"libraryId": "/local/react", "query": "a", "tokens": "1"}, "tokens"),
        ("/context", {"query": "a"}, "libraryId"),
        ("/context", {"libraryId": "/local/react"}, "query"),
        ("/context", {"libraryId": "/local/react", "query": "a", "tokens": "0"}, "tokens"),
        ("/context", {"libraryId": "/local/react", "query": "a", "tokens": "1000001"}, "tokens"),
        ("/context", {"libraryId": "/local/react", "query": "a", "tokens": "1e3"}, "tokens"),
        ("/context", {"libraryId": "/local/react", "query": "a", "type": "text"}, "type"),
        ("/context", {"libraryId": "/local/react", "query": "a", "limit": "1"}, "limit"),
    ],
)
def test_a_wrong_parameter_is_refused_by_its_name(reader, workspace, tail, given, field):
    response = reader.get(address(workspace, tail), given)

    assert response.status_code == 400
    assert response.json()["errors"][0]["field"] == field


@pytest.mark.parametrize("tail", ["/libs/snippets", "/context"])
@pytest.mark.parametrize("library", ["react", "/react", "/a//b", "@", "/a/b@"])
def test_what_is_no_library_id_is_refused_with_the_form_of_one(reader, workspace, tail, library):
    response = reader.get(address(workspace, tail), {"libraryId": library, "query": "a"})

    assert (response.status_code, response.json()["code"]) == (400, "invalid_library_id")


@pytest.mark.parametrize("tail", ["/libs/snippets", "/context"])
@pytest.mark.parametrize("library", ["/local/svelte", "/local/react@v18", "/local/react/v18", "/LOCAL/react"])
def test_a_library_or_version_that_is_not_there_is_not_found(reader, workspace, tail, library):
    response = reader.get(address(workspace, tail), {"libraryId": library, "query": "a"})

    assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_snippets_are_found_while_typing(reader, workspace):
    body = snippets(reader, workspace, "hoo")
    validate("snippet_search.v1", body)
    titles = {snippet["title"] for snippet in body["snippets"]}

    assert body["library"] == {"id": "/local/react", "version": None, "title": "React", "description": ""}
    assert titles == {"Hooks", "hook", ""}
    assert all(0 < snippet["score"] < 1 for snippet in body["snippets"])
    scores = [snippet["score"] for snippet in body["snippets"]]
    assert scores == sorted(scores, reverse=True)


def test_a_snippet_says_where_it_is_from(reader, workspace):
    (found,) = snippets(reader, workspace, "def hook", kind="code")["snippets"]

    assert (found["title"], found["breadcrumb"]) == ("hook", "hook.py > hook")
    assert (found["text"], found["kind"], found["language"]) == (PYTHON, "code", "python")
    assert found["citation"]["uri"] == "hooks.md#L11-L19"
    assert reader.get(address(workspace, f"/chunks/{found['chunk_id']}")).json()["doc_id"] == found["doc_id"]


def test_a_version_sees_itself_alone_and_none_the_default_branch(reader, workspace):
    for library in ("/local/react@v17", "/local/react/v17"):
        body = snippets(reader, workspace, "hooks", library)
        assert texts(body) == ["Old hooks of seventeen."]
        assert body["library"]["version"] == "v17"
    assert texts(snippets(reader, workspace, "hooks", "/local/react/release/16")) == ["Old hooks of sixteen."]
    assert len(texts(snippets(reader, workspace, "hooks"))) == 3
    for library in ("/local/react@v17", "/local/react/v17"):
        assert texts(context(reader, workspace, "hooks", library).json()) == ["Old hooks of seventeen."]
    assert not [text for text in texts(context(reader, workspace, "hooks").json()) if text.startswith("Old")]


def test_a_version_may_be_named_beside_the_id(reader, workspace):
    for library in ("/local/react", "/local/react@v17"):
        body = snippets(reader, workspace, "hooks", library, version="v17")
        assert (texts(body), body["library"]["version"]) == (["Old hooks of seventeen."], "v17")
    for library, version in (("/local/react", "v18"), ("/local/react@v17", "release/16")):
        given = {"libraryId": library, "query": "hooks", "version": version}
        assert reader.get(address(workspace, "/libs/snippets"), given).status_code == 404


def test_kinds_limits_and_offsets_are_heeded(reader, workspace):
    whole = texts(snippets(reader, workspace, "state", limit=100))
    assert len(whole) == 30
    assert len(texts(snippets(reader, workspace, "state"))) == 20
    assert texts(snippets(reader, workspace, "state", limit=7, offset=5)) == whole[5:12]
    assert texts(snippets(reader, workspace, "state", offset=30)) == []
    assert [s["kind"] for s in snippets(reader, workspace, "hook", kind="info")["snippets"]] == ["info"] * 2
    assert len(texts(snippets(reader, workspace, "hook", kind=["code", "info"]))) == 3


def test_stop_words_count_while_typing_and_may_be_beginnings(reader, workspace):
    assert texts(snippets(reader, workspace, "hooks to fr")) == []
    assert texts(snippets(reader, workspace, "hooks to fro")) == ["An effect uses hooks to and fro."]
    assert texts(snippets(reader, workspace, "hooks and")) == ["An effect uses hooks to and fro."]
    assert texts(snippets(reader, workspace, "part 7")) == ["More on state and memory, part 7."]


def test_operators_and_phrases_are_understood_while_typing(reader, workspace):
    assert len(texts(snippets(reader, workspace, "hooks NOT effect"))) == 2
    assert texts(snippets(reader, workspace, '"top level"')) == ["Call hooks at the top level."]
    assert texts(snippets(reader, workspace, '"level top"')) == []
    assert len(texts(snippets(reader, workspace, "seventeen OR effect"))) == 1


@pytest.mark.parametrize(
    "query",
    [
        *(
            "",
            " ",
            "(",
            "*",
            '"',
            "'",
            "ab*",
            "AND",
            "NOT hooks",
            "hooks NOT",
            'a "b',
            "{x} : y",
            "NEAR(a b)",
        ),
        *("^hooks", "x:y", "-", "''", "'hooks OR effect'", "hooks " * 150, '"" ""', "a AND * b"),
    ],
)
def test_no_signs_are_too_strange_to_type(reader, workspace, query):
    validate("snippet_search.v1", snippets(reader, workspace, query))
    validate("context.v1", context(reader, workspace, query if query != "''" else "").json())


@hypothesis_settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    typed=st.lists(
        st.sampled_from(
            ['"', "*", "AND", "OR", "NOT", "NEAR", "(", ")", "'", "^", ":", "+", "{", "hooks", "to*"]
        )
        | st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=6),
        max_size=8,
    ).flatmap(lambda words: st.sampled_from(["", " "]).map(lambda space: space.join(words)))
)
def test_whatever_is_typed_is_answered(reader, workspace, typed):
    snippets(reader, workspace, typed)


def test_what_fts5_refuses_is_asked_again_with_every_term_quoted(reader, workspace):
    assert texts(snippets(reader, workspace, "to* fro")) == ["An effect uses hooks to and fro."]
    assert texts(snippets(reader, workspace, "to*and*f*")) == []


def test_context_has_the_rules_and_the_best_snippets(reader, workspace):
    body = context(reader, workspace, "call hooks at the top level").json()
    validate("context.v1", body)

    assert body["rules"] == RULES
    assert texts(body)[0] == "Call hooks at the top level."
    assert len(body["snippets"]) == 33
    assert body["query"] == "call hooks at the top level"


def test_context_is_written_out_for_agents(reader, workspace):
    response = context(reader, workspace, "seventeen", "/local/react@v17", type="txt")

    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert response.content.decode() == (
        "## Library Rules\n"
        "- Prefer functions.\n"
        "- Keep state local.\n"
        "\n"
        "---\n"
        "\n"
        "### Guide\n"
        "*Guide*\n"
        "Old hooks of seventeen."
    )
    assert f"### hook\n*hook.py > hook*\n```python\n{PYTHON}\n```" in (
        context(reader, workspace, "hook", type="txt").content.decode()
    )


def test_context_of_nothing_is_the_empty_string(reader, workspace):
    assert context(reader, workspace, "", "/local/silent", type="txt").content == b""
    assert context(reader, workspace, " ", type="txt").content.decode() == (
        "## Library Rules\n- Prefer functions.\n- Keep state local."
    )


def test_the_budget_of_tokens_is_kept_and_used_up_to_a_snippets_border(reader, workspace):
    counter = TokenCounter()
    whole = context(reader, workspace, "state and memory").json()
    written = context(reader, workspace, "state and memory", type="txt").content.decode()
    assert counter.count(written) == whole["total_tokens"]
    for tokens in (1, 5, 9, 14, 40, 57, 58, 59, 60, 61, 200, whole["total_tokens"] - 1):
        body = context(reader, workspace, "state and memory", tokens=tokens).json()
        text = context(reader, workspace, "state and memory", tokens=tokens, type="txt").content.decode()
        count = len(body["snippets"])

        assert counter.count(text) == body["total_tokens"] <= tokens
        assert texts(body) == texts(whole)[:count]
        longer = context(reader, workspace, "state and memory", tokens=tokens + 40).json()
        assert len(longer["snippets"]) > count or longer["rules"] != body["rules"]
    exact = context(reader, workspace, "state and memory", tokens=whole["total_tokens"]).json()
    assert exact["snippets"] == whole["snippets"]


def test_rules_that_exceed_the_budget_are_cut_at_their_borders(reader, workspace):
    body = context(reader, workspace, "state", tokens=10).json()

    assert (body["rules"], body["snippets"]) == ([RULES[0]], [])
    assert context(reader, workspace, "state", tokens=1).json()["rules"] == []


@pytest.mark.parametrize("tail", ["/libs/search", "/libs/snippets", "/context"])
def test_who_may_search_may_ask_and_nobody_else(workspace, other_workspace, tail):
    given = {"libraryName": "react"} if tail == "/libs/search" else {}
    given = given or {"libraryId": "/local/react", "query": "hooks"}
    path = address(workspace, tail)

    assert member_client(workspace, Role.VIEWER).get(path, given).status_code == 200
    assert token_client(workspace, "search").get(path, given).status_code == 200
    assert token_client(workspace, "ingest").get(path, given).status_code == 403
    assert token_client(other_workspace, "search").get(path, given).status_code == 404


def test_a_chunk_that_goes_meanwhile_is_left_out(reader, workspace):
    Chunk.objects.in_workspace(workspace).filter(text="Call hooks at the top level.").delete()

    assert "Call hooks at the top level." not in texts(snippets(reader, workspace, "hooks"))
    assert "Call hooks at the top level." not in texts(context(reader, workspace, "hooks").json())


def test_what_was_missing_is_named(reader, workspace, monkeypatch):
    monkeypatch.setattr("search.engine.embedder_for_queries", lambda workspace, space: None)

    assert context(reader, workspace, "hooks").json()["degraded"] == ["vector"]
    assert snippets(reader, workspace, "hooks")["degraded"] == []
