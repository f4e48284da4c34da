"""Vectors of another model than queries are embedded with are flagged wherever somebody looks."""

import logging

import pytest

from kebab.health.checks import CheckStatus
from kebab.people.reader import Reader
from search import checks
from search.models import EmbeddingSpace
from search.retrieval.types import Mode
from search.retrievers import HybridRetriever, LexicalRetriever, VectorRetriever
from tests.support.corpus import make_workspace, write
from tests.support.searching import ask, embed, sync

SAID = "The vectors are hash@0's, queries would be hash@1's: the vector leg is off."


@pytest.fixture
def outdated(workspace):
    write(workspace, "a.md", "apple")
    sync(workspace)
    embed(workspace)
    EmbeddingSpace.objects.in_workspace(workspace).update(revision="0")
    return workspace


@pytest.mark.parametrize("made", [HybridRetriever, VectorRetriever])
def test_a_retriever_flags_them_when_it_is_made(outdated, made, caplog):
    assert made(outdated, Reader()).mismatch == SAID
    assert f"{SAID} Set KEBAB_EMBEDDER back" in caplog.text


def test_words_alone_have_no_model(outdated, caplog):
    assert LexicalRetriever(outdated, Reader()).mismatch is None
    assert ask(outdated, "apple").warnings == ()
    assert SAID not in caplog.text


def test_the_log_has_them_once_and_every_answer_does(outdated, caplog):
    caplog.set_level(logging.WARNING)
    for mode in (Mode.HYBRID, Mode.VECTOR, Mode.HYBRID):
        result = ask(outdated, "apple", mode)
        assert (result.warnings, result.degraded) == ((SAID,), ("vector",))
    (record,) = [record for record in caplog.records if SAID in record.message]
    assert str(outdated.pk) in record.message


def test_doctor_names_the_workspace_and_the_remedy(outdated):
    sound = make_workspace()
    write(sound, "a.md", "apple")
    embed(sound)
    make_workspace()  # has no vectors
    found = {check.name: check for check in checks.check_models(repair=False)}

    assert found.keys() == {f"model of {outdated.slug}", f"model of {sound.slug}"}
    wrong = found[f"model of {outdated.slug}"]
    assert (wrong.status, wrong.detail) == (CheckStatus.FAILED, SAID)
    assert "KEBAB_EMBEDDER" in wrong.remedy
    assert found[f"model of {sound.slug}"].status is CheckStatus.OK


def test_where_the_models_agree_nothing_is_flagged(workspace, caplog):
    write(workspace, "a.md", "apple")
    embed(workspace)

    assert HybridRetriever(workspace, Reader()).mismatch is None
    assert ask(workspace, "apple", Mode.HYBRID).warnings == ()
    assert "vectors are" not in caplog.text


def test_without_an_embedder_there_is_no_other_model(outdated, set_embedder):
    set_embedder("none")

    assert HybridRetriever(outdated, Reader()).mismatch is None
    assert list(checks.check_models(repair=False)) == []
