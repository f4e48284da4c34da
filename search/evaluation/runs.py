"""Runs over a workspace's topics: kept with all that it takes to repeat them.

A run takes its topics and judgements along when it is opened, so that it can be repeated whatever becomes of
the set. It is there for its caller and for those who read every source; for its caller only while they may
read every source that it names.
"""

import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Coalesce, Now

from kebab.http.api.errors import Conflict, NotFound
from kebab.people import audit
from kebab.people.access.caller import Access
from kebab.people.reader import Reader
from search.access.querysets import sources_of
from search.access.restrictions import hidden_from
from search.engine.search import search
from search.evaluation.comparison import Comparison, compare
from search.evaluation.filters import filters_of
from search.evaluation.formats.trec import write_run
from search.evaluation.judged import DocumentName, JudgedTopic, Qrel, TopicCollection, check_set_name
from search.evaluation.metrics import DEFAULT_MEASURES, check_measures
from search.evaluation.record import topics_record
from search.evaluation.results import RunResult, TopicResult, ranked_names
from search.evaluation.run_topics import Asker, Asking
from search.evaluation.settings import RunSettings
from search.models import Run, RunState, RunTopic
from search.models.evaluation import MAX_RUN_NAME_CHARS
from search.retrieval.errors import InvalidComparison, InvalidJudgedSet, SearchError
from search.retrieval.text.cleaning import storable

_BATCH = 500
_OPEN = (RunState.QUEUED, RunState.RUNNING)


def visible_runs(access: Access) -> "QuerySet[Run]":
    """Return the runs that there are for the caller, newest first."""
    runs: QuerySet[Run] = Run.objects.in_workspace(access.workspace)
    if not hidden_from(access.workspace, access.reader).exists():
        return runs
    readable = list(sources_of(access.workspace, access.reader).values_list("key", flat=True))
    return runs.filter(creator=access.identity, sources__contained_by=readable)


def run_of(access: Access, run_pk: uuid.UUID) -> Run:
    """Return a run by its id. Raises NotFound."""
    found = visible_runs(access).filter(pk=run_pk).first()
    if found is None:
        raise NotFound
    return found


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
    """Return a new queued run with its topics. Raises InvalidJudgedSet without one, InvalidMeasure."""
    asked = TopicCollection(topics=tuple(topics)).topics
    if not asked:
        raise InvalidJudgedSet(f"The set {topic_set!r} has no topic; import some, or judge a query.")
    with transaction.atomic():
        run = Run.objects.create(
            workspace=access.workspace,
            name=storable(name)[:MAX_RUN_NAME_CHARS],
            topic_set=check_set_name(topic_set),
            job_id=job_id,
            settings=settings.as_json(),
            measures=list(check_measures(measures)),
            sources=_sources_of(access, asked),
            created_by=access.actor,
            creator=access.identity,
        )
        rows = [_unasked(run, ordinal, topic) for ordinal, topic in enumerate(asked)]
        RunTopic.objects.bulk_create(rows, batch_size=_BATCH)
    return run


def repeat_run(access: Access, run: Run, *, name: str = "", job_id: uuid.UUID | None = None) -> Run:
    """Return a new queued run that asks the same topics under the same settings, by the same measures."""
    return open_run(
        access,
        topics_of(run),
        RunSettings.of(run.settings),
        topic_set=run.topic_set,
        measures=run.measures,
        name=name or run.name,
        job_id=job_id,
    )


def reopen_run(run: Run, job_id: uuid.UUID | None = None) -> None:
    """Have a run that hasn't succeeded be carried out again, from where it stands, by that job."""
    runs = Run.objects.in_workspace(run.workspace_id).filter(pk=run.pk).exclude(state=RunState.SUCCEEDED)
    runs.update(state=RunState.QUEUED, error="", finished_at=None, job_id=job_id)


def carry_out(
    run: Run, *, reader: Reader, advance: Callable[[], None] = lambda: None, ask: Asker = search
) -> Run:
    """Ask as `reader` the topics of an open run that it hasn't asked yet, and give the run as it is then.

    What came of a topic is kept in one transaction with `advance`, which is called after each. What that
    raises leaves the run open, to be carried on; a SearchError fails the run and is raised. Raises Conflict
    for a run that has ended, meanwhile too.
    """
    runs = Run.objects.in_workspace(run.workspace_id).filter(pk=run.pk)
    started_at = Coalesce("started_at", Now())
    if not runs.filter(state__in=_OPEN).update(state=RunState.RUNNING, started_at=started_at):
        raise Conflict("The run has ended; repeat it instead.")
    run.refresh_from_db()
    settings = RunSettings.of(run.settings)
    try:
        asking = Asking.begin(run.workspace, settings, reader=reader, measures=run.measures, ask=ask)
        for row in list(_rows(run).filter(ranking__isnull=True)):
            result = asking.result_of(_topic(row))
            with transaction.atomic():
                _keep(run, row, result)
                advance()
    except SearchError as error:
        end_run(run, RunState.FAILED, str(error))
        raise
    _conclude(run, asking)
    run.refresh_from_db()
    return run


def end_run(run: Run, state: RunState, error: str = "") -> None:
    """Have an open run end in `state`; one that has ended stays as it is."""
    runs = Run.objects.in_workspace(run.workspace_id).filter(pk=run.pk, state__in=_OPEN)
    runs.update(state=state, error=storable(error), finished_at=Now())


def delete_run(access: Access, run_pk: uuid.UUID) -> None:
    """Delete a run. Raises NotFound."""
    with transaction.atomic():
        run = run_of(access, run_pk)
        Run.objects.in_workspace(access.workspace).filter(pk=run.pk).delete()
        audit.record(access, "run.deleted", str(run_pk), name=run.name, set=run.topic_set)


def topics_of(run: Run) -> list[JudgedTopic]:
    """Return the topics that the run asks, in its order."""
    return [_topic(row) for row in _rows(run)]


def values_of(run: Run) -> dict[str, dict[str, float]]:
    """Return the value of each measure by topic id and name, in the run's order."""
    return {row.topic_id: dict(row.measures) for row in _rows(run)}


def topic_texts(run: Run) -> dict[str, str]:
    """Return what the run asks, by topic id, in its order."""
    return dict(_rows(run).values_list("topic_id", "text"))


def trec_run(run: Run) -> str:
    """Return the run as trec_eval reads it; documents are called as `write_qrels` calls them."""
    rankings = {
        row.topic_id: ranked_names(_topic(row), (_ranked(entry) for entry in row.ranking or ()))
        for row in _rows(run)
    }
    return write_run(rankings, tag=run.name or str(run.pk))


def compare_runs(first: Run, second: Run, measures: Iterable[str] | None = None) -> Comparison:
    """Compare two runs over the topics that both asked alike and judged alike.

    Raises InvalidComparison where there is none, or a run hasn't succeeded.
    """
    for run in (first, second):
        if run.state != RunState.SUCCEEDED:
            raise InvalidComparison(f"The run {run.pk} is {run.state}; compare runs that have succeeded.")
    one, other = ({row.topic_id: row for row in _rows(run)} for run in (first, second))
    unlike = {each for each in one.keys() & other.keys() if _asked(one[each]) != _asked(other[each])}
    values, others = (
        {each: row.measures for each, row in rows.items() if each not in unlike} for rows in (one, other)
    )
    return compare(values, others, measures, unlike=sorted(unlike))


def _rows(run: Run) -> "QuerySet[RunTopic]":
    rows: QuerySet[RunTopic] = RunTopic.objects.in_workspace(run.workspace_id).filter(run=run.pk)
    return rows.order_by("ordinal")


def _unasked(run: Run, ordinal: int, topic: JudgedTopic) -> RunTopic:
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


def _topic(row: RunTopic) -> JudgedTopic:
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


def _asked(row: RunTopic) -> Any:
    return row.text, row.filters, row.is_unanswerable, sorted(row.judgements, key=repr)


def _ranked(entry: Sequence[Any]) -> DocumentName:
    source, version, path = entry[:3]
    return DocumentName(source=source, version=version, path=path)


def _sources_of(access: Access, topics: Iterable[JudgedTopic]) -> list[str]:
    """Return the keys of the sources that the topics' judgements and filters name."""
    names = dict(sources_of(access.workspace, access.reader).values_list("pk", "key"))
    keys = {**{key: key for key in names.values()}, **{str(pk): key for pk, key in names.items()}}
    found: set[str] = set()
    for topic in topics:
        found |= {qrel.source or "" for qrel in topic.qrels}
        found |= {keys[name] for name in filters_of(topic.filters).source if name in keys}
    return sorted(found)


def _keep(run: Run, row: RunTopic, result: TopicResult) -> None:
    """Write what came of a topic. Raises Conflict when the run has ended meanwhile."""
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


def _conclude(run: Run, asking: Asking) -> None:
    """Sum the run up. Raises Conflict when it has ended meanwhile."""
    result = RunResult(measures=asking.measures, topics=[_result(row) for row in _rows(run)])
    record = {
        **topics_record(asking.workspace, [each.topic for each in result.topics]),
        "run": run.settings,
        "index_versions": sorted({each.index_version for each in result.topics}),
    }
    runs = Run.objects.in_workspace(run.workspace_id).filter(pk=run.pk, state=RunState.RUNNING)
    ended = {"state": RunState.SUCCEEDED, "finished_at": Now()}
    if not runs.update(figures=result.figures, record=record, **ended):
        raise Conflict("The run has ended meanwhile; repeat it.")


def _result(row: RunTopic) -> TopicResult:
    """Return what came of a topic, as its figures need it."""
    return TopicResult(
        topic=_topic(row),
        ranking=(),
        measures=row.measures,
        ms=row.ms,
        is_empty=row.is_empty,
        is_refused=row.is_refused,
        degraded=tuple(row.degraded),
        index_version=row.index_version,
    )
