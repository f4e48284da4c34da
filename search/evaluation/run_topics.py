"""Asking topics of a workspace, through the one search that everything uses, and measuring the answers."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from kebab.people.models import Workspace
from kebab.people.reader import OPERATOR, Reader
from kebab.people.workspace_settings.registry import preference
from search.embedders.configured import forget_queries
from search.engine.search import search
from search.evaluation.coverage import Cited, citation_coverage
from search.evaluation.judged import DocumentName, JudgedTopic
from search.evaluation.metrics import DEFAULT_MEASURES, OWN_MEASURES, check_measures, measure_each
from search.evaluation.results import RankedDocument, RunResult, TopicResult, ranked_names
from search.evaluation.settings import RunSettings
from search.models import Chunk
from search.retrieval.errors import InvalidJudgedSet
from search.retrieval.types import MAX_K, SearchHit, SearchQuery, SearchResult


class Asker(Protocol):
    """Answers a query as `search.engine.search.search` does."""

    def __call__(self, workspace: Workspace, query: SearchQuery, *, reader: Reader) -> SearchResult:
        """Return the answer from what `reader` may read. Raises SearchError."""
        ...


def named_by_place(hit: SearchHit) -> DocumentName:
    """Return the name of a hit's document: its source, version and path."""
    return DocumentName(path=hit.doc_path, source=hit.source, version=hit.version or "")


def evaluate(
    workspace: Workspace,
    topics: Sequence[JudgedTopic],
    settings: RunSettings,
    *,
    reader: Reader = OPERATOR,
    measures: Iterable[str] = DEFAULT_MEASURES,
    advance: Callable[[], None] = lambda: None,
    document_of: Callable[[SearchHit], DocumentName] = named_by_place,
    ask: Asker = search,
) -> RunResult:
    """Ask one topic after the other as `reader` and measure the answers; the workspace is not written to.

    `advance` is called after each topic, and what it raises ends the run. `document_of` says what judgements
    call a hit's document. Raises SearchError: InvalidMeasure, InvalidJudgedSet without a topic, and whatever
    searching raises.
    """
    if not topics:
        raise InvalidJudgedSet("There is no topic to ask; import or judge some first.")
    asking = Asking.begin(
        workspace, settings, reader=reader, measures=measures, document_of=document_of, ask=ask
    )
    results = []
    for topic in topics:
        results.append(asking.result_of(topic))
        advance()
    return RunResult(measures=asking.measures, topics=results)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A run under way: what each of its topics is asked with. Make it by `begin`."""

    #: With the run's settings; never to be saved.
    workspace: Workspace
    settings: RunSettings
    reader: Reader
    #: Names, as ir-measures prints them, and Kebab's own.
    measures: tuple[str, ...]
    document_of: Callable[[SearchHit], DocumentName]
    ask: Asker
    #: How many hits are asked for.
    hits: int

    @classmethod
    def begin(
        cls,
        workspace: Workspace,
        settings: RunSettings,
        *,
        reader: Reader,
        measures: Iterable[str],
        document_of: Callable[[SearchHit], DocumentName] = named_by_place,
        ask: Asker = search,
    ) -> "Asking":
        """Make ready to ask; see `evaluate`. Raises InvalidMeasure."""
        names = dict.fromkeys((*check_measures(measures), *OWN_MEASURES))
        # Else a run would find its queries embedded by the one before.
        forget_queries()
        return cls(
            workspace=settings.applied_to(workspace),
            settings=settings,
            reader=reader,
            measures=tuple(names),
            document_of=document_of,
            ask=ask,
            hits=_hits_wanted(workspace, settings.k),
        )

    def result_of(self, topic: JudgedTopic) -> TopicResult:
        """Ask `topic` and measure the answer. Raises SearchError."""
        query = self.settings.query(topic, self.hits)
        started = time.perf_counter()
        answer = self.ask(self.workspace, query, reader=self.reader)
        seconds = time.perf_counter() - started
        gate = float(preference(self.workspace, "score_gate"))
        is_refused = not answer.hits or answer.hits[0].score < gate
        ranking = self._ranking(answer)
        return TopicResult(
            topic=topic,
            ranking=ranking,
            measures={
                **self._measured(topic, ranking),
                **self._own_measures(topic, answer, is_refused=is_refused),
            },
            ms=round(seconds * 1000, 3),
            is_empty=not answer.hits,
            is_refused=is_refused,
            degraded=answer.degraded,
            index_version=answer.index_version,
        )

    def _ranking(self, answer: SearchResult) -> tuple[RankedDocument, ...]:
        best: dict[DocumentName, SearchHit] = {}
        for hit in answer.hits:
            best.setdefault(self.document_of(hit), hit)
        return tuple(
            RankedDocument(document=document, fragment=hit.citation.uri.partition("#")[2], score=hit.score)
            for document, hit in list(best.items())[: self.settings.k]
        )

    def _measured(self, topic: JudgedTopic, ranking: Sequence[RankedDocument]) -> dict[str, float]:
        if not topic.is_judged:
            return {}
        qrels = {str(document): grade for document, grade in topic.grades.items()}
        names = ranked_names(topic, (each.document for each in ranking))
        return measure_each(self.measures, {topic.topic_id: qrels}, {topic.topic_id: names})[topic.topic_id]

    def _own_measures(
        self, topic: JudgedTopic, answer: SearchResult, *, is_refused: bool
    ) -> dict[str, float]:
        if topic.is_unanswerable:
            return {"refused_right": float(is_refused)}
        found = {"empty_rate": float(not answer.hits), "refusal_rate": float(is_refused)}
        cited = [Cited(document=self.document_of(hit), citation=hit.citation) for hit in answer.hits]
        covered = citation_coverage(topic.qrels, cited)
        return found if covered is None else {**found, "citation_coverage": covered}


def _hits_wanted(workspace: Workspace, depth: int) -> int:
    chunks = Chunk.objects.in_workspace(workspace)
    return hits_for(depth, chunks=chunks.count(), documents=chunks.values("document").distinct().count())


def hits_for(depth: int, *, chunks: int, documents: int) -> int:
    """Return how many of so many chunks to ask for so that, on average, `depth` documents are among them."""
    return min(MAX_K, depth * math.ceil(chunks / max(1, documents)))
