"""Hits in another language than the query: marked, and shown by their nearest sentence."""

import pytest

from search.embedders import configured
from search.engine import candidates
from search.retrieval.fusion.legs import pack_ids
from search.retrieval.fusion.ranking import rank_candidates
from search.retrieval.fusion.scores import ACROSS_LANGUAGES_SHARE, VECTOR_SHARE
from search.retrieval.types import Mode
from tests.support.corpus import write
from tests.support.search import ask, embed, sync
from tests.support.translating_embedder import use_translating_embedder

QUESTION = "Wie viele Urlaubstage haben Mitarbeiter?"
FILLER = "The canteen opens at noon and serves soup, bread and salad on every weekday of the year. " * 3
NEAREST = "Employees have thirty holidays."


@pytest.fixture
def embedder(monkeypatch):
    yield use_translating_embedder(monkeypatch)
    configured.clear_query_caches()


@pytest.fixture
def filled(workspace, embedder):
    write(workspace, "en.md", f"{FILLER}{NEAREST} {FILLER}", lang="en")
    write(workspace, "de.md", "Die Kantine öffnet mittags.", lang="de")
    write(workspace, "und.md", "12 34 56", lang="und")
    sync(workspace)
    embed(workspace)
    return workspace


def test_hit_in_another_language_says_so_and_shows_its_nearest_sentence(filled):
    hits = {hit.doc_path: hit for hit in ask(filled, QUESTION, Mode.HYBRID, snippet_chars=80).hits}
    assert {path: hit.other_language for path, hit in hits.items()} == {
        "en.md": True, "de.md": False, "und.md": False,
    }  # fmt: skip
    assert NEAREST in hits["en.md"].snippet


def test_sentences_are_compared_for_other_languages_only(filled, embedder):
    before = embedder.compared
    ask(filled, "When does the canteen open?", Mode.HYBRID, snippet_chars=80)
    ask(filled, QUESTION, Mode.LEXICAL, snippet_chars=80)
    ask(filled, QUESTION, Mode.HYBRID, snippet_chars=5_000)  # the whole passage fits
    assert embedder.compared == before


@pytest.mark.parametrize(
    ("text", "share"),
    [(QUESTION, VECTOR_SHARE), ("Combien de jours de congés pour les employés?", ACROSS_LANGUAGES_SHARE)],
)
def test_words_count_less_in_a_language_that_no_document_is_in(filled, monkeypatch, text, share):
    shares = []

    def spy(*args, vector_share, **options):
        shares.append(vector_share)
        return rank_candidates(*args, vector_share=vector_share, **options)

    monkeypatch.setattr(candidates, "rank_candidates", spy)
    ask(filled, text, Mode.HYBRID)
    assert set(shares) == {share}


@pytest.mark.parametrize(
    ("text", "told"), [(QUESTION, {"en.md"}), ("When does the canteen open?", {"de.md"})]
)
def test_documents_in_other_known_languages_are_told_apart(filled, monkeypatch, text, told):
    tellers = []

    def spy(*args, is_foreign, **options):
        tellers.append(is_foreign)
        return rank_candidates(*args, is_foreign=is_foreign, **options)

    monkeypatch.setattr(candidates, "rank_candidates", spy)
    hits = ask(filled, text, Mode.HYBRID).hits
    is_told = tellers[-1](pack_ids([hit.chunk_id for hit in hits])).tolist()
    assert {hit.doc_path for hit, is_other in zip(hits, is_told, strict=True) if is_other} == told


def test_nothing_is_told_apart_among_documents_of_one_language(workspace, embedder, monkeypatch):
    write(workspace, "de.md", "Die Kantine öffnet mittags.", lang="de")
    sync(workspace)
    embed(workspace)
    monkeypatch.setattr(candidates, "one_of", None)
    assert [hit.doc_path for hit in ask(workspace, "When does the canteen open?", Mode.HYBRID).hits] == [
        "de.md"
    ]
