"""Stored runs over a workspace's topics, with everything that is needed to repeat them.

A run copies its topics and judgements when it is opened, so that it can be repeated after changes of the set.
It is visible to callers who may read every source, and to its creator while they may read every source that
it names.
"""

import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Coalesce, Now

from kebab.database.querysets import first_or_not_found
from kebab.errors import Conflict
from kebab.identity.caller import Access
from kebab.identity.reader import Reader
from kebab.people import audit
from kebab.people.workspace_settings.registry import check_rights
from search.access.restrictions import hidden_sources, visible_sources
from search.engine.search import search
from search.evaluation.comparison import Comparison, compare
from search.evaluation.formats.trec import write_run
from search.evaluation.judged import DocumentName, JudgedTopic, Qrel, TopicCollection, check_set_name
from search.evaluation.metrics import DEFAULT_MEASURES, check_measures
from search.evaluation.record import topics_record
from search.evaluation.results import RunResult, TopicResult, ranked_names
from search.evaluation.run_topics import SearchFunction, TopicRunner
from search.evaluation.settings import RunSettings
from search.models import Run, RunState, RunTopic
from search.models.evaluation import MAX_RUN_NAME_CHARS
from search.retrieval.errors import InvalidComparison, InvalidJudgedSet, SearchError
from search.retrieval.query.filter_codec import filters_from_json
from search.retrieval.text.sanitize import strip_unstorable

_BATCH = 500
_OPEN = (RunState.QUEUED, RunState.RUNNING)


def visible_runs(access: Access) -> "QuerySet[Run]":
    """Return the runs that the caller may see, newest first."""
    runs: QuerySet[Run] = Run.objects.in_workspace(access.workspace)
    if not hidden_sources(access.workspace, access.reader).exists():
        return runs
    readable = list(visible_sources(access.workspace, access.reader).values_list("key", flat=True))
    return runs.filter(creator=access.identity, sources__contained_by=readable)


def get_run(access: Access, run_pk: uuid.UUID) -> Run:
    """Return a run by its id. Raises NotFound."""
    return first_or_not_found(visible_runs(access).filter(pk=run_pk))


def open_run(
    access: Access,
    topics: Sequence[JudgedTopic],
    settings: RunSettings,
    *,
    topic_set: str,
    measures: Iterable[str] = DEFAULT_MEASURES,
    name: str = "",
    job_id: uuid.UUID | None = None,
) -> Run:
    """Create a queued run with its topics.

    Raises InvalidJudgedSet without topics, InvalidMeasure, Forbidden for settings that the caller may not
    change.
    """
    check_rights(access, settings.preferences)
    run_topics = TopicCollection(topics=tuple(topics)).topics
    if not run_topics:
        raise InvalidJudgedSet(f"The set {topic_set!r} contains no topic; import some, or judge a query.")
    with transaction.atomic():
        run = Run.objects.create(
            workspace=access.workspace,
            name=strip_unstorable(name)[:MAX_RUN_NAME_CHARS],
            topic_set=check_set_name(topic_set),
            job_id=job_id,
            settings=settings.as_json(),
            measures=list(check_measures(measures)),
            sources=_sources_of(access, run_topics),
            created_by=access.actor,
            creator=access.identity,
        )
        rows = [_new_row(run, ordinal, topic) for ordinal, topic in enumerate(run_topics)]
        RunTopic.objects.bulk_create(rows, batch_size=_BATCH)
    return run


def repeat_run(access: Access, run: Run, *, name: str = "", job_id: uuid.UUID | None = None) -> Run:
    """Create a queued run of the same topics with the same settings and measures."""
    return open_run(
        access,
        topics_in_run(run),
        RunSettings.of(run.settings),
        topic_set=run.topic_set,
        measures=run.measures,
        name=name or run.name,
        job_id=job_id,
    )


def reopen_run(run: Run, job_id: uuid.UUID | None = None) -> None:
    """Queue a run that hasn't succeeded again, to be continued by that job."""
    runs = Run.objects.in_workspace(run.workspace_id).filter(pk=run.pk).exclude(state=RunState.SUCCEEDED)
    runs.update(state=RunState.QUEUED, error="", finished_at=None, job_id=job_id)


def execute_run(
    run: Run, *, reader: Reader, advance: Callable[[], None] = lambda: None, ask: SearchFunction = search
) -> Run:
    """Run the remaining topics of an open run as `reader`, and return the updated run.

    Each topic's result is stored in one transaction with a call of `advance`. An exception from `advance`
    leaves the run open, to be continued later; a SearchError fails the run and is raised. Raises Conflict for
    a run that has ended, also if it ends concurrently.
    """
    runs = Run.objects.in_workspace(run.workspace_id).filter(pk=run.pk)
    started_at = Coalesce("started_at", Now())
    if not runs.filter(state__in=_OPEN).update(state=RunState.RUNNING, started_at=started_at):
        raise Conflict("The run has ended; repeat it instead.")
    run.refresh_from_db()
    settings = RunSettings.of(run.settings)
    try:
        runner = TopicRunner.begin(run.workspace, settings, reader=reader, measures=run.measures, ask=ask)
        for row in list(_rows(run).filter(ranking__isnull=True)):
            result = runner.run_topic(_topic_from_row(row))
            with transaction.atomic():
                _store_result(run, row, result)
                advance()
    except SearchError as error:
        end_run(run, RunState.FAILED, str(error))
        raise
    _conclude(run, runner)
    run.refresh_from_db()
    return run


def end_run(run: Run, state: RunState, error: str = "") -> None:
    """End an open run in `state`; a run that has ended stays as it is."""
    runs = Run.objects.in_workspace(run.workspace_id).filter(pk=run.pk, state__in=_OPEN)
    runs.update(state=state, error=strip_unstorable(error), finished_at=Now())


def delete_run(access: Access, run_pk: uuid.UUID) -> None:
    """Delete a run. Raises NotFound."""
    with transaction.atomic():
        run = get_run(access, run_pk)
        Run.objects.in_workspace(access.workspace).filter(pk=run.pk).delete()
        audit.record(access, "run.deleted", str(run_pk), name=run.name, set=run.topic_set)


def topics_in_run(run: Run) -> list[JudgedTopic]:
    """Return the run's topics, in its order."""
    return [_topic_from_row(row) for row in _rows(run)]


def measure_values(run: Run) -> dict[str, dict[str, float]]:
    """Return the values of measures by topic id and name, in the run's order."""
    return {row.topic_id: dict(row.measures) for row in _rows(run)}


def topic_texts(run: Run) -> dict[str, str]:
    """Return the run's query texts by topic id, in its order."""
    return dict(_rows(run).values_list("topic_id", "text"))


def format_trec_run(run: Run) -> str:
    """Return the run as a TREC run file, with the document names of `write_qrels`."""
    rankings = {
        row.topic_id: ranked_names(
            _topic_from_row(row), (_document_name(entry) for entry in row.ranking or ())
        )
        for row in _rows(run)
    }
    return write_run(rankings, tag=run.name or str(run.pk))


def compare_runs(first: Run, second: Run, measures: Iterable[str] | None = None) -> Comparison:
    """Compare two runs over the topics with the same queries and judgements in both.

    Raises InvalidComparison when there are none, or a run hasn't succeeded.
    """
    for run in (first, second):
        if run.state != RunState.SUCCEEDED:
            raise InvalidComparison(f"The run {run.pk} is {run.state}; compare runs that have succeeded.")
    one, other = ({row.topic_id: row for row in _rows(run)} for run in (first, second))
    unlike = {
        each
        for each in one.keys() & other.keys()
        if _comparable_values(one[each]) != _comparable_values(other[each])
    }
    values, others = (
        {each: row.measures for each, row in rows.items() if each not in unlike} for rows in (one, other)
    )
    return compare(values, others, measures, unlike=sorted(unlike))


def _rows(run: Run) -> "QuerySet[RunTopic]":
    rows: QuerySet[RunTopic] = RunTopic.objects.in_workspace(run.workspace_id).filter(run=run.pk)
    return rows.order_by("ordinal")


def _new_row(run: Run, ordinal: int, topic: JudgedTopic) -> RunTopic:
    return RunTopic(
        workspace_id=run.workspace_id,
        run_id=run.pk,
        ordinal=ordinal,
        topic_id=topic.topic_id,
        text=topic.text,
        filters=dict(topic.filters),
        is_unanswerable=topic.is_unanswerable,
        judgements=[
            [qrel.source, qrel.version, qrel.path, qrel.fragment, qrel.grade] for qrel in topic.qrels
        ],
    )


def _topic_from_row(row: RunTopic) -> JudgedTopic:
    return JudgedTopic(
        topic_id=row.topic_id,
        text=row.text,
        filters=row.filters,
        qrels=tuple(
            Qrel(source=source, version=version, path=path, fragment=fragment, grade=grade)
            for source, version, path, fragment, grade in row.judgements
        ),
        is_unanswerable=row.is_unanswerable,
    )


def _comparable_values(row: RunTopic) -> Any:
    return row.text, row.filters, row.is_unanswerable, sorted(row.judgements, key=repr)


def _document_name(entry: Sequence[Any]) -> DocumentName:
    source, version, path = entry[:3]
    return DocumentName(source=source, version=version, path=path)


def _sources_of(access: Access, topics: Iterable[JudgedTopic]) -> list[str]:
    """Return the keys of the sources that the topics' judgements and filters name."""
    names = dict(visible_sources(access.workspace, access.reader).values_list("pk", "key"))
    keys = {**{key: key for key in names.values()}, **{str(pk): key for pk, key in names.items()}}
    found: set[str] = set()
    for topic in topics:
        found |= {qrel.source or "" for qrel in topic.qrels}
        found |= {keys[name] for name in filters_from_json(topic.filters).source if name in keys}
    return sorted(found)


def _store_result(run: Run, row: RunTopic, result: TopicResult) -> None:
    """Store a topic's result. Raises Conflict when the run has ended concurrently."""
    keys = sorted({*run.sources, *(each.document.source or "" for each in result.ranking)})
    runs = Run.objects.in_workspace(run.workspace_id).filter(pk=run.pk, state=RunState.RUNNING)
    if not runs.update(sources=keys):
        raise Conflict("The run has ended meanwhile; repeat it.")
    run.sources = keys
    _rows(run).filter(pk=row.pk).update(
        ranking=[
            [each.document.source, each.document.version, each.document.path, each.fragment, each.score]
            for each in result.ranking
        ],
        measures=dict(result.measures),
        ms=result.ms,
        is_empty=result.is_empty,
        is_refused=result.is_refused,
        degraded=list(result.degraded),
        index_version=result.index_version,
    )


def _conclude(run: Run, runner: TopicRunner) -> None:
    """Store the run's summary figures and record. Raises Conflict when it has ended concurrently."""
    result = RunResult(measures=runner.measures, topics=[_result_from_row(row) for row in _rows(run)])
    record = {
        **topics_record(runner.workspace, [each.topic for each in result.topics]),
        "run": run.settings,
        "index_versions": sorted({each.index_version for each in result.topics}),
    }
    runs = Run.objects.in_workspace(run.workspace_id).filter(pk=run.pk, state=RunState.RUNNING)
    ended = {"state": RunState.SUCCEEDED, "finished_at": Now()}
    if not runs.update(figures=result.figures, record=record, **ended):
        raise Conflict("The run has ended meanwhile; repeat it.")


def _result_from_row(row: RunTopic) -> TopicResult:
    """Return a topic's result without its ranking, as the figures need it. Raises ValueError without one."""
    if row.ms is None or row.is_empty is None or row.is_refused is None:
        raise ValueError(f"Topic {row.topic_id!r} still lacks a result.")
    return TopicResult(
        topic=_topic_from_row(row),
        ranking=(),
        measures=row.measures,
        ms=row.ms,
        is_empty=row.is_empty,
        is_refused=row.is_refused,
        degraded=tuple(row.degraded),
        index_version=row.index_version,
    )
