"""What every retriever promises, whatever it finds chunks by."""

import pytest

from search.engine import index_version
from search.retrieval.filters import SearchFilters
from search.retrieval.types import Mode, SearchQuery
from search.retrievers import HybridRetriever, LexicalRetriever, VectorRetriever
from tests.corpus.making import make_workspace, write
from tests.search.asking import embed, sync

RETRIEVERS = [LexicalRetriever, VectorRetriever, HybridRetriever]


@pytest.fixture(params=RETRIEVERS, ids=lambda each: each.__name__)
def retriever(request, workspace):
    other = make_workspace()
    write(other, "theirs.md", "apple secret")
    for n in range(30):
        write(workspace, f"{'even' if n % 2 == 0 else 'odd'}/{n}.md", "apple " + "pear " * (n % 5))
    for each in (workspace, other):
        sync(each)
        embed(each)
    return request.param(workspace)


def query(text="apple pear", mode=Mode.HYBRID, **options):
    return SearchQuery(text=text, mode=mode, **options)


def test_it_answers_in_its_own_mode_whatever_the_query_names(retriever):
    for mode in Mode:
        assert {hit.retrieval.method for hit in retriever.search(query(mode=mode))} == {retriever.mode}


def test_ranks_count_from_one_without_holes(retriever):
    assert [hit.rank for hit in retriever.search(query(k=25))] == list(range(1, 26))


def test_scores_lie_between_nought_and_one_and_never_rise(retriever):
    scores = [hit.score for hit in retriever.search(query(k=100))]
    assert all(0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)


def test_no_chunk_comes_twice(retriever):
    ids = [hit.chunk_id for hit in retriever.search(query(k=100))]
    assert len(ids) == len(set(ids)) == 30


def test_a_shorter_list_is_the_start_of_a_longer_one(retriever):
    longer = retriever.search(query(k=20))
    assert [hit.chunk_id for hit in retriever.search(query(k=5))] == [hit.chunk_id for hit in longer[:5]]


def test_the_same_query_gives_the_same_hits(retriever):
    assert retriever.search(query()) == retriever.search(query())


def test_nothing_of_another_workspace_is_found(retriever):
    hits = retriever.search(query("secret apple", k=100))
    assert {hit.doc_path.split("/")[0] for hit in hits} == {"even", "odd"}


def test_filters_hold(retriever):
    hits = retriever.search(query(filters=SearchFilters(path_glob=("odd/*",)), k=100))
    assert len(hits) == 15
    assert all(hit.doc_path.startswith("odd/") for hit in hits)


def test_a_blank_query_finds_nothing(retriever):
    assert retriever.search(query("  ")) == []


def test_every_hit_says_where_it_stands(retriever):
    for hit in retriever.search(query(k=100)):
        assert hit.citation.uri.startswith(hit.doc_path)
        assert all(0 <= start < end <= len(hit.snippet) for start, end in hit.highlights)
        assert (hit.retrieval.lexical_rank is None) == (retriever.mode is Mode.VECTOR)
        assert (hit.retrieval.vector_rank is None) == (retriever.mode is Mode.LEXICAL)


def test_its_hits_name_the_index_that_it_names(retriever, workspace):
    assert {hit.index_version for hit in retriever.search(query())} == {
        retriever.index_version(retriever.mode)
    }
    for mode in Mode:
        assert retriever.index_version(mode) == index_version(workspace, mode)
