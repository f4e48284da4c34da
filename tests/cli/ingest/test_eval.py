"""`kebab eval --beir` from a folder in BEIR's layout to figures."""

import pytest
from django.core.management.base import CommandError

from ingest.cli.evaluation import beir as judged_set
from kebab.identity.models import Workspace
from search.corpus import replace_document
from search.embedders.configured import workspace_embedder
from search.embedders.hash_embedder import HashEmbedder
from search.evaluation.judged import JudgedTopic
from search.evaluation.run_topics import evaluate
from search.evaluation.settings import RunSettings
from search.retrieval.types import Mode
from search.vectors.spaces import ensure_live_space
from tests.cli.commands import error_of, run, run_json
from tests.cli.ingest.beir_folder import DOCUMENTS, QRELS, QUERIES, write_beir
from tests.support.corpus import draft, make_place, make_workspace
from tests.support.mirrors import sync_in_this_thread
from tests.support.search import sync


@pytest.fixture
def folder(tmp_path):
    return write_beir(tmp_path / "fruit", DOCUMENTS, QUERIES, QRELS)


@pytest.fixture(autouse=True)
def _one_transaction(db, mirrors, settings, monkeypatch):
    """Keep the scratch workspace in the test's own transaction, as `workspace` is."""
    settings.KEBAB_PARSERS = 1
    sync_in_this_thread(monkeypatch)


def test_each_mode_has_its_figures_and_the_workspace_is_deleted(folder):
    report = run_json("eval", "--beir", str(folder))
    record, lexical = report["record"], report["runs"]["lexical"]
    assert (report["schema_version"], report["set"]) == ("eval.v1", folder.name)
    assert list(report["runs"]) == ["lexical", "vector", "hybrid"]
    measures = ("nDCG@10", "R@10", "R@100", "RR@10")
    assert {name: lexical[name] for name in measures} == dict.fromkeys(measures, 1.0)
    assert 0 < lexical["p50_ms"] <= lexical["p95_ms"]
    assert report["runs"]["hybrid"]["index_version"].startswith("hybrid:lex-")
    assert not Workspace.objects.exists()

    assert (record["settings"]["fusion"], record["settings"]["embedder"]) == ("convex", "hash")
    assert (record["set"]["documents"], record["set"]["topics"], record["set"]["judgements"]) == (4, 3, 3)
    assert record["set"]["sha256"].keys() == {"corpus.jsonl", "queries.jsonl", "qrels/test.tsv"}
    assert (record["k"], record["refused"]) == (100, {})


def test_options_choose_modes_fusions_queries_and_depth(folder):
    (folder / "qrels" / "test.tsv").write_text(QRELS.replace("q1\tapples", "q1\tpears/1"))  # found second
    options = ["--modes", "lexical,hybrid", "--fusion", "rrf,convex", "--queries", "2", "--k", "1"]
    report = run_json("eval", "--beir", str(folder), *options)
    record, runs = report["record"], report["runs"]
    assert {name: found["fusion"] for name, found in runs.items()} == {
        "lexical": None,
        "hybrid-rrf": "rrf",
        "hybrid-convex": "convex",
    }
    assert record["set"]["topics"] == record["machine"]["queries"] == 2
    assert runs["lexical"]["R@100"] == 0.5


@pytest.mark.parametrize("chosen", ["hash", "hash:32"])
def test_every_run_embeds_its_queries_itself_whichever_embedder_makes_the_vectors(
    monkeypatch, settings, chosen
):
    asked, real = [], HashEmbedder.embed_query

    def note_text(self, text):
        asked.append(text)
        return real(self, text)

    monkeypatch.setattr(HashEmbedder, "embed_query", note_text)
    settings.KEBAB_EMBEDDERS = ["hash:32"]
    workspace = make_workspace(settings={"embedder": chosen})
    replace_document(make_place(workspace), draft("apple harvest"))
    sync(workspace)
    ensure_live_space(workspace, workspace_embedder(workspace).space)
    topics = [JudgedTopic(topic_id=id_, text=text) for id_, text in QUERIES.items()]
    for mode in (Mode.VECTOR, Mode.HYBRID):
        asked.clear()
        evaluate(workspace, topics, RunSettings(mode=mode))
        assert asked == list(QUERIES.values())


def test_invalid_number_of_queries_and_folder_are_refused(folder):
    with pytest.raises(CommandError, match="--queries"):
        run("eval", "--beir", str(folder), "--queries", "0")
    (folder / "qrels" / "test.tsv").unlink()
    error = error_of("eval", "--beir", str(folder), code=2)
    assert (error["code"], "qrels/test.tsv" in error["message"]) == ("invalid_judged_set", True)


@pytest.mark.slow
def test_people_get_a_table_and_the_workspace_is_deleted_when_the_measurement_fails(folder, monkeypatch):
    code, out, _ = run("eval", "--beir", str(folder), "--modes", "lexical")
    assert (code, folder.name in out, "nDCG@10" in out) == (0, True, True)

    def fail(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(judged_set, "evaluate", fail)
    assert run("eval", "--beir", str(folder))[0] == 130
    assert not Workspace.objects.exists()


@pytest.mark.slow
def test_without_an_embedder_only_words_are_searched(folder, settings):
    settings.KEBAB_EMBEDDER = "none"
    report = run_json("eval", "--beir", str(folder))
    assert report["record"]["space"] is None
    assert report["runs"]["vector"]["degraded"] == {"vector": 3}
    assert report["runs"]["hybrid"]["nDCG@10"] == 1.0
