"""Running topics through the product's own search, and measuring the results."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from kebab.identity.models import Workspace
from kebab.identity.reader import OPERATOR, Reader
from search.embedders.configured import clear_query_caches
from search.engine.search import search
from search.evaluation.judged import DocumentName, JudgedTopic
from search.evaluation.metrics import DEFAULT_MEASURES, OWN_MEASURES, check_measures, measure_each
from search.evaluation.results import (
    CitedHit,
    RankedDocument,
    RunResult,
    TopicResult,
    citation_coverage,
    ranked_names,
)
from search.evaluation.settings import RunSettings
from search.models import Chunk
from search.retrieval.citation import split_uri
from search.retrieval.errors import InvalidJudgedSet
from search.retrieval.types import MAX_K, SearchHit, SearchResult
from search.settings.search_settings import SearchSettings

#: A function with the signature of `search.engine.search.search`.
SearchFunction = Callable[..., SearchResult]


def document_name(hit: SearchHit) -> DocumentName:
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
    document_of: Callable[[SearchHit], DocumentName] = document_name,
    ask: SearchFunction = search,
) -> RunResult:
    """Run the topics in order as `reader` and measure the results, without writing to the workspace.

    `advance` is called after each topic, and an exception from it ends the run. `document_of` returns the
    name by which judgements refer to a hit's document. Raises SearchError: InvalidMeasure, InvalidJudgedSet
    without topics, and the errors of the search.
    """
    if not topics:
        raise InvalidJudgedSet("There is no topic to ask; import or judge some first.")
    runner = TopicRunner.begin(
        workspace, settings, reader=reader, measures=measures, document_of=document_of, ask=ask
    )
    results = []
    for topic in topics:
        results.append(runner.run_topic(topic))
        advance()
    return RunResult(measures=runner.measures, topics=results)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRunner:
    """The parameters of a run in progress. Create it with `begin`."""

    #: A copy with the run's settings; never to be saved.
    workspace: Workspace
    settings: RunSettings
    reader: Reader
    #: Names of measures in ir-measures' spelling, and Kebab's own.
    measures: tuple[str, ...]
    document_of: Callable[[SearchHit], DocumentName]
    ask: SearchFunction
    #: Number of hits per search.
    hits: int

    @classmethod
    def begin(
        cls,
        workspace: Workspace,
        settings: RunSettings,
        *,
        reader: Reader,
        measures: Iterable[str],
        document_of: Callable[[SearchHit], DocumentName] = document_name,
        ask: SearchFunction = search,
    ) -> "TopicRunner":
        """Prepare a run; see `evaluate`. Raises InvalidMeasure."""
        names = dict.fromkeys((*check_measures(measures), *OWN_MEASURES))
        # Otherwise a run would reuse the query embeddings of the previous one.
        clear_query_caches()
        return cls(
            workspace=settings.apply_to(workspace),
            settings=settings,
            reader=reader,
            measures=tuple(names),
            document_of=document_of,
            ask=ask,
            hits=_hits_for_depth(workspace, settings.k),
        )

    def run_topic(self, topic: JudgedTopic) -> TopicResult:
        """Search for `topic` and measure the result. Raises SearchError."""
        query = self.settings.query(topic, self.hits)
        started = time.perf_counter()
        answer = self.ask(self.workspace, query, reader=self.reader)
        seconds = time.perf_counter() - started
        gate = SearchSettings.of(self.workspace).score_gate
        is_refused = not answer.hits or answer.hits[0].retrieval.fusion_score < gate
        ranking = self._ranking(answer)
        return TopicResult(
            topic=topic,
            ranking=ranking,
            measures={
                **self._measure(topic, ranking),
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
            RankedDocument(document=document, fragment=split_uri(hit.citation.uri)[1], score=hit.score)
            for document, hit in list(best.items())[: self.settings.k]
        )

    def _measure(self, topic: JudgedTopic, ranking: Sequence[RankedDocument]) -> dict[str, float]:
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
        cited = [CitedHit(document=self.document_of(hit), citation=hit.citation) for hit in answer.hits]
        coverage = citation_coverage(topic.qrels, cited)
        return found if coverage is None else {**found, "citation_coverage": coverage}


def _hits_for_depth(workspace: Workspace, depth: int) -> int:
    chunks = Chunk.objects.in_workspace(workspace)
    return hits_needed(depth, chunks=chunks.count(), documents=chunks.values("document").distinct().count())


def hits_needed(depth: int, *, chunks: int, documents: int) -> int:
    """Return the number of hits that contain, on average, `depth` distinct documents."""
    return min(MAX_K, depth * math.ceil(chunks / max(1, documents)))
