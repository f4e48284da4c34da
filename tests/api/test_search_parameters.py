"""Every parameter of a search, by GET and by POST: each test fails if its parameter is ignored."""

import pytest

from search.api.query import ChannelFields, FilterFields, QueryFields, SearchBody
from search.models import Source
from tests.support.api import address
from tests.support.corpus import chunk, write

PAST, FUTURE = "2001-01-01T00:00:00Z", "2101-01-01T00:00:00Z"


def fill(workspace):
    code = chunk("alpha server code", kind="code", language="python", heading="Server")
    write(
        workspace,
        "guides/install.md",
        *(f"alpha setup of the server, step {n}" for n in ("one", "two", "three")),
        tags=("linux", "setup"),
        trust_level="primary",
    )
    write(workspace, "src/server.py", code, lang="und", media="code", trust_level="secondary")
    write(workspace, "notes/de.md", "alpha Notiz", lang="de", source="notes", tags=("german",))
    write(workspace, "guides/install.md", "alpha of old", version="1.0")
    for number in range(12):
        write(workspace, f"many/{number:02}.md", f"delta {number}")


@pytest.fixture
def workspace(filled):
    return filled


@pytest.fixture
def ask(reader, workspace):
    def by_get(**given):
        given = {"q": "alpha", "mode": "lexical", **given}
        return reader.get(
            address(workspace, "/search"), {name: value for name, value in given.items() if value is not None}
        )

    def by_post(**given):
        given = {"q": "alpha", "mode": "lexical", **given}
        body = {name: value for name, value in given.items() if value is not None}
        return reader.post(address(workspace, "/search"), body, format="json")

    return {"GET": by_get, "POST": by_post}


@pytest.fixture(params=["GET", "POST"])
def search(request, ask):
    return ask[request.param]


def found(response):
    assert response.status_code == 200, response.content
    return {hit["doc_path"] for hit in response.json()["hits"]}


ALL = {"guides/install.md", "src/server.py", "notes/de.md"}
FILTERS = [
    ("tags_any", ["linux"], {"guides/install.md"}),
    ("tags_any", ["german", "setup"], {"guides/install.md", "notes/de.md"}),
    ("lang", ["de", "und"], {"notes/de.md", "src/server.py"}),
    ("path_glob", ["src/*.py"], {"src/server.py"}),
    ("path_glob", ["src/*", "**/de.md"], {"src/server.py", "notes/de.md"}),
    ("path_not_glob", ["src/*", "**/de.md"], {"guides/install.md"}),
    ("trust_min", "secondary", {"guides/install.md", "src/server.py"}),
    ("source", ["notes"], {"notes/de.md"}),
    ("version", ["1.0"], {"guides/install.md"}),
    ("kind", ["code"], {"src/server.py"}),
    ("code_lang", ["py"], {"src/server.py"}),
    ("media", ["text"], {"guides/install.md", "notes/de.md"}),
    ("ingested_after", FUTURE, set()),
    ("ingested_after", PAST, ALL),
]


def test_without_filters_the_default_versions_are_searched(search):
    assert found(search()) == ALL


@pytest.mark.parametrize(("name", "value", "expected"), FILTERS)
def test_a_filter_narrows_the_same_by_get_and_by_post(ask, name, value, expected):
    assert found(ask["GET"](**{name: value})) == expected
    assert found(ask["POST"](filters={name: value})) == expected


def test_a_filter_by_document_takes_ids_from_hits(ask):
    wanted = next(hit for hit in ask["GET"]().json()["hits"] if hit["doc_path"] == "notes/de.md")["doc_id"]

    assert found(ask["GET"](doc_id=[wanted])) == {"notes/de.md"}
    assert found(ask["POST"](filters={"doc_id": [wanted]})) == {"notes/de.md"}


def test_a_filter_by_source_takes_its_id_too(ask, workspace):
    source = Source.objects.in_workspace(workspace).get(key="notes")

    assert found(ask["GET"](source=str(source.pk))) == {"notes/de.md"}


def test_one_value_may_stand_without_a_list(ask):
    assert found(ask["POST"](filters={"lang": "de"})) == {"notes/de.md"}


def test_different_filters_must_all_hold(ask):
    assert found(ask["GET"](media="text", lang="en")) == {"guides/install.md"}


def test_q_is_what_is_searched(search):
    assert found(search(q="Notiz")) == {"notes/de.md"}
    assert found(search(q="")) == set()


def test_q_is_needed(reader, workspace):
    response = reader.get(address(workspace, "/search"))

    assert (response.status_code, response.json()["errors"][0]["field"]) == (400, "q")


def test_the_mode_says_which_legs_answer(search):
    assert {hit["retrieval"]["method"] for hit in search(mode="vector").json()["hits"]} == {"vector"}
    hybrid = search(mode="hybrid").json()
    assert hybrid["mode"] == "hybrid"
    assert hybrid["hits"][0]["retrieval"]["lexical_rank"] and hybrid["hits"][0]["retrieval"]["vector_rank"]


def test_hybrid_is_the_mode_when_none_is_given(reader, workspace):
    assert reader.get(address(workspace, "/search"), {"q": "alpha"}).json()["mode"] == "hybrid"


def test_k_says_how_many_hits_there_are_at_most(search):
    assert len(search(k=1).json()["hits"]) == 1
    assert len(search(k=2).json()["hits"]) == 2
    assert len(search(k=50_000).json()["hits"]) == 5


def test_k_zero_and_no_k_are_the_workspaces_setting(search, workspace):
    workspace.settings = {"default_k": 2}
    workspace.save(update_fields=["settings"])

    assert len(search().json()["hits"]) == 2
    assert len(search(k=0).json()["hits"]) == 2
    assert len(search(k=3).json()["hits"]) == 3


def test_snippets_are_as_long_as_asked_for_or_as_the_workspace_has_them(search, workspace):
    def longest(**given):
        return max(len(hit["snippet"]) for hit in search(**given).json()["hits"])

    assert longest() > 12
    assert longest(snippet_chars=12) <= 12
    workspace.settings = {"snippet_chars": 9}
    workspace.save(update_fields=["settings"])
    assert longest() <= 9
    assert longest(snippet_chars=12) > 9


def test_the_cap_is_on_the_hits_of_one_document(search):
    def most(**given):
        paths = [hit["doc_path"] for hit in search(**given).json()["hits"]]
        return max(paths.count(path) for path in paths)

    assert most() == most(per_file_cap=0) == 3
    assert most(per_file_cap=1) == 1


def test_explain_is_given_when_asked_for(search):
    assert search().json()["explain"] is None
    assert search(explain="true").json()["explain"]["legs"]["lexical"]


def test_the_fusion_is_the_workspaces_or_the_one_that_is_asked_for(search, workspace):
    def scores(**given):
        return [hit["score"] for hit in search(mode="hybrid", **given).json()["hits"]]

    assert scores() == scores(fusion="convex") != scores(fusion="rrf")
    workspace.settings = {"fusion": "rrf"}
    workspace.save(update_fields=["settings"])
    assert scores() == scores(fusion="rrf") != scores(fusion="convex")


def test_the_lexical_channel_goes_before_q(ask):
    assert found(ask["POST"](q="Notiz", channels={"lexical": "code"})) == {"src/server.py"}
    assert found(ask["POST"](q="Notiz", channels={"vector": "code"})) == {"notes/de.md"}


def test_the_vector_channel_goes_before_q(ask):
    def first(**given):
        return ask["POST"](mode="vector", **given).json()["hits"][0]["doc_path"]

    assert first(q="Guide\nalpha Notiz") == "notes/de.md"
    assert first(q="Guide\nalpha Notiz", channels={"vector": "Server\nalpha server code"}) == "src/server.py"


def test_the_rerank_channel_is_taken_for_when_a_reranker_is_there(ask):
    assert found(ask["POST"](channels={"rerank": "code"})) == ALL


def test_rerank_has_the_first_candidates_read_again(search):
    assert search().json()["rerank"] is None
    outcome = search(rerank="true").json()["rerank"]
    assert outcome["status"] == "fallback"
    assert "no reranker is configured" in outcome["reason"]


def test_the_cutoff_ends_the_list(search):
    assert len(search(q="delta", k=20).json()["hits"]) == 12
    assert len(search(q="delta", k=20, cutoff="true").json()["hits"]) == 8


def test_why_not_says_at_which_gate_a_chunk_or_document_fell(search):
    hit = search(q="delta").json()["hits"][0]

    assert search(q="Notiz").json()["explain"] is None
    for id_ in (hit["chunk_id"], hit["doc_id"]):
        verdict = search(q="Notiz", why_not=id_).json()["explain"]["why_not"]
        assert (verdict["id"], verdict["gate"]) == (id_, "no_query_term")
    filtered = search(q="Notiz", why_not="0" * 32).json()["explain"]["why_not"]
    assert filtered["gate"] == "unknown"


def test_a_cursor_gives_the_next_page(search, ask):
    first = search(q="delta", k=5).json()
    second = search(q=None, mode=None, cursor=first["next_cursor"])
    assert [hit["rank"] for hit in second.json()["hits"]] == [6, 7, 8, 9, 10]


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("mode", "fuzzy", "invalid_query"),
        ("fusion", "sum", "invalid_query"),
        ("k", "-1", "invalid_query"),
        ("k", "many", "invalid_request"),
        ("snippet_chars", "0", "invalid_query"),
        ("snippet_chars", "10001", "invalid_request"),
        ("per_file_cap", "x", "invalid_request"),
        ("explain", "perhaps", "invalid_request"),
        ("rerank", "perhaps", "invalid_request"),
        ("cutoff", "perhaps", "invalid_request"),
        ("why_not", "xyz", "invalid_query"),
        ("why_not", "", "invalid_request"),
        ("min_seq", "-1", "invalid_request"),
        ("trust_min", "best", "invalid_filter"),
        ("kind", "prose", "invalid_filter"),
        ("media", "film", "invalid_filter"),
        ("path_glob", "notes/[abc", "invalid_glob"),
        ("doc_id", "xyz", "invalid_filter"),
        ("lang", "", "invalid_filter"),
        ("ingested_after", "2026-01-01T00:00:00", "invalid_filter"),
        ("ingested_after", "yesterday", "invalid_request"),
        ("q", "'foo AND'", "invalid_query"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(ask, name, value, code):
    response = ask["GET"](**{name: value})
    assert (response.status_code, response.json()["code"]) == (400, code)
    assert response.json()["errors"][0]["field"].startswith(name)

    is_query = name in QueryFields().fields
    response = ask["POST"](**({name: value} if is_query else {"filters": {name: value}}))
    assert (response.status_code, response.json()["code"]) == (400, code)
    field = response.json()["errors"][0]["field"]
    assert field.startswith(name if is_query else f"filters.{name}")


@pytest.mark.parametrize("given", [{"x": "1"}, {"channels": "{}"}, {"filters": "{}"}])
def test_an_unknown_parameter_is_refused(ask, given):
    response = ask["GET"](**given)

    assert (response.status_code, response.json()["code"]) == (400, "unknown_field")


def test_a_null_in_a_post_is_as_good_as_nothing(reader, workspace, ask):
    filters = dict.fromkeys(FilterFields().fields)
    channels = dict.fromkeys(ChannelFields().fields)
    nulls = dict.fromkeys(SearchBody().fields)
    for nothing in ({**nulls, "filters": filters, "channels": channels}, nulls):
        body = {**nothing, "q": "delta", "mode": "lexical"}
        response = reader.post(address(workspace, "/search"), body, format="json")
        assert response.status_code == 200, response.content
        assert response.json()["hits"] == ask["POST"](q="delta").json()["hits"]
    hybrid = reader.post(address(workspace, "/search"), {**nulls, "q": "delta"}, format="json")
    assert hybrid.json()["mode"] == "hybrid"


def test_no_question_but_a_null_is_refused_as_none_at_all(reader, workspace):
    response = reader.post(address(workspace, "/search"), {"q": None}, format="json")
    assert (response.status_code, response.json()["errors"][0]["field"]) == (400, "q")


@pytest.mark.parametrize("text", ["", "null"])
def test_text_is_no_null(ask, text):
    for name in ("rerank", "cutoff", "explain"):
        assert ask["GET"](**{name: text}).status_code == ask["POST"](**{name: text}).status_code == 400


@pytest.mark.parametrize(
    "given", [{"x": 1}, {"lang": ["de"]}, {"filters": {"x": 1}}, {"channels": {"x": "a"}}]
)
def test_an_unknown_field_is_refused(ask, given):
    response = ask["POST"](**given)

    assert (response.status_code, response.json()["code"]) == (400, "unknown_field")


def test_a_post_takes_no_parameters(reader, workspace):
    response = reader.post(address(workspace, "/search?k=1"), {"q": "a"}, format="json")

    assert (response.status_code, response.json()["code"]) == (400, "unknown_field")
