"""`kebab eval` from a folder in BEIR's layout to figures."""

import json

import pytest
from django.core.management.base import CommandError

from ingest.cli.evaluation import beir as judged_set
from ingest.cli.judged_documents import Loader
from kebab.people.models import Workspace
from search.corpus import replace_document
from search.embedders.hashing import HashEmbedder
from search.embedding import wanted_embedder
from search.evaluation.beir import JudgedDocument
from search.evaluation.judged import JudgedTopic
from search.evaluation.running import evaluate
from search.evaluation.settings import RunSettings
from search.models import Chunk, Document
from search.retrieval.types import Mode
from search.vectors.spaces import ensure_live_space
from tests.cli.running import error_of, run, run_json
from tests.support.corpus import draft, make_place, make_workspace
from tests.support.mirrors import sync_in_this_thread
from tests.support.searching import sync

SENTENCE = "The committee met again and adjourned without deciding anything of note. "
DOCUMENTS = [
    {"_id": "apples", "title": "Apples", "text": "apple harvest in autumn"},
    {"_id": "pears/1", "title": "", "text": "pear harvest in late summer"},
    {"_id": "empty", "title": "", "text": ""},
    {"_id": "long", "title": "Minutes", "text": SENTENCE * 60 + "A quince was mentioned in the end."},
]
QUERIES = {"q1": "apple harvest", "q2": "quince", "q3": "pear summer", "unjudged": "nothing"}
QRELS = "query-id\tcorpus-id\tscore\nq1\tapples\t1\nq2\tlong\t1\nq3\tpears/1\t1\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, DOCUMENTS)))
    queries = [json.dumps({"_id": id_, "text": text}) for id_, text in QUERIES.items()]
    (tmp_path / "queries.jsonl").write_text("\n".join(queries))
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text(QRELS)
    return tmp_path


@pytest.fixture(autouse=True)
def _one_transaction(db, mirrors, settings, monkeypatch):
    """The scratch workspace lives in the test's own transaction, as `workspace` does."""
    settings.KEBAB_LEG_LIMIT_MS = 60_000
    settings.KEBAB_PARSERS = 1
    sync_in_this_thread(monkeypatch)


def test_each_mode_has_its_figures_and_the_workspace_is_gone(folder):
    report = run_json("eval", "--beir", str(folder))
    assert (report["schema_version"], report["set"]) == ("eval.v1", folder.name)
    assert list(report["runs"]) == ["lexical", "vector", "hybrid"]
    lexical = report["runs"]["lexical"]
    assert {name: lexical[name] for name in ("nDCG@10", "R@10", "R@100", "RR@10")} == dict.fromkeys(
        ("nDCG@10", "R@10", "R@100", "RR@10"), 1.0
    )
    assert 0 < lexical["p50_ms"] <= lexical["p95_ms"]
    assert lexical["degraded"] == {}
    assert report["runs"]["hybrid"]["index_version"].startswith("hybrid:lex-")
    assert not Workspace.objects.exists()


def test_the_record_names_what_a_repetition_needs(folder):
    record = run_json("eval", "--beir", str(folder), "--modes", "lexical")["record"]
    assert record["code"]["version"]
    assert record["settings"]["fusion"] == "convex"
    assert record["settings"]["embedder"] == "hash"
    assert record["space"].startswith("hash@")
    assert (record["set"]["documents"], record["set"]["topics"], record["set"]["judgements"]) == (4, 3, 3)
    assert record["set"]["sha256"].keys() == {"corpus.jsonl", "queries.jsonl", "qrels/test.tsv"}
    assert record["machine"]["documents"] == 4
    assert (record["k"], record["refused"]) == (100, {})


def test_modes_and_fusions_are_those_asked_for(folder):
    named = ["--modes", "vector,hybrid", "--fusion", "rrf,convex"]
    runs = run_json("eval", "--beir", str(folder), *named)["runs"]
    assert {name: found["fusion"] for name, found in runs.items()} == {
        "vector": None,
        "hybrid-rrf": "rrf",
        "hybrid-convex": "convex",
    }
    (only,) = run_json("eval", "--beir", str(folder), "--modes", "hybrid", "--fusion", "convex")[
        "runs"
    ].items()
    assert (only[0], only[1]["fusion"]) == ("hybrid", "convex")


@pytest.mark.parametrize("chosen", ["hash", "hash:32"])
def test_every_run_embeds_its_queries_itself_whichever_embedder_makes_the_vectors(
    folder, monkeypatch, settings, chosen
):
    asked, real = [], HashEmbedder.embed_query

    def noted(self, text):
        asked.append(text)
        return real(self, text)

    monkeypatch.setattr(HashEmbedder, "embed_query", noted)
    settings.KEBAB_EMBEDDERS = ["hash:32"]
    workspace = make_workspace(settings={"embedder": chosen})
    place = make_place(workspace)
    replace_document(place, draft("apple harvest"))
    sync(workspace)
    ensure_live_space(workspace, wanted_embedder(workspace).space)
    topics = [JudgedTopic(topic_id=id_, text=text) for id_, text in QUERIES.items()]
    for mode in (Mode.VECTOR, Mode.HYBRID):
        asked.clear()
        evaluate(workspace, topics, RunSettings(mode=mode))
        assert asked == list(QUERIES.values())


def test_only_so_many_queries_are_asked(folder):
    record = run_json("eval", "--beir", str(folder), "--modes", "lexical", "--queries", "2")["record"]
    assert record["set"]["topics"] == record["machine"]["queries"] == 2


def test_only_so_many_documents_are_ranked(folder):
    (folder / "qrels" / "test.tsv").write_text("q1\tpears/1\t1\n")  # second for "apple harvest"
    lexical = ["--modes", "lexical"]
    assert run_json("eval", "--beir", str(folder), *lexical)["runs"]["lexical"]["R@100"] == 1.0
    assert run_json("eval", "--beir", str(folder), *lexical, "--k", "1")["runs"]["lexical"]["R@100"] == 0.0


def test_people_get_a_table(folder):
    code, out, err = run("eval", "--beir", str(folder), "--modes", "lexical")
    assert code == 0
    assert f"{folder.name}: 4 documents, 3 queries" in out
    assert "nDCG@10" in out
    assert "Loading" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--modes", "lexical,semantic"], "semantic"),
        (["--fusion", "borda"], "borda"),
        (["--k", "0"], "out of range"),
        (["--k", "1001"], "out of range"),
        (["--queries", "0"], "out of range"),
    ],
)
def test_a_wrong_argument_is_told(folder, arguments, said):
    with pytest.raises(CommandError, match=said):
        run("eval", "--beir", str(folder), *arguments)


def test_a_folder_that_is_no_set_is_refused(tmp_path):
    error = error_of("eval", "--beir", str(tmp_path), code=2)
    assert error["code"] == "invalid_judged_set"
    assert "qrels/test.tsv" in error["message"]


def test_the_workspace_goes_when_the_measurement_fails(folder, monkeypatch):
    def fail(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(judged_set, "evaluate", fail)
    code, _, _ = run("eval", "--beir", str(folder))
    assert code == 130
    assert not Workspace.objects.exists()


@pytest.fixture
def loaded():
    workspace = make_workspace()
    documents = [JudgedDocument(doc_id=row["_id"], title=row["title"], text=row["text"]) for row in DOCUMENTS]
    steps = []
    return workspace, Loader(workspace).load(documents, lambda: steps.append(1)), steps


def test_every_document_is_taken_under_its_own_name_also_an_empty_one(loaded):
    workspace, found, steps = loaded
    ids = {doc_id.hex for doc_id in Document.objects.in_workspace(workspace).values_list("doc_id", flat=True)}
    assert found.names.keys() == ids
    assert sorted(found.names.values()) == sorted(row["_id"] for row in DOCUMENTS)
    assert (found.refused, len(steps)) == ({}, 4)


def test_a_title_that_is_not_stated_is_not_made_up(loaded):
    workspace, _, _ = loaded
    chunks = Chunk.objects.in_workspace(workspace).filter(text__contains="pear")
    assert [(each.breadcrumb, each.document.title) for each in chunks] == [("", "")]


def test_a_long_document_is_cut_as_any_other(loaded):
    workspace, _, _ = loaded
    chunks = Chunk.objects.in_workspace(workspace).filter(document__title="Minutes")
    assert chunks.count() > 2
    assert {each.breadcrumb for each in chunks} == {"Minutes"}


def test_what_no_parser_reads_is_told(monkeypatch):
    workspace = make_workspace()
    binary = JudgedDocument(doc_id="binary", title="", text="\x00\x01\x02" * 100)
    found = Loader(workspace).load([binary], lambda: None)
    assert found.names == {}
    assert found.refused.keys() == {"binary"}


def test_without_an_embedder_only_words_are_searched(folder, settings, monkeypatch):
    settings.KEBAB_EMBEDDER = "none"
    report = run_json("eval", "--beir", str(folder))
    assert report["record"]["space"] is None
    assert report["runs"]["vector"]["degraded"] == {"vector": 3}
    assert report["runs"]["hybrid"]["nDCG@10"] == 1.0
