"""Queries, filters, wire format, index versions and errors."""

import ast
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import search.retrieval
from search.retrieval import errors
from search.retrieval.citation import Citation
from search.retrieval.errors import InvalidFilter, InvalidGlob, InvalidQuery, SearchError
from search.retrieval.index_version import NO_VECTORS, IndexVersion, vector_version
from search.retrieval.query.channels import QueryChannels
from search.retrieval.query.filters import ChunkKind, Media, SearchFilters, TrustLevel
from search.retrieval.staleness import stale_before
from search.retrieval.types import (
    Fusion,
    LexicalTotal,
    Mode,
    RerankOutcome,
    RetrievalDetail,
    SearchHit,
    SearchQuery,
    SearchResult,
)
from search.wire import hit_to_wire, result_to_wire

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def test_query_defaults_text_and_channels(subtests):
    query = SearchQuery(text="foo")
    assert (query.mode, query.fusion, query.k, query.filters) == (Mode.HYBRID, None, 10, SearchFilters())
    assert (query.channels, query.snippet_chars, query.cutoff) == (None, 220, False)
    assert (query.per_file_cap, query.rerank, query.explain) == (None, False, False)
    for asked, k in [(0, 10), (1, 1), (1000, 1000), (1001, 1000), (10**9, 1000)]:
        with subtests.test(asked=asked):
            assert SearchQuery(text="foo", k=asked).k == k
    for parameter in [{"k": -1}, {"snippet_chars": 0}, {"snippet_chars": -5}]:
        with subtests.test(parameter=parameter), pytest.raises(InvalidQuery, match=next(iter(parameter))):
            SearchQuery(text="foo", **parameter)
    assert SearchQuery(text="a\x00b\ud800c\td").text == "abc\td"
    channels = QueryChannels(vector="a\x00", lexical="\ud800b", rerank="c\td")
    cleaned = QueryChannels(vector="a", lexical="b", rerank="c\td")
    assert SearchQuery(text="", channels=channels).channels == cleaned
    assert SearchQuery(text="foo").effective_channels == QueryChannels(
        vector="foo", lexical="foo", rerank="foo"
    )
    channels = QueryChannels(vector="v", lexical="l", rerank="r")
    assert SearchQuery(text="foo", channels=channels).effective_channels == channels


def test_unknown_value_is_refused(subtests):
    kinds = dict.fromkeys((Mode, Fusion), InvalidQuery) | dict.fromkeys(
        (TrustLevel, ChunkKind, Media), InvalidFilter
    )
    for kind, error in kinds.items():
        with subtests.test(kind=kind), pytest.raises(error, match=f"'bogus'.*{', '.join(kind)}"):
            kind("bogus")
    query = SearchQuery(text="foo", mode="lexical", fusion="convex")
    assert (query.mode, query.fusion) == (Mode.LEXICAL, Fusion.CONVEX)
    assert query.mode is Mode.LEXICAL
    with pytest.raises(InvalidQuery):
        SearchQuery(text="foo", fusion="sum")


def test_filters_are_validated(subtests):
    cases = [
        ({"path_glob": ("notes/[abc",)}, InvalidGlob),
        ({"path_glob": tuple(f"{n}.md" for n in range(21))}, InvalidFilter),
        ({"path_not_glob": ("notes/[abc",)}, InvalidGlob),
        ({"path_glob": ("a.md",) * 10, "path_not_glob": ("b.md",) * 11}, InvalidFilter),
        ({"code_lang": ("",)}, InvalidFilter), ({"doc_id": ("xyz",)}, InvalidFilter),
        ({"doc_id": ("A" * 32,)}, InvalidFilter), ({"tags_any": ("a\x00",)}, InvalidFilter),
        ({"lang": ("\ud800",)}, InvalidFilter), ({"source": ("",)}, InvalidFilter),
        ({"ingested_after": datetime(2026, 1, 1)}, InvalidFilter), ({"kind": "prose"}, InvalidFilter),
        ({"media": ["film"]}, InvalidFilter), ({"trust_min": "best"}, InvalidFilter),
    ]  # fmt: skip
    for filters, error in cases:
        with subtests.test(filters=filters), pytest.raises(error):
            SearchFilters(**filters)
    filters = SearchFilters(tags_any=("secret", "b"), trust_min=TrustLevel.PRIMARY, ingested_after=NOW)
    assert filters.shape() == {"tags_any": 2, "trust_min": 1, "ingested_after": 1}
    assert SearchFilters().shape() == {}

    better = [level.value for level in TrustLevel.GENERATED.or_better()]
    assert better == ["primary", "secondary", "generated"]
    assert TrustLevel("primary").or_better() == (TrustLevel.PRIMARY,)
    assert TrustLevel.UNKNOWN.or_better() == tuple(TrustLevel)
    filters = SearchFilters(
        tags_any=["a", "b"], path_glob="docs/*", kind="code", media=["pdf"], trust_min="primary", lang=None
    )
    assert filters == SearchFilters(
        tags_any=("a", "b"), path_glob=("docs/*",), kind=(ChunkKind.CODE,), media=(Media.PDF,),
        trust_min=TrustLevel.PRIMARY,
    )  # fmt: skip
    assert filters.trust_min is TrustLevel.PRIMARY


def a_hit():
    return SearchHit(
        rank=1, score=0.5, chunk_id="c" * 32, doc_id="d" * 32, doc_path="a.md", title="A",
        heading_path=("A", "B"), section_label="B", snippet="部署 now", highlights=((0, 2),),
        citation=Citation(kind="line", path="a.md", section="B", start=7, end=12),
        retrieval=RetrievalDetail(method=Mode.HYBRID, fusion_score=0.5, lexical_rank=1),
        index_version="hybrid:lex-1+vec-a@1", chunker_version="1", embedding_model=None, indexed_at=NOW,
        stale=False, source="docs", version=None, lang="zh", tags=("t",), trust_level=TrustLevel.PRIMARY,
        code_lang=None, date=NOW, author=None,
    )  # fmt: skip


def test_hit_on_the_wire():
    assert hit_to_wire(a_hit()) == {
        "schema_version": "search_hit.v1", "rank": 1, "score": 0.5, "chunk_id": "c" * 32,
        "doc_id": "d" * 32, "doc_path": "a.md", "title": "A", "heading_path": ["A", "B"],
        "section_label": "B", "snippet": "部署 now", "highlights": [[0, 2]],
        "citation": {
            "kind": "line", "path": "a.md", "section": "B", "start": 7, "end": 12, "page": None,
            "x": None, "y": None, "w": None, "h": None, "start_s": None, "end_s": None, "uri": "a.md#L7-L12",
        },
        "retrieval": {
            "method": "hybrid", "fusion_score": 0.5, "lexical_score": None, "lexical_rank": 1,
            "vector_score": None, "vector_rank": None, "exact_rank": None, "tier": None,
            "rerank_score": None, "rerank_rank": None, "pinned": False,
        },
        "index_version": "hybrid:lex-1+vec-a@1", "chunker_version": "1", "embedding_model": None,
        "indexed_at": "2026-01-31T12:00:00Z", "stale": False, "source": "docs", "version": None,
        "lang": "zh", "tags": ["t"], "trust_level": "primary", "code_lang": None,
        "date": "2026-01-31T12:00:00Z", "author": None,
        "also_in": [], "sections": None, "section_count": None, "related": False, "other_language": False,
        "text": None, "metadata": None, "outdated": False, "replaced_by": None, "older": [],
    }  # fmt: skip


def test_response_on_the_wire():
    parts = {"query": "q", "mode": Mode.LEXICAL, "index_version": "lex-1", "seq": 3, "lag": 0, "took_ms": 1.5}
    rerank = RerankOutcome(status="fallback", reason="x")
    total = LexicalTotal(value=7, relation="gte")
    wire = result_to_wire(SearchResult(**parts, rerank=rerank, lexical_total=total, hits=(a_hit(),)))
    assert wire["rerank"] == {"status": "fallback", "reason": "x"}
    assert wire["lexical_total"] == {"value": 7, "relation": "gte"} and wire["hits"] == [hit_to_wire(a_hit())]
    result = SearchResult(query="q", mode=Mode.LEXICAL, index_version="lex-1", seq=3, lag=0, took_ms=1.5)
    assert result_to_wire(result) == {
        "schema_version": "search_response.v1", "query": "q", "mode": "lexical", "index_version": "lex-1",
        "seq": 3, "lag": 0, "took_ms": 1.5, "degraded": [], "warnings": [], "rerank": None,
        "lexical_total": None, "vector_window": None, "hits": [], "related_total": 0, "next_cursor": None,
        "corrected_query": None,
        "did_you_mean": None,
        "explain": None,
        "facets": None,
        "promoted": [],
    }  # fmt: skip


def test_rerank_score_and_staleness_of_a_hit(subtests):
    detail = RetrievalDetail(method=Mode.HYBRID, fusion_score=0.5)
    assert detail.score == 0.5
    assert RetrievalDetail(method=Mode.HYBRID, fusion_score=0.5, rerank_score=0.0).score == 0.0
    for age_days, after_days, stale in [(30, 30, False), (31, 30, True), (31, 0, False), (2, 1, True)]:
        with subtests.test(age_days=age_days):
            is_before = NOW - timedelta(days=age_days) < stale_before(NOW, stale_after_days=after_days)
            assert is_before is stale


def test_index_versions():
    both = IndexVersion(lexical="lex-5.1", vector="vec-minilm@3")
    assert str(both) == "hybrid:lex-5.1+vec-minilm@3"
    assert str(IndexVersion(lexical="lex-5.1")) == "lex-5.1"
    assert str(IndexVersion(vector="vec-minilm@3")) == "vec-minilm@3"
    assert str(IndexVersion(lexical="lex-1", vector=NO_VECTORS)) == f"hybrid:lex-1+{NO_VECTORS}"
    assert vector_version("all MiniLM+x", 3) == "vec-all_MiniLM_x@3"


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"lexical": "foo"},
        {"lexical": "lex-"},
        {"lexical": "lex-a+b"},
        {"lexical": "lex-a b"},
        {"lexical": "vec-1", "vector": "lex-1"},
        {"lexical": "lex-1", "vector": "vec-1+vec-2"},
    ],
)
def test_invalid_index_version_is_refused(parts):
    with pytest.raises(ValueError, match=r"index version|at least one"):
        IndexVersion(**parts)


def subclasses(kind):
    return {kind}.union(*(subclasses(each) for each in kind.__subclasses__()))


def test_error_tree():
    drawn = {name for name in errors.__doc__.replace("─", " ").split() if name.isidentifier()}
    tree = {each for each in subclasses(SearchError) if each.__module__ == errors.__name__}
    assert {each.__name__ for each in tree} <= drawn
    assert len({each.code for each in tree}) == len(tree)
    assert {each.status for each in tree} == {400, 410, 422, 503}
    assert errors.preview("a\n") == r"'a\n'"
    assert len(errors.preview("x" * 10_000)) == 63
    assert errors.NotSearchableYet("behind", retry_after_s=2).retry_after_s == 2


def test_the_core_imports_only_the_standard_library_and_numpy():
    allowed = sys.stdlib_module_names | {"numpy"}
    for path in Path(search.retrieval.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module]
            else:
                continue
            outside = [name for name in names if name.split(".")[0] not in allowed]
            assert [name for name in outside if not name.startswith("search.retrieval")] == [], path.name
