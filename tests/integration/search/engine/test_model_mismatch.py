"""Vectors of another model than the queries' are reported in every interface."""

import logging

import pytest

from kebab.health.checks import CheckStatus
from kebab.identity.reader import Reader
from search.engine.retrievers import HybridRetriever, LexicalRetriever, VectorRetriever
from search.mirror import checks
from search.models import EmbeddingSpace
from search.retrieval.types import Mode
from tests.support.corpus import make_workspace, write
from tests.support.search import ask, embed, sync

MODELS = ("hash@0", "hash@1")


@pytest.fixture
def outdated_workspace(workspace):
    write(workspace, "a.md", "apple")
    sync(workspace)
    embed(workspace)
    EmbeddingSpace.objects.in_workspace(workspace).update(revision="0")
    return workspace


def test_vector_retriever_reports_a_model_mismatch_on_creation(outdated_workspace, caplog):
    for made in (HybridRetriever, VectorRetriever):
        caplog.clear()
        mismatch = made(outdated_workspace, Reader()).mismatch
        assert all(model in mismatch and model in caplog.text for model in MODELS)
        assert "KEBAB_EMBEDDER" in caplog.text
    caplog.clear()
    assert LexicalRetriever(outdated_workspace, Reader()).mismatch is None
    assert (ask(outdated_workspace, "apple").warnings, caplog.text) == ((), "")


def test_model_mismatch_is_logged_once_and_warned_of_in_every_response(outdated_workspace, caplog):
    caplog.set_level(logging.WARNING)
    for mode in (Mode.HYBRID, Mode.VECTOR, Mode.HYBRID):
        result = ask(outdated_workspace, "apple", mode)
        (warning,) = result.warnings
        assert all(model in warning for model in MODELS)
        assert result.degraded == ("vector",)
    (record,) = [record for record in caplog.records if warning in record.message]
    assert str(outdated_workspace.pk) in record.message


def test_doctor_names_the_workspace_and_the_remedy(outdated_workspace):
    sound = make_workspace()
    write(sound, "a.md", "apple")
    embed(sound)
    make_workspace()  # has no vectors
    found = {check.name: check for check in checks.check_models(repair=False)}
    assert found.keys() == {f"model of {outdated_workspace.slug}", f"model of {sound.slug}"}
    wrong = found[f"model of {outdated_workspace.slug}"]
    assert wrong.status is CheckStatus.FAILED
    assert all(model in wrong.detail for model in MODELS)
    assert "KEBAB_EMBEDDER" in wrong.remedy
    assert found[f"model of {sound.slug}"].status is CheckStatus.OK


def test_matching_or_missing_models_are_not_reported(outdated_workspace, set_embedder, caplog):
    sound = make_workspace()
    write(sound, "a.md", "apple")
    embed(sound)
    assert HybridRetriever(sound, Reader()).mismatch is None
    assert ask(sound, "apple", Mode.HYBRID).warnings == ()
    set_embedder("none")
    assert HybridRetriever(outdated_workspace, Reader()).mismatch is None
    assert list(checks.check_models(repair=False)) == []
    assert "hash@" not in caplog.text
