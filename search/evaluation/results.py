"""Results of runs: rankings, values of measures, coverage, latencies and summary figures."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from search.evaluation.judged import DocumentName, JudgedTopic, Qrel
from search.evaluation.metrics import means
from search.retrieval.citation import Citation


@dataclass(frozen=True, slots=True, kw_only=True)
class Latencies:
    """Percentiles of durations, in milliseconds."""

    p50_ms: float
    p95_ms: float
    p99_ms: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> "Latencies":
        """Return the percentiles of at least one duration."""
        p50, p95, p99 = (percentile(seconds, each) * 1000 for each in (50, 95, 99))
        return cls(p50_ms=p50, p95_ms=p95, p99_ms=p99)


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value that at least `percent` of `values` don't exceed (nearest rank)."""
    ranked = sorted(values)
    return ranked[max(0, math.ceil(len(ranked) * percent / 100) - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedDocument:
    """A document in a ranking and its best hit."""

    document: DocumentName
    #: Part of the best hit's citation after its `#`.
    fragment: str
    #: Score of the best hit, in [0, 1].
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicResult:
    """The result of one topic."""

    topic: JudgedTopic
    #: Distinct documents, ranked by their best hits.
    ranking: tuple[RankedDocument, ...]
    #: Values by name, without measures that don't apply to the topic.
    measures: Mapping[str, float]
    #: Duration of the search.
    ms: float
    is_empty: bool
    #: Whether it has no hit, or a best score below the workspace's `score_gate`.
    is_refused: bool
    #: The legs that were stopped or skipped.
    degraded: tuple[str, ...]
    index_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The results of a run over at least one topic."""

    #: Names of measures in ir-measures' spelling, and Kebab's own.
    measures: tuple[str, ...]
    #: In the order of the run.
    topics: Sequence[TopicResult]

    @property
    def means(self) -> dict[str, float | None]:
        """Return the mean of each measure over the topics that have it; None when none has it."""
        return means((each.measures for each in self.topics), self.measures)

    @property
    def latencies(self) -> Latencies:
        """Return the percentiles of the topics' durations."""
        return Latencies.of([each.ms / 1000 for each in self.topics])

    @property
    def degradation_counts(self) -> dict[str, int]:
        """Return the number of topics by leg that was stopped or skipped."""
        return dict(Counter(leg for each in self.topics for leg in each.degraded))

    @property
    def index_version(self) -> str:
        """Return the index version that answered the last topic."""
        return self.topics[-1].index_version

    @property
    def figures(self) -> dict[str, Any]:
        """Return the run's summary figures, JSON-ready."""
        latencies = self.latencies
        return {
            "topics": len(self.topics),
            "judged": sum(each.topic.is_judged for each in self.topics),
            "unanswerable": sum(each.topic.is_unanswerable for each in self.topics),
            "measures": self.means,
            "p50_ms": round(latencies.p50_ms, 3),
            "p95_ms": round(latencies.p95_ms, 3),
            "p99_ms": round(latencies.p99_ms, 3),
            "degraded": self.degradation_counts,
            "index_version": self.index_version,
        }


def ranked_names(topic: JudgedTopic, ranking: Iterable[DocumentName]) -> list[str]:
    """Return the distinct document names of a ranking, as measures compare them with the topic's judgements.

    A document that is judged without a source has that judgement's name; of several only the first counts.
    """
    names = (_judged_name(topic, document) for document in ranking)
    return list(dict.fromkeys(map(str, names)))


def _judged_name(topic: JudgedTopic, document: DocumentName) -> DocumentName:
    if document in topic.grades or document.source is None:
        return document
    anywhere = DocumentName(path=document.path, version=document.version)
    return anywhere if anywhere in topic.grades else document


# Number of first hits that count.
_MAX_HITS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedHit:
    """The document and place that a hit cites."""

    document: DocumentName
    citation: Citation


def citation_coverage(qrels: Sequence[Qrel], cited: Sequence[CitedHit]) -> float | None:
    """Return the share of the relevant places that the first 10 of `cited` cite, in [0, 1].

    A place is covered by a citation of its document that overlaps it, a whole document by any citation of it.
    None when nothing is relevant.
    """
    relevant = [qrel for qrel in qrels if qrel.grade > 0]
    if not relevant:
        return None
    first = cited[:_MAX_HITS]
    return sum(any(_covers(each, qrel) for each in first) for qrel in relevant) / len(relevant)


def matches_document(judged: DocumentName, found: DocumentName) -> bool:
    """Return whether a judgement of `judged` applies to `found`, whose source is known."""
    same = (judged.path, judged.version) == (found.path, found.version)
    return same and judged.source in (None, found.source)


def overlaps(one: Citation, other: Citation) -> bool:
    """Return whether two places of one document share lines, a page, an area or a moment."""
    if "page" in (one.kind, other.kind):
        return one.page is not None and one.page == other.page
    if one.kind != other.kind:
        return False
    if one.kind == "line":
        return _ranges_overlap(one.start, one.end, other.start, other.end)
    if one.kind == "time":
        return _ranges_overlap(one.start_s, one.end_s, other.start_s, other.end_s)
    return one.page == other.page and _areas_overlap(one, other)


def _covers(cited: CitedHit, qrel: Qrel) -> bool:
    place = qrel.place
    return matches_document(qrel.document, cited.document) and (
        place is None or overlaps(place, cited.citation)
    )


def _ranges_overlap(
    start: float | None, end: float | None, other_start: float | None, other_end: float | None
) -> bool:
    if start is None or end is None or other_start is None or other_end is None:
        return False
    return start <= other_end and other_start <= end


def _areas_overlap(one: Citation, other: Citation) -> bool:
    (x, y, w, h), (x2, y2, w2, h2) = ((c.x or 0, c.y or 0, c.w or 0, c.h or 0) for c in (one, other))
    return x < x2 + w2 and x2 < x + w and y < y2 + h2 and y2 < y + h
