"""The worked examples of the retrieval contract, as a client of the API sees them."""

from datetime import timedelta

import pytest
from django.utils import timezone

from search.models import Document, EmbeddingSpace
from tests.integration.search.corpus.marked import EXAMPLES
from tests.support.api import address
from tests.support.corpus import chunk, write

CITED = {
    "a/b.md#L7-L12": {"kind": "line", "start": 7, "end": 12},
    "a/b.md#L7": {"kind": "line", "start": 7, "end": 7},
    "doc.pdf#page=4": {"kind": "page", "page": 4},
    "img.png#xywh=1,2,3,4": {"kind": "region", "x": 1, "y": 2, "w": 3, "h": 4},
    "talk.vtt#t=822.000,850.000": {"kind": "time", "start_s": 822.0, "end_s": 850.0},
}
WITHOUT_A_PLACE = {"byte.bin": ({"kind": "byte", "start": 0, "end": 9},), "nowhere.md": ()}
PLUMS = 400


def fill(workspace):
    for n, (_, text, _) in enumerate(EXAMPLES):
        write(workspace, f"words/{n:02}.md", text)
    for n, (uri, span) in enumerate(CITED.items()):
        write(workspace, uri.partition("#")[0], chunk("quince", spans=(span,)), source=f"cited{n}")
    for path, spans in WITHOUT_A_PLACE.items():
        write(workspace, path, chunk("medlar", spans=spans))
    write(workspace, "a.md", "fig fig fig fig one", "fig fig fig fig two", "fig fig fig fig three")
    write(workspace, "b.md", "fig and seven other words that make it long")
    write(workspace, "c.md", "fig and many more other words that make it longer still")
    write(workspace, "apricot.md", "apricot jam", "apricot tree", "jam")
    write(workspace, "plums.md", *(f"plum {n}" for n in range(PLUMS)))


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


def marked(hit):
    return [hit["snippet"][start:end] for start, end in hit["highlights"]]


def refused(response):
    return response.status_code, response.json()["code"]


@pytest.mark.parametrize("n", range(len(EXAMPLES)))
@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_what_holds_the_words_is_found_and_they_are_marked(reader, workspace, mode, n):
    query, _, highlights = EXAMPLES[n]
    given = {"q": query, "mode": mode, "k": 40}
    response = reader.get(address(workspace, "/search"), given)

    assert response.status_code == 200
    hit = next(hit for hit in response.json()["hits"] if hit["doc_path"] == f"words/{n:02}.md")
    assert hit["retrieval"]["tier"] == "all"
    assert marked(hit) == highlights


@pytest.mark.parametrize("q", ["", "   ", "''", "(", "*"])
@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid"])
def test_what_has_no_word_finds_nothing(ask, q, mode):
    body = ask(q, mode)

    assert (body["hits"], body["degraded"], body["next_cursor"]) == ([], [], None)


@pytest.mark.parametrize("q", ["apri\0cot", "apri\x07cot", "\0apricot\x1b", "apricot \x7f"])
def test_control_characters_are_dropped_from_a_query(ask, reader, workspace, q):
    by_get = reader.get(address(workspace, "/search"), {"q": q, "mode": "lexical"}).json()

    for body in (ask(q), by_get, ask("x", channels={"lexical": q})):
        assert [hit["doc_path"] for hit in body["hits"]] == ["apricot.md"] * 2


def test_half_of_a_surrogate_pair_is_dropped_from_a_query(reader, workspace):
    for tail, body in (
        ("/search", '{"q": "\\ud800apricot"}'),
        ("/search/bulk", '{"queries": [{"q": "\\udfff apricot", "channels": {"vector": "\\ud800"}}]}'),
    ):
        response = reader.post(address(workspace, tail), body, content_type="application/json")
        assert response.status_code == 200, response.content
        answer = response.json().get("results", [response.json()])[0]
        assert answer["hits"][0]["doc_path"] == "apricot.md"


def test_such_characters_are_refused_where_they_are_no_query(post):
    assert refused(post(q="apricot", filters={"lang": ["e\0n"]})) == (400, "invalid_request")


def test_what_is_null_is_left_out(ask):
    nulls = dict.fromkeys(("fusion", "filters", "channels", "per_file_cap", "cursor", "why_not", "min_seq"))
    inner = {
        "filters": {"trust_min": None, "ingested_after": None},
        "channels": {"vector": None, "lexical": None, "rerank": None},
    }
    plain = ask("apricot", "hybrid")["hits"]

    assert ask("apricot", "hybrid", **nulls)["hits"] == ask("apricot", "hybrid", **inner)["hits"] == plain


@pytest.mark.parametrize("uri", CITED)
def test_a_hit_is_cited_by_its_place(ask, uri):
    span = CITED[uri]
    path = uri.partition("#")[0]
    (hit,) = ask("quince", filters={"source": [f"cited{list(CITED).index(uri)}"]})["hits"]

    absent = dict.fromkeys(("start", "end", "page", "x", "y", "w", "h", "start_s", "end_s"))
    assert hit["citation"] == {**absent, **span, "path": path, "section": "Guide", "uri": uri}


def test_a_hit_without_a_place_cites_line_one(ask, caplog):
    citations = [hit["citation"] for hit in ask("medlar")["hits"]]

    assert sorted(cited["uri"] for cited in citations) == ["byte.bin#L1", "nowhere.md#L1"]
    assert {(cited["kind"], cited["start"], cited["end"]) for cited in citations} == {("line", 1, 1)}
    assert len([record for record in caplog.records if "no citable span" in record.message]) == 2


def test_a_a_a_b_c_with_cap_2_leaves_a_a_b_c(ask):
    def letters(**given):
        return [hit["doc_path"][0] for hit in ask("fig", **given)["hits"]]

    assert letters() == ["a", "a", "a", "b", "c"]
    assert letters(per_file_cap=2) == ["a", "a", "b", "c"]
    assert letters(per_file_cap=0) == letters(per_file_cap=-1) == letters()


def test_fused_scores_are_those_of_the_ranks_and_what_is_absent_is_null(ask):
    body = ask("apricot jam", "hybrid", k=50, fusion="rrf")

    assert len(body["hits"]) == 50
    for hit in body["hits"]:
        detail = hit["retrieval"]
        assert detail.keys() == {
            "method", "fusion_score", "lexical_score", "lexical_rank", "vector_score", "vector_rank",
            "exact_rank", "tier", "rerank_score", "rerank_rank",
        }  # fmt: skip
        ranks = [detail["lexical_rank"], detail["vector_rank"]]
        fused = sum(1 / (60 + rank) for rank in ranks if rank is not None) / (2 / 61)
        assert hit["score"] == detail["fusion_score"] == pytest.approx(fused, abs=1e-12)
        assert (detail["lexical_rank"] is None) == (detail["lexical_score"] is None)
        assert (detail["vector_rank"] is None) == (detail["vector_score"] is None)
    assert any(hit["retrieval"]["lexical_rank"] is None for hit in body["hits"])


def test_a_spelling_is_suggested_and_the_query_stays_as_it_is(ask):
    body = ask("aprikot")

    assert (body["query"], body["hits"], body["did_you_mean"]) == ("aprikot", [], "apricot")
    assert ask("apricot")["did_you_mean"] is None


def test_the_total_is_labelled_for_what_it_is(ask):
    assert ask("plum")["lexical_total"] == {"value": PLUMS, "relation": "eq"}
    assert ask("apricot jam")["lexical_total"] == {"value": 1, "relation": "gte"}
    assert ask("'apricot OR jam'")["lexical_total"] == {"value": 3, "relation": "eq"}
    assert ask("apricot", "vector")["lexical_total"] is None


def test_the_window_of_the_vectors_is_stated(ask):
    assert ask("apricot", k=3)["vector_window"] is None
    assert ask("apricot", "hybrid", k=3)["vector_window"] == {"asked": 100, "found": 100}
    assert ask("apricot", "vector", k=60)["vector_window"] == {"asked": 120, "found": 120}


@pytest.mark.parametrize(("age", "is_stale"), [(timedelta(days=29.9), False), (timedelta(days=30.1), True)])
def test_a_hit_is_stale_when_it_was_indexed_over_30_days_ago(ask, workspace, age, is_stale):
    documents = Document.objects.in_workspace(workspace).filter(path="apricot.md")
    documents.update(indexed_at=timezone.now() - age)

    assert {hit["stale"] for hit in ask("apricot")["hits"]} == {is_stale}
    workspace.settings = {"stale_after_days": 0}
    workspace.save(update_fields=["settings"])
    assert {hit["stale"] for hit in ask("apricot")["hits"]} == {False}


def test_a_leg_past_its_time_is_named_and_the_answer_is_kept_nowhere(ask, settings):
    settings.KEBAB_LEG_LIMIT_MS = 0
    late = ask("apricot jam", "hybrid")
    assert "lexical" in late["degraded"]
    assert late["hits"]
    assert {hit["retrieval"]["lexical_rank"] for hit in late["hits"]} == {None}

    settings.KEBAB_LEG_LIMIT_MS = 60_000
    in_time = ask("apricot jam", "hybrid")
    assert in_time["degraded"] == []
    assert in_time["hits"][0]["retrieval"]["lexical_rank"] == 1


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_a_raw_query_past_its_time_is_refused(post, settings, mode):
    settings.KEBAB_LEG_LIMIT_MS = 0

    assert refused(post(q="'plum OR apricot'", mode=mode)) == (400, "invalid_query")


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_only_a_query_in_quotes_is_raw_and_its_syntax_must_hold(ask, post, mode):
    found = ask("'quince OR medl*'", mode, k=7, fusion="rrf")["hits"]
    assert {hit["doc_path"] for hit in found} >= {"doc.pdf", "byte.bin"}
    assert ask("'apricot' tree", mode)["hits"][0]["retrieval"]["tier"] == "all"
    for q in ("'apricot AND'", "'(apricot'", "'nocolumn : apricot'"):
        assert refused(post(q=q, mode=mode)) == (400, "invalid_query"), q


def test_index_versions_name_what_answered(ask):
    lexical, vector, hybrid = (
        ask("apricot", mode)["index_version"] for mode in ("lexical", "vector", "hybrid")
    )

    assert lexical.startswith("lex-") and vector.startswith("vec-")
    assert hybrid == f"hybrid:{lexical}+{vector}"
    assert {hit["index_version"] for hit in ask("apricot", "hybrid")["hits"]} == {hybrid}


def test_vectors_of_another_model_are_warned_of(ask, workspace):
    EmbeddingSpace.objects.in_workspace(workspace).update(revision="other")
    body = ask("apricot", "hybrid")

    assert body["degraded"] == ["vector"]
    assert any("@other" in warning for warning in body["warnings"])
    assert body["hits"][0]["score"] == 1.0
    assert ask("apricot", "lexical")["warnings"] == []


def test_a_workspace_s_settings_are_the_defaults_by_their_names(reader, workspace):
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
