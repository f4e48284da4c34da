"""What every retriever promises, whatever it finds chunks by: one suite that all of them pass."""

import hashlib
import itertools
import json
import re
import uuid
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kebab.people.reader import Reader
from search import node
from search.corpus.remove import delete_documents
from search.engine import index_version
from search.retrieval.citation import parse_uri
from search.retrieval.errors import InvalidFilter, InvalidQuery, SearchError
from search.retrieval.filters import ChunkKind, Media, SearchFilters, TrustLevel
from search.retrieval.types import DEFAULT_K, MAX_K, Fusion, Mode, Retriever, SearchQuery
from search.retrieval.wire import hit_to_wire
from search.retrievers import HybridRetriever, LexicalRetriever, RerankedRetriever, VectorRetriever
from search.statistics import refresh_statistics
from tests.support.api import committed
from tests.support.corpus import chunk, write

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
    filler = " ".join(f"hay{n}" for n in range(60))
    write(workspace, "stack/deep/lone.md", f"needle {filler}", tags=("lone",))


@pytest.fixture(scope="module")
def corpus(django_db_setup, django_db_blocker, tmp_path_factory):
    mirrors = tmp_path_factory.mktemp("contract")
    theirs = tmp_path_factory.mktemp("contract-of-others")

    def secrets(workspace):
        write(workspace, "theirs.md", "apple needle secret")

    with (
        committed(django_db_blocker, theirs, secrets),
        committed(django_db_blocker, mirrors, fill) as workspace,
    ):
        with django_db_blocker.unblock():
            refresh_statistics()  # as every job does at its end
        yield workspace, mirrors


@pytest.fixture
def workspace(db, corpus, settings, monkeypatch):
    settings.KEBAB_LEG_LIMIT_MS = settings.KEBAB_SEARCH_STATEMENT_LIMIT_MS = 60_000
    workspace, settings.KEBAB_MIRROR_DIR = corpus
    workspace.refresh_from_db()
    monkeypatch.setattr(node, "trigger_sync", lambda workspace_id: None)
    return workspace


@pytest.fixture(params=RETRIEVERS)
def retriever(request, workspace, monkeypatch) -> Retriever:
    made, reranker = RETRIEVERS[request.param]
    monkeypatch.setattr("search.engine.configured_reranker", lambda: reranker)
    return made(workspace, Reader())


def query(text="apple pear", **options):
    names = SearchFilters.__dataclass_fields__.keys() & options.keys()
    filters = SearchFilters(**{name: options.pop(name) for name in names})
    return SearchQuery(text=text, filters=filters, **options)


def paths(hits):
    return [hit.doc_path for hit in hits]


def as_bytes(hits):
    return json.dumps([hit_to_wire(hit) for hit in hits], ensure_ascii=False).encode()


def test_it_answers_in_its_own_mode_whatever_the_query_names(retriever):
    for mode in Mode:
        assert {hit.retrieval.method for hit in retriever.search(query(mode=mode))} == {retriever.mode}


def test_it_is_a_retriever(retriever):
    assert isinstance(retriever, Retriever)


def test_ranks_count_from_one_without_holes(retriever):
    assert [hit.rank for hit in retriever.search(query(k=25))] == list(range(1, 26))


def test_scores_lie_between_nought_and_one_and_never_rise(retriever):
    scores = [hit.score for hit in retriever.search(query(k=100))]
    assert len(scores) >= 32
    assert all(0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)


def test_the_score_is_the_key_that_orders_the_list(retriever):
    for hit in retriever.search(query(k=40)):
        assert hit.score == hit.retrieval.score
        is_reranked = hit.retrieval.rerank_score is not None
        assert (hit.retrieval.rerank_rank == hit.rank) if is_reranked else hit.retrieval.rerank_rank is None
        for score in (
            hit.retrieval.fusion_score,
            hit.retrieval.lexical_score,
            hit.retrieval.vector_score,
        ):
            assert score is None or 0 <= score <= 1


def test_no_chunk_comes_twice(retriever):
    ids = [hit.chunk_id for hit in retriever.search(query(k=60))]
    assert len(ids) == len(set(ids)) >= 32


def test_there_are_no_more_hits_than_asked_for_and_no_fewer_while_some_match(retriever):
    for k in (1, 7, 32):
        assert len(retriever.search(query("apple", k=k))) == k
    assert len(retriever.search(query("apple", k=0))) == DEFAULT_K


def test_more_than_the_most_is_the_most(retriever):
    asked = query("needle", k=50_000)
    assert asked.k == MAX_K
    assert len(retriever.search(asked)) >= 60


def test_a_shorter_list_is_the_start_of_a_longer_one(retriever):
    longer = retriever.search(query(k=20))
    assert [hit.chunk_id for hit in retriever.search(query(k=5))] == [hit.chunk_id for hit in longer[:5]]


def test_the_same_query_gives_the_same_bytes(retriever, workspace):
    first = as_bytes(retriever.search(query(k=30)))
    assert len(first) > 1_000
    assert as_bytes(retriever.search(query(k=30))) == first
    node.reader_pool().close()
    assert as_bytes(type(retriever)(workspace, Reader()).search(query(k=30))) == first


def test_nothing_of_another_workspace_is_found(retriever):
    hits = retriever.search(query("secret apple needle", k=1_000))
    assert hits and "theirs.md" not in paths(hits)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"tags_any": ("code",)}, ["src/orchard.py"]),
        ({"lang": ("de", "fr")}, ["de/apfel.md"]),
        ({"trust_min": TrustLevel.PRIMARY}, ["src/orchard.py"]),
        ({"trust_min": TrustLevel.GENERATED}, ["de/apfel.md", "src/orchard.py"]),
        ({"source": ("german",)}, ["de/apfel.md"]),
        ({"version": ("1.0",)}, ["old/apple.md"]),
        ({"kind": (ChunkKind.CODE,)}, ["src/orchard.py"]),
        ({"media": (Media.CODE,)}, ["src/orchard.py"]),
        ({"path_glob": ("src/*.py", "de/*")}, ["de/apfel.md", "src/orchard.py"]),
        ({"path_not_glob": ("src/*.py", "**/*.md", "*.md")}, []),
        ({"code_lang": ("python",)}, ["src/orchard.py"]),
        ({"ingested_after": datetime(2101, 1, 1, tzinfo=UTC)}, []),
        ({"lang": ("de",), "media": (Media.CODE,)}, []),
        ({"source": ("nothing-has-this-name",)}, []),
    ],
)
def test_a_filter_holds_for_every_hit_and_hides_no_other(retriever, filters, expected):
    assert sorted(paths(retriever.search(query("apple", k=50, **filters)))) == expected


def test_a_filter_by_document_finds_that_document(retriever):
    wanted = retriever.search(query("apple", lang=("de",)))[0].doc_id
    assert paths(retriever.search(query("apple", doc_id=(wanted,)))) == ["de/apfel.md"]


def test_without_a_version_the_default_ones_are_searched(retriever):
    assert "old/apple.md" not in paths(retriever.search(query("apple", k=60)))


@pytest.mark.parametrize(
    "filters",
    [
        {"path_glob": ("stack/**/*.md",)},
        {"tags_any": ("lone",)},
        {"path_glob": ("**/lone.md",)},
        {"path_glob": ("stack/**",), "path_not_glob": ("stack/*",)},
    ],
)
def test_what_a_filter_lets_through_is_found_behind_300_better_ones(retriever, filters):
    assert "stack/deep/lone.md" not in paths(retriever.search(query("needle", k=10)))
    assert paths(retriever.search(query("needle", k=10, **filters))) == ["stack/deep/lone.md"]


def test_a_filter_never_makes_the_list_shorter_than_asked_for_while_more_match(retriever):
    hits = retriever.search(query("needle", k=50, tags_any=("crowd",)))
    assert len(hits) == 50 and all("crowd" in hit.tags for hit in hits)
    hits = retriever.search(query("needle apple", k=15, path_glob=("odd/*",)))
    assert len(hits) == 15


@pytest.mark.parametrize(
    ("pattern", "is_found"),
    [
        ("stack/deep/lone.md", True),
        ("stack/**", True),
        ("**/lone.md", True),
        ("stack/**/deep/*.md", True),
        ("stack/*/l?ne.[m]d", True),
        ("deep/lone.md", False),
        ("stack/deep", False),
        ("stack/deep/lone", False),
        ("stack/*.md", False),
        ("STACK/deep/lone.md", False),
        ("stack/deep?lone.md", False),
        ("stack/deep[!a]lone.md", False),
    ],
)
def test_a_glob_is_anchored_at_both_ends_and_minds_case_and_folders(retriever, pattern, is_found):
    hits = retriever.search(query("needle", path_glob=(pattern,)))
    assert paths(hits) == (["stack/deep/lone.md"] if is_found else [])


@pytest.mark.parametrize("text", ["", "  ", "\t\n", "''", "\0"])
def test_a_blank_query_finds_nothing(retriever, text):
    assert retriever.search(query(text)) == []


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: query(mode=Mode("fuzzy")), InvalidQuery),
        (lambda: query(fusion=Fusion("best")), InvalidQuery),
        (lambda: query(k=-1), InvalidQuery),
        (lambda: query(snippet_chars=0), InvalidQuery),
        (lambda: query(trust_min=TrustLevel("best")), InvalidFilter),
        (lambda: query(kind=(ChunkKind("prose"),)), InvalidFilter),
        (lambda: query(media=(Media("film"),)), InvalidFilter),
        (lambda: query(path_glob=("notes/[abc",)), InvalidFilter),
        (lambda: query(doc_id=("xyz",)), InvalidFilter),
        (lambda: query(ingested_after=datetime(2026, 1, 1)), InvalidFilter),
    ],
)
def test_an_unknown_value_is_refused_before_anything_is_searched(make, error):
    with pytest.raises(error) as refused:
        make()
    assert refused.value.status == 400 and str(refused.value)


def test_a_snippet_is_no_longer_than_asked_for_and_highlights_lie_in_it(retriever):
    for text, chars in itertools.product(("apple pear", "hay7 needle", "Apfel"), (3, 12, 220, 1_000)):
        hits = retriever.search(query(text, k=40, snippet_chars=chars))
        assert hits
        for hit in hits:
            assert len(hit.snippet) <= chars
            places = [0, *itertools.chain(*hit.highlights), len(hit.snippet)]
            assert places == sorted(places)
            assert all(start < end for start, end in hit.highlights)


def test_highlights_are_the_query_s_words(retriever):
    hit = next(hit for hit in retriever.search(query("Apfel", k=60)) if hit.doc_path == "de/apfel.md")
    assert [hit.snippet[start:end] for start, end in hit.highlights] == ["Apfel"]


def test_a_citation_s_uri_reads_back_as_the_citation(retriever):
    for hit in retriever.search(query(k=40)):
        assert hit.citation.path == hit.doc_path
        assert parse_uri(hit.citation.uri) == replace(hit.citation, section=None)


def test_every_hit_says_how_it_was_found(retriever):
    for hit in retriever.search(query(k=40)):
        detail = hit.retrieval
        assert (detail.lexical_rank is None) == (detail.lexical_score is None)
        assert (detail.vector_rank is None) == (detail.vector_score is None)
        if retriever.mode is not Mode.HYBRID:
            assert (detail.lexical_rank is None) == (retriever.mode is Mode.VECTOR)
            assert (detail.vector_rank is None) == (retriever.mode is Mode.LEXICAL)
        assert detail.lexical_rank is not None or detail.vector_rank is not None


def test_its_hits_name_the_index_that_it_names(retriever, workspace):
    named = {hit.index_version for hit in retriever.search(query())}
    assert named == {retriever.index_version(retriever.mode)}
    for mode in Mode:
        assert retriever.index_version(mode) == index_version(workspace, mode)


def test_each_mode_names_its_own_index(retriever):
    lexical, vector, hybrid = (retriever.index_version(mode) for mode in Mode)
    assert hybrid == f"hybrid:{lexical}+{vector}"
    assert lexical.startswith("lex-") and vector.startswith("vec-")


def test_a_deleted_document_is_not_found_before_any_mirror_follows(retriever, workspace):
    asked = query("Apfel", k=60)
    found = next(hit for hit in retriever.search(asked) if hit.doc_path == "de/apfel.md")
    delete_documents(workspace, [uuid.UUID(hex=found.doc_id)])
    hits = retriever.search(asked)
    assert found.chunk_id not in {hit.chunk_id for hit in hits}
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))


def test_a_list_is_full_again_once_its_best_are_deleted(retriever, workspace):
    best = {uuid.UUID(hex=hit.doc_id) for hit in retriever.search(query("needle", k=40))}
    delete_documents(workspace, sorted(best))
    hits = retriever.search(query("needle", k=40))
    assert len(hits) == 40 and not best & {uuid.UUID(hex=hit.doc_id) for hit in hits}


def test_a_cap_is_on_the_hits_of_one_document(retriever):
    for hits in (retriever.search(query("apple", k=30, per_file_cap=cap)) for cap in (1, 2)):
        assert len(hits) == 30 and len(set(paths(hits))) == 30


def test_the_cutoff_keeps_the_first_of_the_list(retriever):
    whole = retriever.search(query("apple", k=60))
    kept = retriever.search(query("apple", k=60, cutoff=True))
    assert 1 <= len(kept) <= 8
    assert [hit.chunk_id for hit in kept] == [hit.chunk_id for hit in whole[: len(kept)]]


def test_a_hundred_searches_leave_the_mirror_s_bytes_as_they_were(retriever, workspace):
    def contents():
        files = sorted(node.mirror_files(workspace.pk).current().parent.iterdir())
        kept = [file for file in files if not file.name.endswith("-shm")]  # who is reading, not what
        return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in kept}

    before = contents()
    assert any(name.endswith(".sqlite3") for name in before)
    for n in range(100):
        retriever.search(query(f"apple hay{n} 'needle", k=5))
    assert contents() == before


TYPED = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.sampled_from(
            [*"'\"()*:^-+{}[]\\/\0 ", "AND", "OR", "NOT", "NEAR(", "apple", "部署", "ü", "needle"]
        ),
        max_size=12,
    ).map(" ".join),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(text=TYPED)
def test_whatever_is_typed_is_answered_or_refused(retriever, text):
    try:
        hits = retriever.search(query(text, k=5))
    except SearchError as refused:
        assert refused.status == 400
    else:
        assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
