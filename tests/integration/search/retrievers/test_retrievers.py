"""The contract of a retriever: one suite for all of them, on one corpus."""

import hashlib
import itertools
import json
import re
import uuid
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kebab.identity.reader import Reader
from search.corpus.remove import delete_documents
from search.engine.retrievers import HybridRetriever, LexicalRetriever, RerankedRetriever, VectorRetriever
from search.engine.search import index_version
from search.mirror import local_mirrors
from search.retrieval.citation import parse_uri
from search.retrieval.errors import SearchError
from search.retrieval.query.filters import SearchFilters
from search.retrieval.types import DEFAULT_K, Mode, Retriever, SearchQuery
from search.wire import hit_to_wire
from tests.support.api import committed_workspace
from tests.support.corpus import chunk, write
from tests.support.runtime import use_reranker

CROWD = 300


class WordReranker:
    """Scores a passage by the share of its words that the query has: the protocol's fake."""

    name = "by words"
    gives_logits = False

    def rerank(self, query, passages):
        asked = set(query.lower().split())
        words = [re.findall(r"\w+", passage.lower()) for passage in passages]
        return [sum(word in asked for word in each) / max(1, len(each)) for each in words]


class DeadReranker:
    """Never answers."""

    name = "dead"
    gives_logits = False

    def rerank(self, query, passages):
        raise RuntimeError("No.")


RETRIEVERS = {
    "lexical": (LexicalRetriever, None),
    "vector": (VectorRetriever, None),
    "hybrid": (HybridRetriever, None),
    "reranked": (RerankedRetriever, WordReranker()),
    "reranked, but the reranker is dead": (RerankedRetriever, DeadReranker()),
    "reranked, but there is no reranker": (RerankedRetriever, None),
}


def fill(workspace):
    for n in range(30):
        write(workspace, f"{'even' if n % 2 == 0 else 'odd'}/{n}.md", "apple " + "pear " * (n % 5))
    code = chunk("apple orchard code", kind="code", language="python", heading="Orchard")
    write(workspace, "src/orchard.py", code, media="code", tags=("code",), trust_level="primary")
    write(workspace, "de/apfel.md", "apple Apfel", lang="de", source="german", trust_level="generated")
    write(workspace, "old/apple.md", "apple of old", version="1.0")
    for n in range(CROWD):
        write(workspace, f"crowd/{n:03}.md", "needle " * 3, tags=("crowd",))
    write(workspace, "odd.md", 'it\'s "quoted" (text) * ^ : 部署指南 é', "\x02marks\x03 \x1b AND a")
    filler = " ".join(f"hay{n}" for n in range(60))
    write(workspace, "stack/deep/lone.md", f"needle {filler}", tags=("lone",))


@pytest.fixture(scope="module")
def corpus(django_db_setup, django_db_blocker, tmp_path_factory):
    mirrors = tmp_path_factory.mktemp("contract")
    theirs = tmp_path_factory.mktemp("contract-of-others")

    def secrets(workspace):
        write(workspace, "theirs.md", "apple needle secret")

    with (
        committed_workspace(django_db_blocker, theirs, secrets),
        committed_workspace(django_db_blocker, mirrors, fill) as workspace,
    ):
        yield workspace, mirrors


@pytest.fixture
def workspace(db, corpus, settings, monkeypatch):
    settings.KEBAB_SEARCH_STATEMENT_LIMIT_MS = 60_000
    workspace, settings.KEBAB_MIRROR_DIR = corpus
    workspace.refresh_from_db()
    monkeypatch.setattr(local_mirrors, "trigger_sync", lambda workspace_id: None)
    return workspace


@pytest.fixture(params=RETRIEVERS)
def retriever(request, workspace, monkeypatch) -> Retriever:
    made, reranker = RETRIEVERS[request.param]
    use_reranker(monkeypatch, reranker)
    return made(workspace, Reader())


def query(text="apple pear", **options):
    names = SearchFilters.__dataclass_fields__.keys() & options.keys()
    filters = SearchFilters(**{name: options.pop(name) for name in names})
    return SearchQuery(text=text, filters=filters, **options)


def paths(hits):
    return [hit.doc_path for hit in hits]


def ids(hits):
    return [hit.chunk_id for hit in hits]


def as_bytes(hits):
    return json.dumps([hit_to_wire(hit) for hit in hits], ensure_ascii=False).encode()


def test_retriever_answers_in_its_own_mode_and_names_its_index(retriever, workspace):
    assert isinstance(retriever, Retriever)
    for mode in Mode:
        hits = retriever.search(query(mode=mode))
        assert {hit.retrieval.method for hit in hits} == {retriever.mode}
        assert {hit.index_version for hit in hits} == {retriever.index_version(retriever.mode)}
        assert retriever.index_version(mode) == index_version(workspace, mode)
    lexical, vector, hybrid = (retriever.index_version(mode) for mode in Mode)
    assert hybrid == f"hybrid:{lexical}+{vector}"
    assert lexical.startswith("lex-") and vector.startswith("vec-")


def test_list_is_ranked_without_gaps_by_falling_scores_and_holds_a_chunk_once(retriever):
    hits = retriever.search(query(k=60))
    scores = [hit.score for hit in hits]
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    assert len(hits) == len(set(ids(hits))) >= 32
    assert all(0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)


def test_hit_has_scores_ranks_and_citation(retriever):
    for hit in retriever.search(query(k=40)):
        detail = hit.retrieval
        assert hit.score <= detail.score <= 1
        assert detail.rerank_rank == (None if detail.rerank_score is None else hit.rank)
        for score in (detail.fusion_score, detail.lexical_score, detail.vector_score):
            assert score is None or 0 <= score <= 1
        assert (detail.lexical_rank is None) == (detail.lexical_score is None)
        assert (detail.vector_rank is None) == (detail.vector_score is None)
        assert detail.lexical_rank is not None or detail.vector_rank is not None
        if retriever.mode is not Mode.HYBRID:
            assert (detail.lexical_rank is None) == (retriever.mode is Mode.VECTOR)
            assert (detail.vector_rank is None) == (retriever.mode is Mode.LEXICAL)
        assert hit.citation.path == hit.doc_path
        assert parse_uri(hit.citation.uri) == replace(hit.citation, section=None)


def test_k_cuts_the_same_ranked_list(retriever):
    longer = retriever.search(query("apple", k=32))
    assert len(longer) == 32
    for k, length in ((1, 1), (7, 7), (0, DEFAULT_K)):
        assert ids(retriever.search(query("apple", k=k))) == ids(longer[:length])


def test_same_query_gives_the_same_bytes(retriever, workspace):
    first = as_bytes(retriever.search(query(k=30)))
    assert len(first) > 1_000
    assert as_bytes(retriever.search(query(k=30))) == first
    local_mirrors.reader_pool().close()
    assert as_bytes(type(retriever)(workspace, Reader()).search(query(k=30))) == first


def test_other_workspaces_and_other_versions_are_not_found(retriever):
    found = paths(retriever.search(query("secret apple needle", k=1_000)))
    assert found and "theirs.md" not in found
    assert "old/apple.md" not in paths(retriever.search(query("apple", k=60)))


def test_filtered_list_is_full_while_matches_exist_behind_300_better_ones(retriever, subtests):
    assert "stack/deep/lone.md" not in paths(retriever.search(query("needle", k=10)))
    for filters in (
        {"path_glob": ("stack/**/*.md",)},
        {"tags_any": ("lone",)},
        {"path_glob": ("stack/**",), "path_not_glob": ("stack/*",)},
    ):
        with subtests.test(filters=filters):
            assert paths(retriever.search(query("needle", k=10, **filters))) == ["stack/deep/lone.md"]
    crowd = retriever.search(query("needle", k=50, tags_any=("crowd",)))
    assert len(crowd) == 50 and all("crowd" in hit.tags for hit in crowd)
    assert len(retriever.search(query("needle apple", k=15, path_glob=("odd/*",)))) == 15


def test_snippet_is_no_longer_than_asked_for_and_highlights_lie_in_it(retriever, subtests):
    for text, chars in itertools.product(("apple pear", "hay7 needle", "Apfel"), (3, 12, 220)):
        with subtests.test(text=text, chars=chars):
            hits = retriever.search(query(text, k=20, snippet_chars=chars))
            assert hits
            for hit in hits:
                assert len(hit.snippet) <= chars
                places = [0, *itertools.chain(*hit.highlights), len(hit.snippet)]
                assert places == sorted(places)
                assert all(start < end for start, end in hit.highlights)


def test_deleted_document_is_not_found_before_any_mirror_follows(retriever, workspace):
    asked = query("Apfel", k=60)
    found = next(hit for hit in retriever.search(asked) if hit.doc_path == "de/apfel.md")
    delete_documents(workspace, [uuid.UUID(hex=found.doc_id)])
    hits = retriever.search(asked)
    assert found.chunk_id not in ids(hits)
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))


def test_list_is_full_again_once_its_best_are_deleted(retriever, workspace):
    best = {uuid.UUID(hex=hit.doc_id) for hit in retriever.search(query("needle", k=40))}
    delete_documents(workspace, sorted(best))
    hits = retriever.search(query("needle", k=40))
    assert len(hits) == 40 and not best & {uuid.UUID(hex=hit.doc_id) for hit in hits}


def test_cap_and_cutoff_shorten_the_list(retriever):
    for cap in (1, 2):
        hits = retriever.search(query("apple", k=30, per_file_cap=cap))
        assert len(hits) == 30 and len(set(paths(hits))) == 30
    whole = retriever.search(query("apple", k=60))
    kept = retriever.search(query("apple", k=60, cutoff=True))
    assert 1 <= len(kept) <= 8
    assert ids(kept) == ids(whole[: len(kept)])


def test_searches_leave_the_bytes_of_the_mirror_as_they_were(retriever, workspace):
    def contents():
        local_mirrors.reader_pool().close()  # whoever closes last folds the write-ahead log in
        files = sorted(local_mirrors.mirror_files(workspace.pk).current().parent.iterdir())
        return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}

    retriever.search(query())  # notes that the mirror is used
    before = contents()
    assert any(name.endswith(".sqlite3") for name in before)
    for n in range(10):
        retriever.search(query(f"apple hay{n} 'needle", k=5))
    assert contents() == before


SIGNS = [*"'\"()*:^-+{}[]\\/\0 ", "AND", "OR", "NOT", "NEAR(", "apple", "部署", "ü", "needle"]
TYPED = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(SIGNS), max_size=12).map(" ".join))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(text=TYPED)
@example("'\x00'")
@example("\ud800 apple")
@example("'" + "(" * 5_000 + "'")
@example("'" + "a" * 100_000 + "'")
@example('"' * 10_001)
def test_any_text_is_answered_or_refused(retriever, text):
    try:
        hits = retriever.search(query(text, k=5))
    except SearchError as refused:
        assert (refused.status, refused.code, text.strip()[0]) == (400, "invalid_query", "'")
    else:
        assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
        assert all(hit.snippet[start:end] for hit in hits for start, end in hit.highlights)
