"""Searches over HTTP: the worked examples of the retrieval contract, freshness, and rights."""

from datetime import timedelta

import pytest
from django.utils import timezone

from search.models import Document, EmbeddingSpace
from tests.api.refusals import refusal_of
from tests.support.actors import member_client, token_client
from tests.support.api import address, hits_bytes
from tests.support.corpus import chunk, write
from tests.support.schemas import validate

CITED = {
    "a/b.md#L7-L12": {"kind": "line", "start": 7, "end": 12},
    "a/b.md#L7": {"kind": "line", "start": 7, "end": 7},
    "doc.pdf#page=4": {"kind": "page", "page": 4},
    "img.png#xywh=1,2,3,4": {"kind": "region", "x": 1, "y": 2, "w": 3, "h": 4},
    "talk.vtt#t=822.000,850.000": {"kind": "time", "start_s": 822.0, "end_s": 850.0},
}
WITHOUT_A_PLACE = {"byte.bin": ({"kind": "byte", "start": 0, "end": 9},), "nowhere.md": ()}
MODES = ("lexical", "vector", "hybrid")
PLUMS = 150


def fill(workspace):
    for n, (uri, span) in enumerate(CITED.items()):
        write(workspace, uri.partition("#")[0], chunk("quince", spans=(span,)), source=f"cited{n}")
    for path, spans in WITHOUT_A_PLACE.items():
        write(workspace, path, chunk("medlar", spans=spans))
    write(workspace, "a.md", "fig fig fig fig one", "fig fig fig fig two", "fig fig fig fig three")
    write(workspace, "b.md", "fig and seven other words that make it long")
    write(workspace, "c.md", "fig and many more other words that make it longer still")
    write(workspace, "apricot.md", "apricot jam", "apricot tree", "jam")
    write(workspace, "plums.md", *(f"plum {n}" for n in range(PLUMS)))
    write(workspace, "lime.md", "lime „gamma“ 部署指南", title="Ä", tags=("x",))


@pytest.fixture
def workspace(filled):
    return filled


@pytest.fixture
def post(reader, workspace):
    return lambda **given: reader.post(address(workspace, "/search"), given, format="json")


@pytest.fixture
def ask(post):
    def ask(q, mode="lexical", **given):
        response = post(q=q, mode=mode, **given)
        assert response.status_code == 200, response.content
        return response.json()

    return ask


def test_words_are_highlighted_and_misspelt_ones_corrected(ask):
    (hit,) = ask("部署指南 gamma")["hits"]
    assert (hit["doc_path"], hit["retrieval"]["tier"]) == ("lime.md", "all")
    marked = [hit["snippet"][start:end] for start, end in hit["highlights"]]
    assert marked == ["gamma", "部署指南"]

    body = ask("aprikot")
    assert (body["query"], body["corrected_query"], len(body["hits"])) == ("aprikot", "apricot", 3)
    assert (body["did_you_mean"], ask("apricot")["corrected_query"]) == (None, None)
    body = ask("aprikot", typos=False)
    assert (body["corrected_query"], body["hits"], body["did_you_mean"]) == (None, [], "apricot")
    assert {hit["doc_path"] for hit in ask("apri", prefix=True)["hits"]} == {"apricot.md"}


def test_query_without_a_word_finds_nothing(ask, subtests):
    for mode in MODES:
        for q in ("", "   ", "''", "(", "*"):
            with subtests.test(mode=mode, q=q):
                body = ask(q, mode)
                assert (body["hits"], body["degraded"], body["next_cursor"]) == ([], [], None)


def test_strange_text_is_answered(ask, subtests):
    for q in ('he"llo', "(", "*", "NOT", "a:b", "'", "C++", "\u202e", "x " * 5_000, "-", "^a", "{", '"'):
        with subtests.test(q=q[:9]):
            ask(q, "hybrid")


def test_control_characters_are_dropped_from_queries_and_refused_in_filters(
    ask, post, reader, workspace, subtests
):
    for q in ("apri\0cot", "apri\x07cot", "\0apricot\x1b", "apricot \x7f"):
        with subtests.test(q=q):
            by_get = reader.get(address(workspace, "/search"), {"q": q, "mode": "lexical"}).json()
            for body in (ask(q), by_get, ask("x", channels={"lexical": q})):
                assert [hit["doc_path"] for hit in body["hits"]] == ["apricot.md"] * 3
    assert refusal_of(post(q="apricot", filters={"lang": ["e\0n"]})) == (
        400,
        "invalid_request",
        "filters.lang[0]",
    )


def test_half_of_a_surrogate_pair_is_dropped(reader, workspace):
    for tail, body in (
        ("/search", '{"q": "\\ud800apricot"}'),
        ("/search/bulk", '{"queries": [{"q": "\\udfff apricot", "channels": {"vector": "\\ud800"}}]}'),
    ):
        response = reader.post(address(workspace, tail), body, content_type="application/json")
        assert response.status_code == 200, response.content
        answer = response.json().get("results", [response.json()])[0]
        assert answer["hits"][0]["doc_path"] == "apricot.md"


def test_hit_is_cited_by_its_place(ask, caplog, subtests):
    absent = dict.fromkeys(("start", "end", "page", "x", "y", "w", "h", "start_s", "end_s"))
    for n, (uri, span) in enumerate(CITED.items()):
        with subtests.test(uri=uri):
            (hit,) = ask("quince", filters={"source": [f"cited{n}"]})["hits"]
            path = uri.partition("#")[0]
            assert hit["citation"] == {**absent, **span, "path": path, "section": "Guide", "uri": uri}
    citations = [hit["citation"] for hit in ask("medlar")["hits"]]
    assert sorted(cited["uri"] for cited in citations) == ["byte.bin#L1", "nowhere.md#L1"]
    assert {(cited["kind"], cited["start"], cited["end"]) for cited in citations} == {("line", 1, 1)}


def test_cap_of_two_leaves_two_hits_of_a_document(ask):
    def letters(**given):
        return [hit["doc_path"][0] for hit in ask("fig", **given)["hits"]]

    assert letters() == ["a", "a", "a", "b", "c"]
    assert letters(per_file_cap=2) == ["a", "a", "b", "c"]
    assert letters(per_file_cap=0) == letters(per_file_cap=-1) == letters()


def test_fused_score_is_computed_from_the_ranks(ask):
    body = ask("apricot jam", "hybrid", k=50, fusion="rrf")

    assert len(body["hits"]) == 50
    for hit in body["hits"]:
        detail = hit["retrieval"]
        ranks = [detail["lexical_rank"], detail["vector_rank"]]
        fused = sum(1 / (60 + rank) for rank in ranks if rank is not None) / (2 / 61)
        assert detail["fusion_score"] == pytest.approx(fused, abs=1e-9)
        assert (detail["lexical_rank"] is None) == (detail["lexical_score"] is None)
        assert (detail["vector_rank"] is None) == (detail["vector_score"] is None)
    assert any(hit["retrieval"]["lexical_rank"] is None for hit in body["hits"])


def test_lexical_total_and_vector_window_are_stated(ask):
    assert ask("plum")["lexical_total"] == {"value": PLUMS, "relation": "eq"}
    assert ask("apricot jam")["lexical_total"] == {"value": 2, "relation": "eq"}
    assert ask("'apricot OR jam'")["lexical_total"] == {"value": 3, "relation": "eq"}
    assert ask("apricot", "vector")["lexical_total"] is None
    assert ask("apricot", k=3)["vector_window"] is None
    for mode, k, asked in (("hybrid", 3, 100), ("vector", 60, 120)):
        window = ask("apricot", mode, k=k)["vector_window"]
        assert (window["asked"], window["found"]) == (asked, asked)
        assert 0.0 < window["middling_score"] < 1.0


def test_hit_is_stale_when_indexed_over_30_days_ago(ask, workspace):
    documents = Document.objects.in_workspace(workspace).filter(path="apricot.md")

    def stale(age):
        documents.update(indexed_at=timezone.now() - age)
        return {hit["stale"] for hit in ask("apricot")["hits"]}

    assert stale(timedelta(days=29.9)) == {False}
    assert stale(timedelta(days=30.1)) == {True}
    workspace.settings = {"stale_after_days": 0}
    workspace.save(update_fields=["settings"])
    assert stale(timedelta(days=30.1)) == {False}


def test_leg_past_its_limit_is_named_and_the_answer_not_cached(ask, post, settings):
    settings.KEBAB_LEG_LIMIT_MS = 0
    late = ask("apricot jam", "hybrid")
    assert "lexical" in late["degraded"]
    assert late["hits"]
    assert {hit["retrieval"]["lexical_rank"] for hit in late["hits"]} == {None}
    for mode in ("lexical", "hybrid"):
        assert refusal_of(post(q="'plum OR apricot'", mode=mode)) == (400, "invalid_query", "q")

    settings.KEBAB_LEG_LIMIT_MS = 60_000
    in_time = ask("apricot jam", "hybrid")
    assert in_time["degraded"] == []
    assert in_time["hits"][0]["retrieval"]["lexical_rank"] == 1


def test_only_a_query_in_quotes_is_raw_and_its_syntax_checked(ask, post):
    for mode in ("lexical", "hybrid"):
        found = ask("'quince OR medl*'", mode, k=7, fusion="rrf")["hits"]
        assert {hit["doc_path"] for hit in found} >= {"doc.pdf", "byte.bin"}
        assert ask("'apricot' tree", mode)["hits"][0]["retrieval"]["tier"] == "all"
        for q in ("'apricot AND'", "'(apricot'", "'nocolumn : apricot'"):
            assert refusal_of(post(q=q, mode=mode)) == (400, "invalid_query", "q"), q


def test_index_version_names_the_legs_that_answered(ask):
    lexical, vector, hybrid = (ask("apricot", mode)["index_version"] for mode in MODES)
    assert lexical.startswith("lex-") and vector.startswith("vec-")
    assert hybrid == f"hybrid:{lexical}+{vector}"
    assert {hit["index_version"] for hit in ask("apricot", "hybrid")["hits"]} == {hybrid}


def test_vectors_of_another_model_are_left_out_with_a_warning(ask, workspace):
    EmbeddingSpace.objects.in_workspace(workspace).update(revision="other")
    body = ask("apricot jam", "hybrid")

    assert body["degraded"] == ["vector"]
    assert any("@other" in warning for warning in body["warnings"])
    assert body["hits"][0]["retrieval"]["fusion_score"] == 1.0
    assert ask("apricot", "lexical")["warnings"] == []


def test_settings_of_a_workspace_have_their_defaults(reader, workspace):
    stated = reader.get(f"/api/v1/workspaces/{workspace.slug}").json()["settings"]
    expected = {
        "default_k": 10,
        "snippet_chars": 220,
        "fusion": "convex",
        "rrf_k": 60,
        "pre_rerank_max_per_file": 5,
        "score_gate": 0.05,
        "stale_after_days": 30,
    }
    assert {name: stated.get(name) for name in expected} == expected


def test_parts_of_an_answer_match_their_schemas(reader, workspace, settings):
    given = {"q": "lime gamma", "explain": True, "why_not": "0" * 32}
    for more in ({"fusion": "rrf"}, {"per_file_cap": 1, "cutoff": True}, {"rerank": True}):
        body = reader.post(address(workspace, "/search"), {**given, **more}, format="json").json()
        validate("search_explain.v1", body["explain"])
        assert body["explain"]["fused"]
        for hit in body["hits"]:
            validate("search_hit.v1", hit)
            validate("citation.v1", hit["citation"])

    settings.KEBAB_EMBEDDER = "none"
    body = reader.get(address(workspace, "/search"), {"q": "lime", "explain": "true"}).json()
    assert (body["degraded"], body["explain"]["off"].keys()) == (["vector"], {"vector"})


def test_same_query_has_the_same_bytes_by_get_and_post(reader, workspace):
    for mode in MODES:
        given = {"q": "lime „gamma“", "mode": mode}
        by_get = [reader.get(address(workspace, "/search"), given) for _ in range(2)]
        by_post = [reader.post(address(workspace, "/search"), given, format="json") for _ in range(2)]
        assert len({hits_bytes(response) for response in by_get + by_post}) == 1
        assert "部署指南".encode() in hits_bytes(by_get[0])


def test_search_needs_its_scope_and_stays_in_the_workspace(workspace, other_workspace):
    path = address(workspace, "/search")
    for caller in (member_client(workspace), token_client(workspace, "search")):
        assert caller.get(path, {"q": "apricot"}).json()["hits"]
    assert refusal_of(token_client(workspace, "ingest").get(path, {"q": "a"})) == (403, "forbidden", None)

    stranger = token_client(other_workspace, "search")
    assert stranger.get(address(other_workspace, "/search"), {"q": "apricot"}).json()["hits"] == []
    theirs = stranger.get(path, {"q": "apricot"})
    missing = stranger.get("/api/v1/workspaces/not-there/search", {"q": "apricot"})
    assert theirs.status_code == missing.status_code == 404
    assert theirs.content == missing.content
