"""Settings of a run: a validated mapping, applied to a copy of the workspace."""

import pytest

from kebab.identity.models import Workspace
from kebab.people.workspace_settings.registry import preference, ranking_preferences
from search.evaluation.judged import JudgedTopic
from search.evaluation.settings import RunSettings
from search.retrieval.errors import InvalidRunSetting
from search.retrieval.types import Mode

GIVEN = {
    "mode": "lexical", "k": 50, "per_file_cap": 3, "rerank": True, "cutoff": True, "fusion": "convex",
    "rrf_k": 10, "score_gate": 0.2,
}  # fmt: skip


def test_settings_are_kept_as_given_with_defaults():
    settings = RunSettings.of(GIVEN)
    assert settings.as_json() == GIVEN
    assert RunSettings.of(settings.as_json()) == settings
    assert RunSettings.of({}) == RunSettings.of({"mode": None, "fusion": None, "k": None}) == RunSettings()
    assert RunSettings().as_json() == {
        "mode": "hybrid", "k": 100, "per_file_cap": None, "rerank": False, "cutoff": False,
    }  # fmt: skip


def test_settings_reach_query_and_workspace_copy():
    workspace = Workspace(slug="w", settings={"fusion": "rrf", "default_k": 7})
    settings = RunSettings.of(GIVEN)
    applied = settings.apply_to(workspace)
    assert [preference(applied, name) for name in ("fusion", "rrf_k", "score_gate", "default_k")] == [
        "convex", 10, 0.2, 7,
    ]  # fmt: skip
    topic = JudgedTopic(topic_id="q", text="what", filters={"lang": "en"})
    query = settings.query(topic, 80)
    assert (query.text, query.mode, query.k, query.filters.lang) == ("what", Mode.LEXICAL, 80, ("en",))
    assert (query.per_file_cap, query.rerank, query.cutoff) == (3, True, True)
    workspace = Workspace(slug="w", settings={"fusion": "rrf"})
    RunSettings.of(GIVEN).apply_to(workspace)
    assert workspace.settings == {"fusion": "rrf"}
    assert preference(workspace, "rrf_k") == 60


def test_settings_that_rank_can_be_set_and_no_others(subtests):
    assert {"fusion", "rrf_k", "pre_rerank_max_per_file", "score_gate"} <= ranking_preferences()
    assert not {"default_k", "snippet_chars", "stale_after_days", "embedder"} & ranking_preferences()
    settings = RunSettings.of({name: preference(Workspace(), name) for name in ranking_preferences()})
    assert settings.preferences.keys() == ranking_preferences() - {"rules"}  # whose default is none
    cases = [
        ({"mode": "semantic"}, "mode: 'semantic' is not one of lexical, vector, hybrid"),
        ({"mode": []}, "mode: "), ({"k": 0}, "k: '0' is not a whole number from 1 to 1000"),
        ({"k": 1001}, "k: '1001'"), ({"k": True}, "k: 'True'"), ({"k": "10"}, "k: '10'"),
        ({"per_file_cap": -1}, "per_file_cap: '-1' is not a whole number from 0"),
        ({"rerank": "yes"}, "rerank: 'yes' is not true or false"),
        ({"cutoff": 1}, "cutoff: '1' is not true or false"),
        ({"fusion": "borda"}, "fusion: 'borda' is not one of"),
        ({"rrf_k": 0}, "rrf_k: 0 is not a whole number"),
        ({"score_gate": float("nan")}, "score_gate: nan is not a number from 0 to 1"),
        ({"default_k": 5}, "'default_k' is not a setting of runs; there are: mode, k"),
        ({"embedder": "hash"}, "'embedder' is not a setting of runs"),
        ({"x" * 500: 1}, "is not a setting of runs"),
    ]  # fmt: skip
    for given, message in cases:
        with subtests.test(given=given):
            with pytest.raises(InvalidRunSetting) as error:
                RunSettings.of(given)
            assert message in str(error.value)
            assert len(str(error.value)) < 500
