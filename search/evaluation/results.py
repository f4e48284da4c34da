"""What came of asking topics: rankings, values of measures, and the figures that sum them up."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from search.evaluation.judged import DocumentName, JudgedTopic
from search.evaluation.latency import Latencies
from search.evaluation.metrics import means


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedDocument:
    """A document in a ranking, and its best hit."""

    document: DocumentName
    #: What the best hit's citation has behind its `#`.
    fragment: str
    #: The best hit's, in [0, 1].
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicResult:
    """What came of a topic."""

    topic: JudgedTopic
    #: Best first, each document once, where its best hit stands.
    ranking: tuple[RankedDocument, ...]
    #: By name; a measure that means nothing for the topic is not among them.
    measures: Mapping[str, float]
    #: What the search took.
    ms: float
    is_empty: bool
    #: Without a hit, or with a best score below the workspace's `score_gate`.
    is_refused: bool
    #: The legs that were stopped or took no part.
    degraded: tuple[str, ...]
    index_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What came of asking at least one topic in one mode under some settings."""

    #: Names, as ir-measures prints them, and Kebab's own.
    measures: tuple[str, ...]
    #: In the order asked.
    topics: Sequence[TopicResult]

    @property
    def means(self) -> dict[str, float | None]:
        """Return the mean of each measure over the topics that have it; None: none has."""
        return means((each.measures for each in self.topics), self.measures)

    @property
    def latencies(self) -> Latencies:
        """Return the percentiles of what the topics took."""
        return Latencies.of([each.ms / 1000 for each in self.topics])

    @property
    def degraded(self) -> dict[str, int]:
        """Return for how many topics each leg was stopped or took no part."""
        return dict(Counter(leg for each in self.topics for leg in each.degraded))

    @property
    def index_version(self) -> str:
        """Return what answered the last topic."""
        return self.topics[-1].index_version

    @property
    def figures(self) -> dict[str, Any]:
        """Return what a run is summed up by, JSON-ready."""
        latencies = self.latencies
        return {
            "topics": len(self.topics),
            "judged": sum(each.topic.is_judged for each in self.topics),
            "unanswerable": sum(each.topic.is_unanswerable for each in self.topics),
            "measures": self.means,
            "p50_ms": round(latencies.p50_ms, 3),
            "p95_ms": round(latencies.p95_ms, 3),
            "p99_ms": round(latencies.p99_ms, 3),
            "degraded": self.degraded,
            "index_version": self.index_version,
        }


def ranked_names(topic: JudgedTopic, ranking: Iterable[DocumentName]) -> list[str]:
    """Return the ranking as measures compare it with the topic's judgements: each name once.

    A document that is judged without a source goes by that judgement's name; of several the first counts.
    """
    names = (_judged_name(topic, document) for document in ranking)
    return list(dict.fromkeys(map(str, names)))


def _judged_name(topic: JudgedTopic, document: DocumentName) -> DocumentName:
    if document in topic.grades or document.source is None:
        return document
    anywhere = DocumentName(path=document.path, version=document.version)
    return anywhere if anywhere in topic.grades else document
