"""A bundle answers as the workspace did that it was written from."""

import dataclasses
import platform

import pytest

from kebab.people.reader import OPERATOR
from search.bundles import index as bundle_index
from search.bundles.searching import SearchableBundle
from search.engine import search
from search.retrieval.filters import ChunkKind, Media, SearchFilters, TrustLevel
from search.retrieval.types import Mode, SearchQuery
from search.retrieval.wire import hit_to_wire
from tests.integration.search.bundles.making import QUERIES

FILTERS = (
    {},
    {"tags_any": ("ferry", "tide")},
    {"path_glob": ("guides/00*.md",)},
    {"path_not_glob": ("guides/00*.md",)},
    {"trust_min": TrustLevel.PRIMARY},
    {"source": ("docs",)},
    {"source": ("nothing",)},
    {"version": ("v2",)},
    {"lang": ("en",)},
    {"kind": (ChunkKind.CODE,)},
    {"media": (Media.TEXT,)},
)


@pytest.fixture
def searchable(bundle):
    found = SearchableBundle(bundle)
    yield found
    found.close()


def both(workspace, searchable, **fields):
    query = SearchQuery(**fields)
    return search(workspace, query, reader=OPERATOR), searchable.search(query)


def close(one, other):
    """Whether all is equal but numbers where another processor adds up in another order."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(close(one[key], other[key]) for key in one)
    if isinstance(one, float) and isinstance(other, float) and platform.machine() != "x86_64":
        return one == pytest.approx(other, abs=1e-5)
    return one == other


@pytest.mark.parametrize("text", QUERIES)
def test_words_find_the_same_to_the_last_digit(workspace, searchable, text):
    live, still = both(workspace, searchable, text=text, mode=Mode.LEXICAL, k=30)

    assert [hit_to_wire(hit) for hit in still.hits] == [hit_to_wire(hit) for hit in live.hits]
    assert (still.seq, still.lag, still.index_version) == (live.seq, live.lag, live.index_version)
    assert (still.lexical_total, still.did_you_mean) == (live.lexical_total, live.did_you_mean)


@pytest.mark.parametrize("fusion", ["convex", "rrf"])
@pytest.mark.parametrize("mode", [Mode.VECTOR, Mode.HYBRID])
@pytest.mark.parametrize("text", QUERIES[:-1])
def test_meaning_finds_the_same(workspace, searchable, text, mode, fusion):
    live, still = both(workspace, searchable, text=text, mode=mode, fusion=fusion, k=30)

    assert [hit.chunk_id for hit in still.hits] == [hit.chunk_id for hit in live.hits]
    assert all(
        close(hit_to_wire(one), hit_to_wire(other)) for one, other in zip(still.hits, live.hits, strict=True)
    )
    assert (still.index_version, still.degraded) == (live.index_version, live.degraded)
    assert still.vector_window == live.vector_window


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_filters_narrow_the_same(workspace, searchable, filters, mode):
    narrowed = SearchFilters(**filters)
    live, still = both(workspace, searchable, text="ferry harbour", mode=mode, filters=narrowed, k=40)

    assert [hit.chunk_id for hit in still.hits] == [hit.chunk_id for hit in live.hits]


def test_a_misspelt_word_is_suggested_the_same(workspace, searchable):
    live, still = both(workspace, searchable, text="lighthuose", mode=Mode.LEXICAL)

    assert still.did_you_mean == live.did_you_mean == "lighthouse"


def test_a_list_is_explained(searchable):
    explained = searchable.search(SearchQuery(text="ferry", explain=True)).explain

    assert explained["legs"].keys() >= {"lexical", "vector"}


def test_a_cap_and_a_cutoff_hold(workspace, searchable):
    live, still = both(workspace, searchable, text="ferry tide", per_file_cap=1, cutoff=True)

    assert [hit.chunk_id for hit in still.hits] == [hit.chunk_id for hit in live.hits]


def test_without_the_model_words_alone_answer_and_it_says_so(searchable, set_embedder):
    set_embedder("none")
    result = searchable.search(SearchQuery(text="ferry"))

    assert result.degraded == ("vector",)
    assert result.hits


def test_vectors_of_another_model_are_left_out(bundle):
    found = SearchableBundle(bundle)
    found._corpus.space = dataclasses.replace(found._corpus.space, model="another")
    result = found.search(SearchQuery(text="ferry"))
    found.close()

    assert (result.degraded, bool(result.hits)) == (("vector",), True)
    assert "another" in result.warnings[0]


def test_an_index_of_another_release_is_made_anew(workspace, bundle, monkeypatch):
    monkeypatch.setattr(bundle_index, "reads_index", lambda connection: False)
    found = SearchableBundle(bundle)
    live, still = both(workspace, found, text="ferry near the lighthouse", mode=Mode.LEXICAL, k=30)
    found.close()

    assert [hit_to_wire(hit) for hit in still.hits] == [hit_to_wire(hit) for hit in live.hits]
