"""Stored runs: executed, resumed, repeated, exported, compared, and their visibility."""

from unittest.mock import Mock

import pytest

from kebab.errors import Conflict, NotFound
from kebab.identity.models import AuditEvent, Group
from kebab.identity.reader import OPERATOR, Reader
from search.embedders.configured import clear_query_caches
from search.engine.search import search
from search.evaluation.judged import Qrel
from search.evaluation.metrics import DEFAULT_MEASURES
from search.evaluation.run_topics import evaluate
from search.evaluation.runs import (
    compare_runs,
    delete_run,
    end_run,
    execute_run,
    format_trec_run,
    get_run,
    measure_values,
    open_run,
    reopen_run,
    repeat_run,
    topics_in_run,
    visible_runs,
)
from search.evaluation.settings import RunSettings
from search.evaluation.topic_sets import delete_topics, judged_topics, store_topics
from search.models import Run, RunState, RunTopic, Source
from search.retrieval.errors import EmbedderUnavailable, InvalidComparison, InvalidJudgedSet, InvalidMeasure
from tests.integration.search.evaluation.callers import token_of, topic
from tests.support.corpus import restrict, write
from tests.support.search import sync

TOPICS = [
    topic("apples", "apple harvest", "apples.md", Qrel(path="pears.md", source="docs", grade=2)),
    topic("lines", "plum jam", Qrel(path="plums.md", source="docs", fragment="L1-L9")),
    topic("none", "helicopter", is_unanswerable=True),
    topic("a b", "pear", Qrel(path="pears.md")),
]
LEXICAL = RunSettings.of({"mode": "lexical", "score_gate": 0})


def finished_run(access, topics=TOPICS, settings=LEXICAL, **fields):
    run = open_run(access, topics, settings, **{"topic_set": "golden", **fields})
    return execute_run(run, reader=access.reader)


def test_run_keeps_its_topics_when_the_set_is_deleted(access):
    store_topics(access, TOPICS)
    run = open_run(access, judged_topics(access), LEXICAL, topic_set="golden", name="before")
    delete_topics(access, "golden")
    assert (run.state, run.name, run.created_by) == (RunState.QUEUED, "before", access.actor)
    assert run.measures == list(DEFAULT_MEASURES)
    assert sorted(each.topic_id for each in topics_in_run(run)) == ["a b", "apples", "lines", "none"]
    assert execute_run(run, reader=OPERATOR).state == RunState.SUCCEEDED


def test_stored_run_equals_the_evaluation(orchard, access):
    run, result = finished_run(access), evaluate(orchard, TOPICS, LEXICAL)
    assert measure_values(run) == {each.topic.topic_id: each.measures for each in result.topics}
    measured = {name: each for name, each in run.figures.items() if not name.endswith("_ms")}
    assert measured == {name: each for name, each in result.figures.items() if not name.endswith("_ms")}
    assert run.figures["p50_ms"] > 0
    assert topics_in_run(run) == TOPICS
    rows = RunTopic.objects.filter(run=run.pk).order_by("ordinal")
    assert [len(each.ranking) for each in rows] == [len(each.ranking) for each in result.topics]
    assert rows[0].ranking[0] == ["docs", "", "apples.md", "L1-L9", pytest.approx(rows[0].ranking[0][4])]
    assert (rows[2].is_empty, rows[2].is_refused, rows[0].is_empty) == (True, True, False)


def test_run_record_holds_settings_versions_and_digests(orchard, access):
    run = finished_run(access, settings=RunSettings.of({"fusion": "convex", "rrf_k": 7}))
    record = run.record
    assert (
        record["run"]
        == run.settings
        == {
            "mode": "hybrid", "k": 100, "per_file_cap": None, "rerank": False, "cutoff": False,
            "fusion": "convex", "rrf_k": 7,
        }
    )  # fmt: skip
    assert (record["settings"]["fusion"], record["settings"]["rrf_k"]) == ("convex", 7)
    assert record["code"]["version"] and record["space"].startswith("hash@")
    assert record["index_versions"] == [run.figures["index_version"]]
    assert (record["set"]["documents"], record["set"]["topics"], record["set"]["judgements"]) == (3, 4, 4)
    assert {"cores", "postgres", "python"} <= record["machine"].keys()
    orchard.refresh_from_db()
    assert orchard.settings == {}


def test_run_digests_change_with_topics_and_judgements(access):
    digests = finished_run(access).record["set"]["sha256"]
    assert finished_run(access, TOPICS[::-1]).record["set"]["sha256"] == digests
    reworded = finished_run(access, [*TOPICS[:3], topic("a b", "pears", Qrel(path="pears.md"))])
    assert reworded.record["set"]["sha256"]["topics"] != digests["topics"]
    assert reworded.record["set"]["sha256"]["qrels"] == digests["qrels"]
    rejudged = finished_run(access, [*TOPICS[:3], topic("a b", "pear", Qrel(path="pears.md", grade=2))])
    assert rejudged.record["set"]["sha256"]["topics"] == digests["topics"]
    assert rejudged.record["set"]["sha256"]["qrels"] != digests["qrels"]


def test_a_repetition_gives_the_same_values(access):
    store_topics(access, TOPICS)
    first = finished_run(access, judged_topics(access), RunSettings.of({"fusion": "convex"}), name="nightly")
    delete_topics(access, "golden")
    again = execute_run(repeat_run(access, first), reader=OPERATOR)
    assert (again.name, again.settings, again.measures) == ("nightly", first.settings, first.measures)
    assert measure_values(again) == measure_values(first)
    assert again.record["set"] == first.record["set"]
    assert again.pk != first.pk


class Killed(Exception):
    pass


class Stopping:
    """Counts its calls, and stops at one of them."""

    def __init__(self, at):
        self.at, self.calls = at, 0

    def __call__(self):
        self.calls += 1
        if self.calls == self.at:
            raise Killed


def test_interrupted_run_resumes_at_the_next_topic(access):
    run = open_run(access, TOPICS, LEXICAL, topic_set="golden")
    with pytest.raises(Killed):
        execute_run(run, reader=OPERATOR, advance=Stopping(at=3))
    # The third was not counted, so it is not kept either.
    assert Run.objects.get().state == RunState.RUNNING
    assert RunTopic.objects.filter(ranking__isnull=True).count() == 2
    steps = Stopping(at=0)
    assert execute_run(run, reader=OPERATOR, advance=steps).state == RunState.SUCCEEDED
    assert steps.calls == 2
    assert measure_values(run) == measure_values(finished_run(access))
    assert run.figures["topics"] == 4


def test_a_run_that_ended_is_not_carried_out_until_it_is_reopened(access):
    run = open_run(access, TOPICS, LEXICAL, topic_set="golden")
    end_run(run, RunState.CANCELLED)
    with pytest.raises(Conflict):
        execute_run(run, reader=OPERATOR)
    reopen_run(run)
    run = execute_run(run, reader=OPERATOR)
    assert run.state == RunState.SUCCEEDED
    for change in (lambda: end_run(run, RunState.FAILED, "late"), lambda: reopen_run(run)):
        change()
        assert Run.objects.get().state == RunState.SUCCEEDED


def test_concurrently_ended_run_writes_nothing(access):
    run = open_run(access, TOPICS, LEXICAL, topic_set="golden")
    with pytest.raises(Conflict):
        execute_run(run, reader=OPERATOR, advance=lambda: end_run(run, RunState.CANCELLED))
    assert (Run.objects.get().state, Run.objects.get().figures) == (RunState.CANCELLED, {})
    delete_run(access, run.pk)
    run = open_run(access, TOPICS, LEXICAL, topic_set="golden")
    with pytest.raises(Conflict):
        execute_run(run, reader=OPERATOR, advance=lambda: delete_run(access, run.pk))
    assert not Run.objects.exists() and not RunTopic.objects.exists()


def test_run_is_asked_as_its_reader_and_says_why_it_failed(access):
    run = open_run(access, TOPICS, LEXICAL, topic_set="golden")
    away = Mock(side_effect=EmbedderUnavailable("the embedder is away"))
    with pytest.raises(EmbedderUnavailable):
        execute_run(run, reader=OPERATOR, ask=away)
    run.refresh_from_db()
    assert (run.state, run.error, run.is_finished) == (RunState.FAILED, "the embedder is away", True)
    assert run.finished_at is not None
    reader, ask = Reader(), Mock(side_effect=search)
    execute_run(open_run(access, TOPICS[:1], LEXICAL, topic_set="golden"), reader=reader, ask=ask)
    assert [call.kwargs["reader"] for call in ask.call_args_list] == [reader]


def test_invalid_run_is_refused_with_a_reason(access):
    with pytest.raises(InvalidJudgedSet, match="nightly"):
        open_run(access, [], LEXICAL, topic_set="nightly")
    with pytest.raises(InvalidMeasure):
        open_run(access, TOPICS, LEXICAL, topic_set="golden", measures=["nDCG10"])
    with pytest.raises(InvalidJudgedSet):
        open_run(access, TOPICS * 2, LEXICAL, topic_set="golden")
    assert not Run.objects.exists()


def test_run_is_exported_for_trec_eval(access):
    run = finished_run(access, name="my run")
    lines = format_trec_run(run).splitlines()
    assert lines[0].split() == ["apples", "Q0", "docs:apples.md", "1", "2", "my-run"]
    assert "a%20b Q0 pears.md 1" in format_trec_run(run)


def test_runs_are_compared_on_topics_they_share_with_equal_judgements(access):
    first = finished_run(access)
    narrowed = [
        TOPICS[0],
        topic("lines", "plum jam", "plums.md"),  # judged otherwise
        topic("none", "helicopters", is_unanswerable=True),  # asked otherwise
        topic("new", "pear", "pears.md"),
    ]
    found = compare_runs(first, finished_run(access, narrowed, RunSettings.of({"mode": "lexical", "k": 1})))
    assert found.unlike == ("lines", "none")
    assert (found.only_first, found.only_second) == (("a b",), ("new",))
    recall = found.measures["R@100"]
    assert (recall.topics, recall.first, recall.second, recall.losses) == (1, 1.0, 0.5, 1)


def test_only_runs_that_succeeded_are_compared(access):
    first, queued = finished_run(access), open_run(access, TOPICS, LEXICAL, topic_set="golden")
    for pair in ((first, queued), (queued, first)):
        with pytest.raises(InvalidComparison, match="queued"):
            compare_runs(*pair)


def test_a_deleted_run_is_gone_with_its_topics_and_in_the_audit_log(access):
    run = finished_run(access, name="old")
    delete_run(access, run.pk)
    assert not RunTopic.objects.exists()
    event = AuditEvent.objects.get(action="run.deleted")
    assert (event.subject, event.detail) == (str(run.pk), {"name": "old", "set": "golden"})
    for find in (get_run, delete_run):
        with pytest.raises(NotFound):
            find(access, run.pk)


@pytest.fixture
def vault(orchard):
    """Return a source that the group `legal` reads, with a document about apples."""
    write(orchard, "secret.md", "apple harvest of the director", source="vault")
    legal = Group.objects.create(workspace=orchard, name="legal")
    restrict(Source.objects.get(workspace=orchard, key="vault"), legal)
    sync(orchard)
    return legal


def test_run_is_visible_to_its_creator_and_to_readers_of_all_sources(orchard, access, vault):
    mine, other, insider = token_of(orchard), token_of(orchard), token_of(orchard, vault)
    run = finished_run(mine, [topic("q", "apple harvest", "apples.md")])
    theirs = finished_run(access)
    assert [each.pk for each in visible_runs(mine)] == [run.pk]
    assert not visible_runs(other).exists()
    assert {each.pk for each in visible_runs(insider)} == {run.pk, theirs.pk}
    for hidden in (theirs.pk, Source.objects.first().pk):
        with pytest.raises(NotFound):
            get_run(mine, hidden)
    with pytest.raises(NotFound):
        delete_run(other, run.pk)


def test_a_run_is_hidden_from_its_caller_once_they_may_not_read_what_it_names(orchard, vault):
    caller = token_of(orchard, vault)
    ranked = finished_run(caller, [topic("q", "director")])
    judged = open_run(
        caller, [topic("q", "pear", Qrel(path="secret.md", source="vault"))], LEXICAL, topic_set="golden"
    )
    vault_id = str(Source.objects.get(key="vault").pk)
    filtered = open_run(caller, [topic("q", "x", filters={"source": vault_id})], LEXICAL, topic_set="golden")
    plain = finished_run(caller, [topic("q", "pear", "pears.md")])
    assert visible_runs(caller).count() == 4
    barred = token_of(orchard)
    Run.objects.update(creator=barred.identity)
    assert {each.pk for each in visible_runs(barred)} == {plain.pk}
    for run in (ranked, judged, filtered):
        with pytest.raises(NotFound):
            get_run(barred, run.pk)


@pytest.fixture(autouse=True)
def _fresh_queries():
    yield
    clear_query_caches()
