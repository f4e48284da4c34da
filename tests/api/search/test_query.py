"""Parameters of a search by GET and by POST: each test fails if its parameter is ignored."""

import json

import pytest

from search.api.query_fields import ChannelFields, FilterFields, QueryFields, SearchBody
from search.models import Source
from tests.api.refusals import refusal_of
from tests.support.api import address
from tests.support.corpus import chunk, write

PAST, FUTURE = "2001-01-01T00:00:00Z", "2101-01-01T00:00:00Z"
_LARGE = 12 * 10**21


def fill(workspace):
    code = chunk("alpha server code", kind="code", language="python", heading="Server")
    write(
        workspace,
        "guides/install.md",
        *(f"alpha setup of the server, step {n}" for n in ("one", "two", "three")),
        tags=("linux", "setup"),
        trust_level="primary",
    )
    large = {"n": _LARGE}
    write(workspace, "src/server.py", code, lang="und", media="code", trust_level="secondary", metadata=large)
    stated = {"author": "Ada", "date": "2001-01-02", "year": 2001}
    write(
        workspace, "notes/de.md", "alpha Notiz", lang="de", source="notes", tags=("german",), metadata=stated
    )
    write(workspace, "guides/install.md", "alpha of old", version="1.0")
    for number in range(12):
        write(workspace, f"many/{number:02}.md", f"delta {number}")


@pytest.fixture
def workspace(filled):
    return filled


@pytest.fixture
def ask(reader, workspace):
    path = address(workspace, "/search")

    def without_none(given):
        given = {"q": "alpha", "mode": "lexical", **given}
        return {name: value for name, value in given.items() if value is not None}

    return {
        "GET": lambda **given: reader.get(path, without_none(given)),
        "POST": lambda **given: reader.post(path, without_none(given), format="json"),
    }


@pytest.fixture(params=["GET", "POST"])
def search(request, ask):
    return ask[request.param]


def hit_paths(response):
    assert response.status_code == 200, response.content
    return {hit["doc_path"] for hit in response.json()["hits"]}


ALL = {"guides/install.md", "src/server.py", "notes/de.md"}
FILTERS = [
    ("tags_any", ["linux"], {"guides/install.md"}),
    ("tags_any", ["german", "setup"], {"guides/install.md", "notes/de.md"}),
    ("lang", ["de", "und"], {"notes/de.md", "src/server.py"}),
    ("path_glob", ["src/*.py"], {"src/server.py"}),
    ("path_glob", ["*.py"], set()),
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
    ("author", ["Ada", "Bob"], {"notes/de.md"}),
    ("dated_after", "2001-01-02T00:00:00Z", ALL),
    ("dated_after", "2001-01-02T00:00:01Z", ALL - {"notes/de.md"}),
    ("dated_before", "2001-01-02T00:00:00Z", set()),
    ("dated_before", "2001-01-02T01:00:00+00:30", {"notes/de.md"}),
]


def test_filters_narrow_the_same_by_get_and_by_post(ask, workspace, subtests):
    hit = next(hit for hit in ask["GET"]().json()["hits"] if hit["doc_path"] == "notes/de.md")
    source_id = str(Source.objects.in_workspace(workspace).get(key="notes").pk)
    by_id = [("doc_id", [hit["doc_id"]], {"notes/de.md"}), ("source", [source_id], {"notes/de.md"})]
    for name, value, expected in FILTERS + by_id:
        with subtests.test(name=name, value=value):
            assert hit_paths(ask["GET"](**{name: value})) == expected
            assert hit_paths(ask["POST"](filters={name: value})) == expected
    assert hit_paths(ask["POST"](filters={"lang": "de"})) == {"notes/de.md"}
    assert hit_paths(ask["GET"](media="text", lang="en")) == {"guides/install.md"}


def test_metadata_narrows_the_hits(ask):
    year = {"year": {"gte": 2000, "lt": 2002}, "author": ["Ada", "Bob"]}
    assert hit_paths(ask["POST"](filters={"metadata": year})) == {"notes/de.md"}
    assert hit_paths(ask["GET"](metadata=json.dumps(year))) == {"notes/de.md"}
    assert hit_paths(ask["POST"](filters={"metadata": {"year": {"exists": False}}})) == ALL - {"notes/de.md"}


def test_q_is_searched_in_the_default_versions(search):
    assert hit_paths(search()) == ALL
    assert hit_paths(search(q="Notiz")) == {"notes/de.md"}
    assert hit_paths(search(q="")) == set()


def test_operators_in_q_are_obeyed_unless_they_are_switched_off(search):
    assert hit_paths(search(q="alpha tag:german")) == {"notes/de.md"}
    assert hit_paths(search(q="alpha tag:german", operators=False)) == ALL
    assert "after:soon" in search(q="alpha after:soon").json()["warnings"][0]
    explained = search(q="alpha -tag:german", explain=True).json()["explain"]
    assert explained["operators"]["conditions"] == ["-tag:german"]


def test_mode_selects_the_legs_and_defaults_to_hybrid(search):
    assert {hit["retrieval"]["method"] for hit in search(mode="vector").json()["hits"]} == {"vector"}
    hybrid = search(mode=None).json()
    assert hybrid["mode"] == "hybrid"
    assert hybrid["hits"][0]["retrieval"]["lexical_rank"] and hybrid["hits"][0]["retrieval"]["vector_rank"]


def test_k_limits_the_hits_and_defaults_to_the_setting(search, workspace):
    assert [len(search(k=k).json()["hits"]) for k in (1, 2, 50_000)] == [1, 2, 5]
    workspace.settings = {"default_k": 2}
    workspace.save(update_fields=["settings"])
    assert [len(search(k=k).json()["hits"]) for k in (None, 0, 3)] == [2, 2, 3]


def test_snippet_chars_limits_snippets_and_defaults_to_the_setting(search, workspace):
    def longest(**given):
        return max(len(hit["snippet"]) for hit in search(**given).json()["hits"])

    assert longest() > 12
    assert longest(snippet_chars=12) <= 12
    workspace.settings = {"snippet_chars": 9}
    workspace.save(update_fields=["settings"])
    assert longest() <= 9
    assert longest(snippet_chars=12) > 9


def test_per_file_cap_limits_the_hits_of_a_document(search):
    def most(**given):
        paths = [hit["doc_path"] for hit in search(**given).json()["hits"]]
        return max(paths.count(path) for path in paths)

    assert (most(), most(per_file_cap=0), most(per_file_cap=1)) == (3, 3, 1)


def test_fusion_parameter_overrides_the_workspace_setting(search, workspace):
    def scores(**given):
        return [hit["score"] for hit in search(mode="hybrid", **given).json()["hits"]]

    assert scores() == scores(fusion="convex") != scores(fusion="rrf")
    workspace.settings = {"fusion": "rrf"}
    workspace.save(update_fields=["settings"])
    assert scores() == scores(fusion="rrf") != scores(fusion="convex")


def test_channels_replace_q_in_their_legs(ask):
    def first(**given):
        return ask["POST"](mode="vector", **given).json()["hits"][0]["doc_path"]

    assert hit_paths(ask["POST"](q="Notiz", channels={"lexical": "code"})) == {"src/server.py"}
    assert hit_paths(ask["POST"](q="Notiz", channels={"vector": "code"})) == {"notes/de.md"}
    assert hit_paths(ask["POST"](channels={"rerank": "code"})) == ALL
    assert first(q="Guide\nalpha Notiz") == "notes/de.md"
    assert first(q="Guide\nalpha Notiz", channels={"vector": "Server\nalpha server code"}) == "src/server.py"


def test_explain_rerank_and_cutoff_are_off_unless_asked_for(search):
    plain = search().json()
    assert (plain["explain"], plain["rerank"]) == (None, None)
    assert search(explain="true").json()["explain"]["legs"]["lexical"]
    assert search(rerank="true").json()["rerank"]["status"] == "fallback"
    assert len(search(q="delta", k=20).json()["hits"]) == 12
    assert len(search(q="delta", k=20, cutoff="true").json()["hits"]) == 8


def test_floor_leaves_out_hits_that_are_only_related(search):
    few_words = "delta numismatic byzantine follis catalogue"
    shown, left = search(q=few_words, k=5).json(), search(q=few_words, floor="true").json()
    assert [hit["related"] for hit in shown["hits"]] == [True] * 5
    assert (left["hits"], left["related_total"], shown["related_total"]) == ([], 12, 12)
    plain = search(q="delta", k=20, floor="true").json()
    assert ([hit["related"] for hit in plain["hits"]], plain["related_total"]) == ([False] * 12, 0)
    second = search(q=None, mode=None, cursor=shown["next_cursor"]).json()
    assert ([hit["related"] for hit in second["hits"]], second["related_total"]) == ([True] * 5, 12)


def test_why_not_names_the_gate_of_a_chunk_or_document(search):
    hit = search(q="delta").json()["hits"][0]
    for id_ in (hit["chunk_id"], hit["doc_id"]):
        verdict = search(q="Notiz", why_not=id_).json()["explain"]["why_not"]
        assert (verdict["id"], verdict["gate"]) == (id_, "no_query_term")
    assert search(q="Notiz", why_not="0" * 32).json()["explain"]["why_not"]["gate"] == "unknown"


def test_text_and_metadata_come_when_they_are_asked_for(search):
    (plain,), (full,), (short,) = (
        search(q="Notiz", **given).json()["hits"]
        for given in ({}, {"include": ["text", "metadata"]}, {"include": ["text"], "max_text_chars": 5})
    )
    assert (plain["text"], plain["metadata"]) == (None, None)
    assert (full["text"], full["metadata"]["year"]) == ("alpha Notiz", 2001)
    assert (short["text"], short["metadata"]) == ("alpha", None)


def test_fields_parameter_selects_the_fields_of_hits(search):
    found = search(q="delta", k=5, fields=["doc_path", "rank"]).json()
    assert [set(hit) for hit in found["hits"]] == [{"doc_path", "rank"}] * 5
    second = search(q=None, mode=None, cursor=found["next_cursor"], fields=["rank"]).json()
    assert second["hits"] == [{"rank": rank} for rank in range(6, 11)]


def test_next_page_keeps_the_include_option_of_the_first(search):
    cursor = search(q="delta", k=5, include=["text"], max_text_chars=5).json()["next_cursor"]
    assert {hit["text"] for hit in search(q=None, mode=None, cursor=cursor).json()["hits"]} == {"delta"}


def test_hits_are_in_the_order_asked_for(search):
    ranked = [hit["doc_path"] for hit in search(per_file_cap=1).json()["hits"]]
    newest, by_title = (
        [hit["doc_path"] for hit in search(sort=order, per_file_cap=1).json()["hits"]]
        for order in ("date", "title")
    )
    assert newest[0] == "notes/de.md"
    assert sorted(by_title) == sorted(ranked)
    first = search(q="delta", sort="title", k=5).json()
    second = search(q=None, mode=None, cursor=first["next_cursor"]).json()
    titles = [hit["title"] for hit in (*first["hits"], *second["hits"])]
    assert titles == sorted(titles) and len(titles) == 10


def test_all_documents_are_listed_page_by_page_without_words(search):
    first = search(q="", sort="title", k=2).json()
    second = search(q=None, mode=None, cursor=first["next_cursor"]).json()
    listed = [hit["doc_path"] for hit in (*first["hits"], *second["hits"])]
    assert len(first["hits"]) == 2
    assert len(set(listed)) == len(listed) == 4
    assert search(q="").json()["hits"] == []


def test_recency_lowers_the_rank_of_old_documents(search, workspace):
    def last(**given):
        return search(q="alpha Notiz", group="document", **given).json()["hits"][-1]

    assert last()["doc_path"] != "notes/de.md"
    old = last(recency=1)
    assert (old["doc_path"], old["rank"]) == ("notes/de.md", 3)
    assert old["score"] < 0.01
    workspace.settings = {"recency": 1.0, "recency_half_life_days": 36_500}
    workspace.save(update_fields=["settings"])
    assert last()["score"] > 0.01
    assert last(recency=0)["doc_path"] != "notes/de.md"


def test_facets_count_the_documents_of_each_value(search):
    found = search(q="alpha", facets=["lang", "metadata.year"]).json()["facets"]
    assert (found["total"], found["is_relaxed"]) == (3, False)
    counts = {
        name: {each["value"]: each["documents"] for each in values}
        for name, values in found["by_filter"].items()
    }
    assert counts == {"lang": {"en": 1, "de": 1, "und": 1}, "metadata.year": {2001: 1}}
    one = search(q="alpha", facets="lang", max_facet_values=1).json()["facets"]["by_filter"]
    assert len(one["lang"]) == 1
    assert search(q="alpha").json()["facets"] is None


def test_facets_count_what_the_corrected_query_finds(search):
    found = search(q="alhpa lang:de", operators=True, facets="lang").json()
    assert found["corrected_query"] == "alpha lang:de"
    assert (found["facets"]["total"], len(found["hits"])) == (1, 1)


def test_integer_beyond_64_bits_is_given_in_full(search):
    found = search(q="code", include="metadata", facets="metadata.n")
    assert found.status_code == 200
    assert found.json()["hits"][0]["metadata"] == {"n": _LARGE}
    assert found.json()["facets"]["by_filter"]["metadata.n"] == [{"value": 1.2e22, "documents": 1}]


def test_header_names_the_next_page(ask, reader):
    first = ask["GET"](q="delta", k=5, fields=["rank"], lang="en")
    address, _, relation = first.headers["Link"].partition("; ")
    second = reader.get(address.strip("<>").removeprefix("http://testserver"))
    assert (relation, second.json()["hits"]) == ('rel="next"', [{"rank": rank} for rank in range(6, 11)])
    assert "Link" not in ask["GET"](q="delta", k=20).headers
    assert ask["POST"](q="delta", k=5).headers.get("Link") is None


def test_cursor_opens_the_next_page(search):
    first = search(q="delta", k=5).json()
    second = search(q=None, mode=None, cursor=first["next_cursor"])
    assert [hit["rank"] for hit in second.json()["hits"]] == [6, 7, 8, 9, 10]


REFUSALS = [
    ("mode", "fuzzy", "invalid_query"),
    ("fusion", "sum", "invalid_query"),
    ("k", "-1", "invalid_query"),
    ("k", "many", "invalid_request"),
    ("snippet_chars", "0", "invalid_query"),
    ("snippet_chars", "10001", "invalid_request"),
    ("per_file_cap", "x", "invalid_request"),
    *(
        (name, text, "invalid_request")
        for name in ("explain", "rerank", "cutoff", "floor", "exact")
        for text in ("maybe", "")
    ),
    ("explain", "null", "invalid_request"),
    ("sort", "size", "invalid_query"),
    ("include", ["all"], "invalid_query"),
    ("max_text_chars", "0", "invalid_query"),
    ("max_text_chars", "20001", "invalid_query"),
    ("fields", ["color"], "invalid_request"),
    ("recency", "2", "invalid_query"),
    ("facets", ["color"], "invalid_query"),
    ("facets", ["metadata."], "invalid_filter"),
    ("facets", ["metadata.a\x07b"], "invalid_filter"),
    ("max_facet_values", "0", "invalid_request"),
    ("metadata", '["a"]', "invalid_filter"),
    ("metadata", '{"a": {"like": 1}}', "invalid_filter"),
    ("metadata", "{", "invalid_request"),
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
    ("dated_after", "2026-01-01T00:00:00", "invalid_filter"),
    ("dated_before", "yesterday", "invalid_request"),
    ("author", [""], "invalid_filter"),
    ("q", "'foo AND'", "invalid_query"),
]


def test_wrong_value_is_refused_by_its_field(ask, subtests):
    for name, value, code in REFUSALS:
        with subtests.test(name=name, value=value):
            status, refused_code, field = refusal_of(ask["GET"](**{name: value}))
            assert (status, refused_code, field.partition("[")[0]) == (400, code, name)
            is_query = name in QueryFields().fields
            given = {name: value} if is_query else {"filters": {name: value}}
            status, refused_code, field = refusal_of(ask["POST"](**given))
            wanted = name if is_query else f"filters.{name}"
            assert (status, refused_code, field.partition("[")[0]) == (400, code, wanted)


def test_unknown_or_missing_parameter_is_refused(ask, reader, workspace, subtests):
    path = address(workspace, "/search")
    unknown = [
        ("GET", {"x": "1"}, "x"),
        ("GET", {"channels": "{}"}, "channels"),
        ("GET", {"filters": "{}"}, "filters"),
        ("POST", {"x": 1}, "x"),
        ("POST", {"lang": ["de"]}, "lang"),
        ("POST", {"filters": {"x": 1}}, "filters.x"),
        ("POST", {"channels": {"x": "a"}}, "channels.x"),
    ]
    for method, given, field in unknown:
        with subtests.test(method=method, given=given):
            assert refusal_of(ask[method](**given)) == (400, "unknown_field", field)
    beside = reader.post(f"{path}?k=1", {"q": "a"}, format="json")
    assert refusal_of(beside) == (400, "unknown_field", "k")
    for missing in (reader.get(path), reader.post(path, {"q": None}, format="json")):
        assert refusal_of(missing) == (400, "invalid_request", "q")


def test_null_in_a_post_counts_as_absent(reader, workspace, ask):
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
