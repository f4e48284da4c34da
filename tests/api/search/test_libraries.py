"""Libraries over HTTP: found by name, searched as the user types, and read within a budget."""

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from search.embedders.bert.tokenizer import TokenCounter
from search.models import Chunk, Source
from tests.api.refusals import refusal_of
from tests.support.api import address
from tests.support.corpus import chunk, write

RULES = ["Prefer functions.", "Keep state local."]
PYTHON = "def hook():\n    return 'hooks'"
REACT = {"libraryId": "/local/react", "query": "a"}


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


def test_libraries_are_found_by_name_and_content(reader, workspace):
    body = libraries(reader, workspace, "react").json()
    (found,) = body["results"]

    assert (body["library_name"], body["query"]) == ("react", "")
    assert (found["id"], found["title"], found["score"]) == ("/local/react", "React", 254.47)
    assert found["versions"] == [{"tag": "v17", "title": None}, {"tag": "release/16", "title": None}]
    assert (found["total_snippets"], found["trust_score"], found["stars"]) == (1247, 9.2, None)

    def ids(name, **given):
        return [each["id"] for each in libraries(reader, workspace, name, **given).json()["results"]]

    assert ids("composables") == ids("vu", query="composables") == ["/vuejs/core"]
    assert ids("/", limit=2) == ["/local/react", "/local/silent"]
    assert ids("zzz") == []


def test_libraries_have_a_text_form(reader, workspace):
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


REFUSALS = [
    ("/libs/search", {}, "libraryName"),
    ("/libs/search", {"libraryName": ""}, "libraryName"),
    ("/libs/search", {"libraryName": " "}, "libraryName"),
    ("/libs/search", {"libraryName": "x" * 301}, "libraryName"),
    ("/libs/search", {"libraryName": "a", "limit": "0"}, "limit"),
    ("/libs/search", {"libraryName": "a", "limit": "51"}, "limit"),
    ("/libs/search", {"libraryName": "a", "type": "xml"}, "type"),
    ("/libs/search", {"libraryName": "a\x00"}, "libraryName"),
    ("/libs/snippets", {"query": "a"}, "libraryId"),
    ("/libs/snippets", {"libraryId": "/local/react"}, "query"),
    ("/libs/snippets", {**REACT, "query": "x" * 1_001}, "query"),
    ("/libs/snippets", {**REACT, "limit": "101"}, "limit"),
    ("/libs/snippets", {**REACT, "offset": "-1"}, "offset"),
    ("/libs/snippets", {**REACT, "offset": "901"}, "offset"),
    ("/libs/snippets", {**REACT, "version": ""}, "version"),
    ("/libs/snippets", {**REACT, "kind": "prose"}, "kind[0]"),
    ("/context", {"query": "a"}, "libraryId"),
    ("/context", {"libraryId": "/local/react"}, "query"),
    ("/context", {**REACT, "tokens": "0"}, "tokens"),
    ("/context", {**REACT, "tokens": "1000001"}, "tokens"),
    ("/context", {**REACT, "tokens": "1e3"}, "tokens"),
    ("/context", {**REACT, "type": "text"}, "type"),
]
UNKNOWN = [
    ("/libs/search", {"libraryName": "a", "name": "a"}, "name"),
    ("/libs/snippets", {**REACT, "tokens": "1"}, "tokens"),
    ("/context", {**REACT, "limit": "1"}, "limit"),
]
NO_LIBRARY = {
    (400, "invalid_library_id"): ("react", "/react", "/a//b", "@", "/a/b@"),
    (404, "not_found"): ("/local/svelte", "/local/react@v18", "/local/react/v18", "/LOCAL/react"),
}


def test_wrong_parameter_is_refused_by_its_field(reader, workspace, subtests):
    for code, cases in (("invalid_request", REFUSALS), ("unknown_field", UNKNOWN)):
        for tail, given_, field in cases:
            with subtests.test(tail=tail, given=str(given_)[:60]):
                assert refusal_of(reader.get(address(workspace, tail), given_)) == (400, code, field)


def test_wrong_or_missing_library_is_refused(reader, workspace, subtests):
    for tail in ("/libs/snippets", "/context"):
        for expected, ids in NO_LIBRARY.items():
            for library in ids:
                with subtests.test(tail=tail, library=library):
                    response = reader.get(address(workspace, tail), {"libraryId": library, "query": "a"})
                    assert refusal_of(response)[:2] == expected


def test_snippets_are_found_while_typing(reader, workspace):
    body = snippets(reader, workspace, "hoo")

    assert body["library"] == {"id": "/local/react", "version": None, "title": "React", "description": ""}
    assert {snippet["title"] for snippet in body["snippets"]} == {"Hooks", "hook", ""}
    assert all(0 < snippet["score"] < 1 for snippet in body["snippets"])
    scores = [snippet["score"] for snippet in body["snippets"]]
    assert scores == sorted(scores, reverse=True)

    (found,) = snippets(reader, workspace, "def hook", kind="code")["snippets"]
    assert (found["title"], found["breadcrumb"]) == ("hook", "hook.py > hook")
    assert (found["text"], found["kind"], found["language"]) == (PYTHON, "code", "python")
    assert found["citation"]["uri"] == "hooks.md#L11-L19"
    assert reader.get(address(workspace, f"/chunks/{found['chunk_id']}")).json()["doc_id"] == found["doc_id"]


def test_version_is_searched_alone_and_default_branch_without_one(reader, workspace):
    for library in ("/local/react@v17", "/local/react/v17"):
        body = snippets(reader, workspace, "hooks", library)
        assert (texts(body), body["library"]["version"]) == (["Old hooks of seventeen."], "v17")
        assert texts(context(reader, workspace, "hooks", library).json()) == ["Old hooks of seventeen."]
    assert texts(snippets(reader, workspace, "hooks", "/local/react/release/16")) == ["Old hooks of sixteen."]
    assert len(texts(snippets(reader, workspace, "hooks"))) == 3
    assert not [text for text in texts(context(reader, workspace, "hooks").json()) if text.startswith("Old")]

    for library in ("/local/react", "/local/react@v17"):
        body = snippets(reader, workspace, "hooks", library, version="v17")
        assert (texts(body), body["library"]["version"]) == (["Old hooks of seventeen."], "v17")
    for library, version in (("/local/react", "v18"), ("/local/react@v17", "release/16")):
        asked = {"libraryId": library, "query": "hooks", "version": version}
        assert refusal_of(reader.get(address(workspace, "/libs/snippets"), asked))[:2] == (404, "not_found")


def test_kind_limit_and_offset_select_the_snippets(reader, workspace):
    whole = texts(snippets(reader, workspace, "state", limit=100))
    assert len(whole) == 30
    assert len(texts(snippets(reader, workspace, "state"))) == 20
    assert texts(snippets(reader, workspace, "state", limit=7, offset=5)) == whole[5:12]
    assert texts(snippets(reader, workspace, "state", offset=30)) == []
    assert [s["kind"] for s in snippets(reader, workspace, "hook", kind="info")["snippets"]] == ["info"] * 2
    assert len(texts(snippets(reader, workspace, "hook", kind=["code", "info"]))) == 3


def test_typed_text_has_prefixes_operators_and_phrases(reader, workspace, subtests):
    effect, seven = "An effect uses hooks to and fro.", "More on state and memory, part 7."
    for query, expected in (
        ("hooks to fr", []),
        ("hooks to fro", [effect]),
        ("hooks and", [effect]),
        ("part 7", [seven]),
        ('"top level"', ["Call hooks at the top level."]),
        ('"level top"', []),
        ("seventeen OR effect", [effect]),
        ("to* fro", [effect]),  # FTS5 refuses it; every term is quoted then
        ("to*and*f*", []),
    ):
        with subtests.test(query=query):
            assert texts(snippets(reader, workspace, query)) == expected
    assert len(texts(snippets(reader, workspace, "hooks NOT effect"))) == 2


STRANGE = [
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
]
STRANGE += ["^hooks", "x:y", "-", "''", "'hooks OR effect'", "hooks " * 150, '"" ""', "a AND * b"]


def test_strange_text_is_answered(reader, workspace, subtests):
    for query in STRANGE:
        with subtests.test(query=query[:9]):
            snippets(reader, workspace, query)
    for query in ("*", 'a "b', "NEAR(a b)", "'hooks OR effect'"):
        context(reader, workspace, query)


@hypothesis_settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    typed=st.lists(
        st.sampled_from(
            ['"', "*", "AND", "OR", "NOT", "NEAR", "(", ")", "'", "^", ":", "+", "{", "hooks", "to*"]
        )
        | st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=6),
        max_size=8,
    ).flatmap(lambda words: st.sampled_from(["", " "]).map(lambda space: space.join(words)))
)
def test_any_typed_text_is_answered(reader, workspace, typed):
    snippets(reader, workspace, typed)


def test_context_has_the_rules_and_the_best_snippets(reader, workspace):
    body = context(reader, workspace, "call hooks at the top level").json()
    assert (body["rules"], body["query"]) == (RULES, "call hooks at the top level")
    assert texts(body)[0] == "Call hooks at the top level."
    assert len(body["snippets"]) == 33


def test_context_is_returned_as_text_with_type_txt(reader, workspace):
    response = context(reader, workspace, "seventeen", "/local/react@v17", type="txt")

    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    rules = "## Library Rules\n- Prefer functions.\n- Keep state local."
    assert response.content.decode() == f"{rules}\n\n---\n\n### Guide\n*Guide*\nOld hooks of seventeen."
    assert f"### hook\n*hook.py > hook*\n```python\n{PYTHON}\n```" in (
        context(reader, workspace, "hook", type="txt").content.decode()
    )
    assert context(reader, workspace, "", "/local/silent", type="txt").content == b""
    assert context(reader, workspace, " ", type="txt").content.decode() == rules


def test_context_holds_as_many_whole_snippets_as_the_token_budget_allows(reader, workspace):
    counter = TokenCounter()
    whole = context(reader, workspace, "state and memory").json()
    written = context(reader, workspace, "state and memory", type="txt").content.decode()
    assert counter.count(written) == whole["total_tokens"]
    for tokens in (1, 14, 58, 59, 60, whole["total_tokens"] - 1):
        body = context(reader, workspace, "state and memory", tokens=tokens).json()
        text = context(reader, workspace, "state and memory", tokens=tokens, type="txt").content.decode()
        count = len(body["snippets"])

        assert counter.count(text) == body["total_tokens"] <= tokens
        assert texts(body) == texts(whole)[:count]
        longer = context(reader, workspace, "state and memory", tokens=tokens + 40).json()
        assert len(longer["snippets"]) > count or longer["rules"] != body["rules"]
    exact = context(reader, workspace, "state and memory", tokens=whole["total_tokens"]).json()
    assert exact["snippets"] == whole["snippets"]
    rules = [context(reader, workspace, "state", tokens=tokens).json() for tokens in (10, 1)]
    assert [(body["rules"], body["snippets"]) for body in rules] == [([RULES[0]], []), ([], [])]


def test_deleted_chunk_is_left_out(reader, workspace):
    Chunk.objects.in_workspace(workspace).filter(text="Call hooks at the top level.").delete()

    assert "Call hooks at the top level." not in texts(snippets(reader, workspace, "hooks"))
    assert "Call hooks at the top level." not in texts(context(reader, workspace, "hooks").json())


def test_missing_leg_is_named(reader, workspace, monkeypatch):
    monkeypatch.setattr("search.engine.candidates.embedder_for_queries", lambda workspace, space: None)

    assert context(reader, workspace, "hooks").json()["degraded"] == ["vector"]
    assert snippets(reader, workspace, "hooks")["degraded"] == []
