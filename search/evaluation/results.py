"""Results of runs: rankings, values of measures, and summary figures."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from search.evaluation.judged import DocumentName, JudgedTopic
from search.evaluation.latency import Latencies
from search.evaluation.metrics import means


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
