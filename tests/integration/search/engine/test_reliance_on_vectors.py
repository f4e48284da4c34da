"""How far the vectors are relied on: not in a language that the model doesn't know, else by the fusion."""

from dataclasses import replace

import numpy as np
import pytest

from kebab.people.workspaces import store_settings
from search import engine
from search.embedders.hashing import HashEmbedder
from search.models import ChunkVector, EmbeddingSpace
from search.retrieval.convex import ScoredList, convex_combination
from search.retrieval.score import bm25_magnitude
from search.retrieval.types import Fusion, Mode
from search.vectors.spaces import live_space, note_languages
from tests.support.corpus import write, write_each
from tests.support.searching import ask, embed, paths, sync

GERMAN = "Wie viele Punkte gab die Verteidigung der Panthers ab?"
ENGLISH = "How many points did the Panthers defense surrender?"


class EnglishEmbedder(HashEmbedder):
    """Knows English alone, and remembers what it was asked to embed."""

    def __init__(self):
        super().__init__()
        self.space = replace(self.space, languages=("en",))
        self.asked = []

    def embed_query(self, text):
        self.asked.append(text)
        return super().embed_query(text)


@pytest.fixture
def english(monkeypatch):
    embedder = EnglishEmbedder()
    monkeypatch.setattr(engine, "embedder_for_queries", lambda workspace, space: embedder)
    return embedder


@pytest.fixture
def panthers(workspace, english):
    write(workspace, "de.md", "Die Verteidigung der Panthers gab nur 308 Punkte ab.", lang="de")
    write(workspace, "en.md", "The Panthers defense gave up just 308 points.", lang="en")
    write(workspace, "other.md", "Something else altogether.", lang="en")
    sync(workspace)
    embed(workspace)
    return workspace


def test_a_question_that_the_model_cannot_read_is_answered_by_its_words(panthers, english):
    result = ask(panthers, GERMAN, Mode.HYBRID)
    assert result.degraded == ("vector",)
    assert paths(result) == paths(ask(panthers, GERMAN, Mode.LEXICAL))
    assert result.hits[0].score == 1.0
    assert result.hits[0].retrieval.vector_rank is None
    assert english.asked == []


def test_a_leg_that_is_off_asks_nothing_of_the_database(panthers, settings, django_assert_max_num_queries):
    settings.KEBAB_PLAN_ONCE = False  # to plan a statement is one of its own
    with django_assert_max_num_queries(3):  # scope, read-back, hits
        ask(panthers, GERMAN, Mode.HYBRID)


def test_a_question_that_it_can_read_has_both_legs(panthers, english):
    result = ask(panthers, ENGLISH, Mode.HYBRID)
    assert result.degraded == ()
    assert result.vector_window is not None
    assert english.asked == [ENGLISH]


def test_who_asks_for_vectors_alone_gets_them_in_any_language(panthers):
    result = ask(panthers, GERMAN, Mode.VECTOR)
    assert (result.degraded, len(result.hits)) == ((), 3)


def test_the_explanation_says_why_the_vectors_took_no_part(panthers):
    explained = ask(panthers, GERMAN, Mode.HYBRID, explain=True).explain
    assert "hash knows en" in explained["off"]["vector"]
    assert "off" not in ask(panthers, ENGLISH, Mode.HYBRID, explain=True).explain


def test_words_that_could_be_of_any_language_are_taken_for_the_workspace_s(panthers, english):
    name = "Panthers"
    assert ask(panthers, name, Mode.HYBRID).degraded == ()
    EmbeddingSpace.objects.update(known_share=0.0)
    assert ask(panthers, name, Mode.HYBRID).degraded == ("vector",)


def test_the_share_of_documents_that_the_model_can_read_is_noted(panthers, english):
    space = EmbeddingSpace.objects.get()
    assert live_space(panthers).known_share is None
    note_languages(space, english.space)
    assert live_space(panthers).known_share == pytest.approx(2 / 3)
    write(panthers, "code.md", "x = 1", lang="und")
    write(panthers, "swiss.md", "Grüezi", lang="de-CH")
    note_languages(space, english.space)
    assert live_space(panthers).known_share == 2 / 4


def test_without_a_document_of_a_known_language_nothing_is_noted(workspace, english):
    write(workspace, "code.md", "x = 1", lang="und")
    note_languages(embed(workspace), english.space)
    assert live_space(workspace).known_share is None


@pytest.fixture
def orchard(workspace):
    """Documents of which the legs have different opinions."""
    texts = [f"{'apple ' * (n % 4)}{'harvest ' * (n % 3)}filler{n} words{n} {'pear ' * n}" for n in range(12)]
    write_each(workspace, texts)
    sync(workspace)
    embed(workspace)
    return workspace


def scores_alone(workspace, mode):
    return {hit.chunk_id: hit.score for hit in ask(workspace, "apple harvest", mode, k=100).hits}


def test_convex_scores_are_the_mean_of_the_legs_scaled_scores_smoothed_over_the_stored_vectors(orchard):
    vector = scores_alone(orchard, Mode.VECTOR)
    found = scores_alone(orchard, Mode.LEXICAL)
    lexical = {id_: bm25_magnitude(found.get(id_, 0.0)) for id_ in vector}
    rows = ChunkVector.objects.values_list("chunk_id", "embedding")
    stored = {id_.hex: np.array(embedding) for id_, embedding in rows}
    expected = convex_combination(
        [
            ScoredList(name="lexical", chunk_ids=list(found), scores=lexical),
            ScoredList(name="vector", chunk_ids=list(vector), scores=vector),
        ],
        vectors_of=lambda chunk_ids: {id_: stored[id_] for id_ in chunk_ids},
    )
    result = ask(orchard, "apple harvest", Mode.HYBRID, k=100, fusion=Fusion.CONVEX)
    assert [hit.chunk_id for hit in result.hits] == [each.chunk_id for each in expected]
    assert [hit.score for hit in result.hits] == pytest.approx([each.score for each in expected])


def test_every_candidate_has_both_scores_where_the_legs_overlap_only_in_part(orchard):
    result = ask(orchard, "apple harvest", Mode.HYBRID, k=5, fusion=Fusion.CONVEX, explain=True)
    scores = [each["scores"] for each in result.explain["fused"]]
    assert len(scores) == 12
    assert all(each.keys() == {"lexical", "vector"} for each in scores)
    assert {0.0} < {each["lexical"] for each in scores}


def test_the_workspace_s_fusion_is_used_and_a_request_goes_before_it(orchard):
    convex = ask(orchard, "apple harvest", Mode.HYBRID)
    store_settings(orchard, {"fusion": "rrf"})
    orchard.refresh_from_db()
    rrf = ask(orchard, "apple harvest", Mode.HYBRID)
    assert [hit.score for hit in convex.hits] != [hit.score for hit in rrf.hits]
    assert ask(orchard, "apple harvest", Mode.HYBRID, fusion=Fusion.RRF).hits == rrf.hits
    assert ask(orchard, "apple harvest", Mode.HYBRID, fusion=Fusion.CONVEX).hits == convex.hits


def test_a_fusion_changes_nothing_in_a_single_mode(orchard):
    for mode in (Mode.LEXICAL, Mode.VECTOR):
        rrf, convex = (ask(orchard, "apple harvest", mode, fusion=fusion) for fusion in Fusion)
        assert rrf.hits == convex.hits


def test_a_chunk_without_a_vector_is_weighed_by_its_words(orchard):
    write(orchard, "new.md", "apple harvest apple harvest")
    sync(orchard)
    result = ask(orchard, "apple harvest", Mode.HYBRID, k=100, fusion=Fusion.CONVEX)
    new = next(hit for hit in result.hits if hit.doc_path == "new.md")
    assert new.retrieval.vector_rank is None
    assert 0 < new.score < 1


def test_without_vectors_convex_gives_the_order_of_the_words(workspace):
    write_each(workspace, ["apple", "apple harvest", "harvest of pears and more"])
    sync(workspace)
    convex = ask(workspace, "apple harvest", Mode.HYBRID, fusion=Fusion.CONVEX)
    assert paths(convex) == paths(ask(workspace, "apple harvest"))
