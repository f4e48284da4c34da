"""Vectors are not used for a question in a language that the model does not know."""

from dataclasses import replace

import pytest

from search.embedders.hash_embedder import HashEmbedder
from search.engine import candidates
from search.models import Document, EmbeddingSpace
from search.retrieval.types import Mode
from search.vectors.spaces import live_space, update_known_share
from tests.support.corpus import write
from tests.support.search import ask, embed, paths

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


@pytest.fixture(autouse=True)
def english(monkeypatch):
    embedder = EnglishEmbedder()
    monkeypatch.setattr(candidates, "embedder_for_queries", lambda workspace, space: embedder)
    return embedder


def fill(workspace):
    write(workspace, "de.md", "Die Verteidigung der Panthers gab nur 308 Punkte ab.", lang="de")
    write(workspace, "en.md", "The Panthers defense gave up just 308 points.", lang="en")
    write(workspace, "other.md", "Something else altogether.", lang="en")


def test_question_in_an_unsupported_language_uses_the_lexical_leg_only(filled, english):
    result = ask(filled, GERMAN, Mode.HYBRID, explain=True)
    assert result.degraded == ("vector",)
    assert paths(result) == paths(ask(filled, GERMAN, Mode.LEXICAL))
    assert result.hits[0].retrieval.fusion_score == 1.0
    assert result.hits[0].retrieval.vector_rank is None
    assert "hash knows (en)" in result.explain["off"]["vector"]
    assert result.warnings == (result.explain["off"]["vector"],)
    assert english.asked == []


def test_leg_that_is_off_sends_no_statement(filled, settings, django_assert_max_num_queries):
    settings.KEBAB_PLAN_ONCE = False  # to plan a statement is one of its own
    with django_assert_max_num_queries(2):  # scope, hits
        ask(filled, GERMAN, Mode.HYBRID)


def test_question_in_a_supported_language_uses_both_legs(filled, english):
    result = ask(filled, ENGLISH, Mode.HYBRID, explain=True)
    assert result.degraded == ()
    assert result.vector_window is not None
    assert "off" not in result.explain
    assert english.asked == [ENGLISH]


def test_search_by_vectors_alone_answers_in_any_language(filled):
    result = ask(filled, GERMAN, Mode.VECTOR)
    assert (result.degraded, len(result.hits)) == ((), 3)


def test_undetermined_query_language_defaults_to_the_workspace_language(filled):
    assert ask(filled, "Panthers", Mode.HYBRID).degraded == ()
    EmbeddingSpace.objects.in_workspace(filled).update(known_share=0.0)
    assert ask(filled, "Panthers", Mode.HYBRID).degraded == ("vector",)


def test_share_of_documents_that_the_model_can_read_is_noted(filled, english):
    space = EmbeddingSpace.objects.in_workspace(filled).get()
    assert live_space(filled).known_share is None
    update_known_share(space, english.space)
    assert live_space(filled).known_share == pytest.approx(2 / 3)
    write(filled, "code.md", "x = 1", lang="und")
    write(filled, "swiss.md", "Grüezi", lang="de-CH")
    update_known_share(space, english.space)
    assert live_space(filled).known_share == 3 / 5


def test_texts_of_no_clear_language_never_disable_the_vectors(filled, english):
    Document.objects.filter(workspace=filled, lang="en").update(lang="und")
    space = EmbeddingSpace.objects.in_workspace(filled).get()
    update_known_share(space, english.space)
    assert ask(filled, "annual leave", Mode.HYBRID).degraded == ()
    Document.objects.filter(workspace=filled).update(lang="de")
    update_known_share(space, english.space)
    assert ask(filled, "annual leave", Mode.HYBRID).degraded == ("vector",)


def test_known_share_is_unset_without_a_document_of_a_known_language(workspace, english):
    write(workspace, "code.md", "x = 1", lang="und")
    update_known_share(embed(workspace), english.space)
    assert live_space(workspace).known_share is None
