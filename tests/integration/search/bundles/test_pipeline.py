"""A bundle gives the same results as the workspace that it was exported from."""

import dataclasses
import platform
from itertools import product

import pytest

from kebab.people.reader import OPERATOR
from search.bundles.search import index as bundle_index
from search.bundles.search.pipeline import SearchableBundle
from search.embedders import configured
from search.engine.search import search
from search.retrieval.query.filters import ChunkKind, Media, SearchFilters, TrustLevel
from search.retrieval.types import Mode, SearchQuery
from search.retrieval.wire import hit_to_wire
from search.settings.rules import validate_rules
from tests.integration.search.bundles.factories import QUERIES

pytestmark = pytest.mark.django_db

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

OPERATORS = (
    "-lighthouse",
    '"near the ferry"',
    "tag:guide -tag:ferry",
    "title:guide path:00*.md",
    "source:secrets",
    "type:md lang:english",
    "after:2020 -path:guides/001.md",
    "before:2020",
)


@pytest.fixture
def searchable(round_trip):
    found = SearchableBundle(round_trip.file)
    yield found
    found.close()


@pytest.fixture
def both(round_trip, searchable):
    """Return a function that searches the workspace and the bundle alike."""

    def ask(**fields):
        query = SearchQuery(**fields)
        return search(round_trip.workspace, query, reader=OPERATOR), searchable.search(query)

    return ask


def is_close(one, other):
    """Compare, with a tolerance for floating-point sums in another order."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_close(one[key], other[key]) for key in one)
    if isinstance(one, float) and isinstance(other, float) and platform.machine() != "x86_64":
        return one == pytest.approx(other, abs=1e-5)
    return one == other


def ids(result):
    return [hit.chunk_id for hit in result.hits]


def wire(result):
    return [hit_to_wire(hit) for hit in result.hits]


def test_lexical_results_are_equal_to_the_last_digit(both, subtests):
    for text in QUERIES:
        with subtests.test(text=text):
            live, still = both(text=text, mode=Mode.LEXICAL, k=30)
            assert wire(still) == wire(live)
            assert (still.seq, still.lag, still.index_version) == (live.seq, live.lag, live.index_version)
            assert (still.lexical_total, still.did_you_mean) == (live.lexical_total, live.did_you_mean)


def test_related_hits_are_equal_and_left_out_with_the_floor(both):
    few_words = "ferry numismatic byzantine follis catalogue"
    live, still = both(text=few_words, mode=Mode.LEXICAL, k=5)
    assert wire(still) == wire(live) and all(hit.related for hit in still.hits)
    live, left = both(text=few_words, mode=Mode.LEXICAL, floor=True)
    assert (left.hits, left.related_total) == ((), live.related_total) and left.related_total > 0


def test_vector_and_hybrid_results_are_equal(both, subtests):
    cases = [
        *product(QUERIES[8:-1], (Mode.VECTOR, Mode.HYBRID), ("convex",)),
        *product(QUERIES[8:-1], (Mode.HYBRID,), ("rrf",)),
    ]
    for text, mode, fusion in cases:
        with subtests.test(text=text, mode=mode, fusion=fusion):
            live, still = both(text=text, mode=mode, fusion=fusion, k=30)
            assert ids(still) == ids(live)
            assert all(is_close(one, other) for one, other in zip(wire(still), wire(live), strict=True))
            assert (still.index_version, still.degraded) == (live.index_version, live.degraded)
            assert still.vector_window == live.vector_window


def test_filters_narrow_each_leg_alike(both, subtests):
    for filters in FILTERS:
        for mode in (Mode.LEXICAL, Mode.VECTOR):
            with subtests.test(filters=filters, mode=mode):
                live, still = both(text="ferry harbour", mode=mode, filters=SearchFilters(**filters), k=40)
                assert ids(still) == ids(live)


def test_operators_narrow_each_leg_alike(both, subtests):
    for typed in OPERATORS:
        for mode in Mode:
            with subtests.test(typed=typed, mode=mode):
                live, still = both(text=f"ferry harbour {typed}", mode=mode, operators=True, k=40)
                assert ids(still) == ids(live)
                assert still.warnings == live.warnings
    live, still = both(text="ferrry path:guides", mode=Mode.LEXICAL, operators=True)
    assert still.corrected_query == live.corrected_query == "ferry path:guides"


def test_cap_cutoff_and_suggestion_are_the_same(both):
    live, still = both(text="ferry tide", per_file_cap=1, cutoff=True)
    assert ids(still) == ids(live)
    live, still = both(text="lighthuose", mode=Mode.LEXICAL)
    assert still.corrected_query == live.corrected_query == "lighthouse"
    live, still = both(text="lighthuose", mode=Mode.LEXICAL, typos=False)
    assert still.did_you_mean == live.did_you_mean == "lighthouse"


def test_lexical_leg_answers_alone_for_another_model_and_without_an_embedder(searchable, settings):
    query = SearchQuery(text="ferry", explain=True)
    assert searchable.search(query).explain["legs"].keys() >= {"lexical", "vector"}
    corpus = searchable._corpus
    corpus.space = dataclasses.replace(corpus.space, model="another")
    result = searchable.search(query)
    assert (result.degraded, bool(result.hits)) == (("vector",), True)
    assert "another" in result.warnings[0]

    settings.KEBAB_EMBEDDER = "none"
    configured.clear_query_caches()
    result = searchable.search(query)
    configured.clear_query_caches()
    assert (result.degraded, bool(result.hits)) == (("vector",), True)


def test_index_of_another_release_is_rebuilt(round_trip, monkeypatch):
    monkeypatch.setattr(bundle_index, "has_readable_index", lambda connection: False)
    query = SearchQuery(text="ferry near the lighthouse", mode=Mode.LEXICAL, k=30)
    found = SearchableBundle(round_trip.file)
    still = found.search(query)
    found.close()

    assert wire(still) == wire(search(round_trip.workspace, query, reader=OPERATOR))


def test_rules_of_a_team_apply_as_in_the_workspace(round_trip, searchable, both, monkeypatch):
    pinned = both(text="lighthouse", mode=Mode.LEXICAL)[0].hits[-1].doc_id
    rules = validate_rules(
        [
            {"kind": "synonyms", "words": ["boat", "ferry"]},
            {"kind": "pin", "queries": ["boat"], "documents": [pinned]},
            {"kind": "boost", "field": "type", "value": "md", "factor": 2},
            {"kind": "answer", "queries": ["boat"], "title": "Boats"},
        ]
    )
    for workspace in (round_trip.workspace, searchable.workspace):
        monkeypatch.setitem(workspace.settings, "rules", rules)
    for mode in (Mode.LEXICAL, Mode.HYBRID):
        one, other = both(text="boat", mode=mode)
        assert ids(one) == ids(other)
        assert (other.hits[0].doc_id, other.hits[0].retrieval.pinned) == (pinned, True)
        assert [answer.title for answer in other.promoted] == ["Boats"]
        assert len(other.hits) > 1
