"""Topics run in a workspace: rankings, measures and hand-computed figures, under a run's settings."""

from unittest.mock import Mock

import pytest

from kebab.identity.models import Workspace
from kebab.identity.reader import OPERATOR, Reader
from search.engine.search import search
from search.evaluation.judged import DocumentName, Qrel
from search.evaluation.metrics import OWN_MEASURES
from search.evaluation.run_topics import evaluate
from search.evaluation.settings import RunSettings
from search.models import Source
from search.retrieval.errors import InvalidJudgedSet, InvalidMeasure
from search.retrieval.types import Mode
from tests.integration.search.evaluation.callers import topic
from tests.support.corpus import restrict, write
from tests.support.search import sync

# Lexical scores of four chunks lie near 0: nothing but the absence of a hit is a refusal.
LEXICAL = RunSettings.of({"mode": "lexical", "score_gate": 0})


def only(result):
    (found,) = result.topics
    return found


def test_document_is_ranked_once_at_its_best_chunk(orchard):
    found = only(evaluate(orchard, [topic("q", "apple harvest", "pears.md")], LEXICAL))
    assert [str(each.document) for each in found.ranking] == ["docs:apples.md", "docs:pears.md"]
    assert found.ranking[0].fragment == "L1-L9"
    assert 1 >= found.ranking[0].score >= found.ranking[1].score > 0
    assert found.measures["RR@10"] == 0.5
    assert (found.is_empty, found.is_refused) == (False, False)
    assert found.ms > 0
    found = only(evaluate(orchard, [topic("q", "harvest")], RunSettings.of({"mode": "lexical", "k": 1})))
    assert len(found.ranking) == 1
    found = only(evaluate(orchard, [topic("q", "harvest", filters={"path_glob": "pea*"})], LEXICAL))
    assert [each.document.path for each in found.ranking] == ["pears.md"]


def test_figures_of_four_topics_by_hand(orchard):
    topics = [
        topic("first", "apple harvest", "apples.md"), topic("second", "apple harvest", "pears.md"),
        topic("unjudged", "plum"), topic("none", "helicopter", is_unanswerable=True),
    ]  # fmt: skip
    result = evaluate(orchard, topics, LEXICAL, measures=["RR@10", "R@100"])
    figures = result.figures
    assert (figures["topics"], figures["judged"], figures["unanswerable"]) == (4, 2, 1)
    assert figures["measures"] == {
        "RR@10": 0.75, "R@100": 1.0, "citation_coverage": 1.0, "empty_rate": 0.0, "refusal_rate": 0.0,
        "refused_right": 1.0,
    }  # fmt: skip
    assert 0 < figures["p50_ms"] <= figures["p95_ms"] <= figures["p99_ms"]
    assert figures["degraded"] == {}
    assert figures["index_version"].startswith("lex-")


def test_measures_of_empty_and_unjudged_answers(orchard):
    found = only(evaluate(orchard, [topic("q", "helicopter", "apples.md")], LEXICAL))
    assert (found.ranking, found.is_empty, found.is_refused) == ((), True, True)
    assert found.measures == {
        **dict.fromkeys(("nDCG@10", "R@100", "RR@10", "P@5", "P@10", "Success@10"), 0.0),
        "citation_coverage": 0.0,
        "empty_rate": 1.0,
        "refusal_rate": 1.0,
    }
    result = evaluate(orchard, [topic("q", "plum")], LEXICAL, measures=["nDCG@10"])
    assert result.means["nDCG@10"] is None
    assert result.means["refused_right"] is None
    assert set(result.measures) == {"nDCG@10", *OWN_MEASURES}


def test_gate_refuses_and_cited_lines_count(orchard):
    topics = [topic("q", "apple harvest", "apples.md"), topic("n", "apple", is_unanswerable=True)]
    result = evaluate(orchard, topics, RunSettings.of({"mode": "lexical", "score_gate": 1.0}))
    assert [(each.is_empty, each.is_refused) for each in result.topics] == [(False, True)] * 2
    assert result.means["refusal_rate"] == result.means["refused_right"] == 1.0
    assert result.means["empty_rate"] == 0.0
    # The chunks of apples.md lie in lines 1-9 and 11-19.
    judged = [
        Qrel(path="apples.md", source="docs", fragment=each) for each in ("L9-L10", "L10", "L19", "L40")
    ]
    found = only(evaluate(orchard, [topic("q", "apple", *judged)], LEXICAL))
    assert found.measures["citation_coverage"] == 0.5
    assert found.measures["R@100"] == 1.0


def test_judgement_without_a_source_and_versions_of_documents(orchard):
    write(orchard, "apples.md", "apple harvest in another source", source="other")
    sync(orchard)
    found = only(evaluate(orchard, [topic("q", "apple harvest", Qrel(path="apples.md"))], LEXICAL))
    assert len(found.ranking) == 3
    assert (found.measures["R@100"], found.measures["RR@10"], found.measures["nDCG@10"]) == (1.0, 1.0, 1.0)


def test_a_version_of_a_document_is_another_document(orchard):
    write(orchard, "apples.md", "apple harvest", version="v2")
    sync(orchard)
    asked = {"filters": {"version": ["v2"]}}
    ranked = only(evaluate(orchard, [topic("q", "apple harvest", "apples.md", **asked)], LEXICAL))
    assert [each.document for each in ranked.ranking] == [
        DocumentName(path="apples.md", source="docs", version="v2")
    ]
    assert ranked.measures["RR@10"] == 0.0
    judged = topic("q", "apple harvest", Qrel(path="apples.md", source="docs", version="v2"), **asked)
    assert only(evaluate(orchard, [judged], LEXICAL)).measures["RR@10"] == 1


def test_run_searches_only_sources_of_its_reader(orchard):
    write(orchard, "secret.md", "apple harvest of the director", source="vault")
    restrict(Source.objects.get(workspace=orchard, key="vault"))
    sync(orchard)
    asked = [topic("q", "apple harvest")]
    shown = [
        {each.document.path for each in only(evaluate(orchard, asked, LEXICAL, reader=reader)).ranking}
        for reader in (OPERATOR, Reader())
    ]
    assert shown[0] - shown[1] == {"secret.md"}


def test_settings_reach_the_search_and_not_the_workspace(orchard):
    noting, reader = Mock(side_effect=search), Reader()
    given = {"fusion": "convex", "rrf_k": 7, "k": 5, "per_file_cap": 1, "rerank": True, "cutoff": True}
    evaluate(orchard, [topic("q", "apple")], RunSettings.of(given), reader=reader, ask=noting)
    (workspace, query), asked_as = noting.call_args.args, noting.call_args.kwargs["reader"]
    assert noting.call_count == 1
    assert (workspace.pk, workspace.settings) == (orchard.pk, {"fusion": "convex", "rrf_k": 7})
    assert (query.mode, query.per_file_cap, query.rerank, query.cutoff) == (Mode.HYBRID, 1, True, True)
    assert asked_as is reader
    # 4 chunks in 3 documents: two hits a document.
    assert query.k == 10
    assert Workspace.objects.get(pk=orchard.pk).settings == orchard.settings == {}


def test_run_uses_its_own_fusion_or_the_workspace_setting(orchard):
    def scores(settings):
        results = []

        def ask(*given, **options):
            results.append(search(*given, **options))
            return results[-1]

        only(evaluate(orchard, [topic("q", "apple harvest")], RunSettings.of(settings), ask=ask))
        return [hit.retrieval.fusion_score for hit in results[0].hits]

    assert scores({"fusion": "rrf"}) != scores({"fusion": "convex"})
    for fusion in ("rrf", "convex"):
        orchard.settings = {"fusion": fusion}
        assert scores({"fusion": fusion}) == scores({})


def test_degraded_legs_are_counted(orchard, settings):
    settings.KEBAB_EMBEDDER = "none"
    result = evaluate(orchard, [topic("a", "apple"), topic("b", "pear")], RunSettings())
    assert result.degradation_counts == {"vector": 2}


def test_advance_callback_is_called_per_topic_and_can_stop_the_run(orchard):
    steps = []

    def advance():
        steps.append(1)
        if len(steps) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(orchard, [topic(each, "apple") for each in "abc"], LEXICAL, advance=advance)
    assert len(steps) == 2
    with pytest.raises(InvalidJudgedSet, match="import or judge some first"):
        evaluate(orchard, [], LEXICAL)
    with pytest.raises(InvalidMeasure):
        evaluate(orchard, [topic("q", "apple")], LEXICAL, measures=["nDCG10"])
