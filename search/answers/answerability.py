"""Whether what was found is about the question: without it no answer is tried, and no model asked.

The first gate looks at the best fused score, which a fused list hardly ever falls below. The second looks at
how much of the question the best passages speak of: each of its content words weighs what it tells, by how
few chunks of the collection have it,

    coverage = sum of the weights of the words that a passage has / sum of the weights of all,
    weight   = ln(1 + (N - n + 0.5) / (n + 0.5)),

and a word that the whole collection lacks weighs most (the idf of S. Robertson and H. Zaragoza, "The
Probabilistic Relevance Framework: BM25 and Beyond", 2009, as Lucene has it: never below nothing). To it the
best cosine of question and passage is added where there are vectors of its language: a paraphrase shares few
words, and a question about something else shares its common ones.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from search.answers.types import AnswerReason
from search.retrieval.query.match import Analysis, Frequencies, Unit, match_of, parse_query

#: A passage among so many first ones may cover the question, and any where words alone tell.
LOOKED_AT: Final = 3
#: Of coverage and cosine together, and of coverage where there are no vectors: with less it isn't answered.
#: Of questions about English prose, half of which was left out, the first refuses nine in ten about that
#: half, and fewer than one in ten about the other (docs/evaluation/answers.md).
MIN_SUPPORT: Final = 0.97
MIN_COVERAGE: Final = 0.43
#: In a small collection every word that it has is common: it counts as one of so many chunks. That costs two
#: points at most on sets of 130 and 230 chunks.
MIN_CHUNKS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Weighed:
    """A content word of a question: the index terms at each of its positions, and what it tells."""

    positions: tuple[tuple[str, ...], ...]
    weight: float

    def is_in(self, terms: frozenset[str]) -> bool:
        """Return whether a text with these index terms has the word, in whatever order its parts stand."""
        return all(not terms.isdisjoint(alternatives) for alternatives in self.positions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the gates go by."""

    #: Of the first hit, in [0, 1].
    best_score: float
    #: In [0, 1]; None where nothing could be looked up.
    coverage: float | None
    #: Of question and passage, the best; None without vectors.
    best_cosine: float | None


def weigh(
    question: str, analysis: Analysis, frequencies: Frequencies, chunk_count: int
) -> tuple[Weighed, ...]:
    """Return the content words of a question, by how few of the chunks have each."""
    match = match_of(parse_query(question).terms, analysis, frequencies)
    units = () if match is None else match.some
    having = frequencies({term for unit in units for terms in unit.positions for term in terms})
    return tuple(Weighed(unit.positions, _weight(unit, having, chunk_count)) for unit in units)


def coverage(words: Sequence[Weighed], passages: Iterable[frozenset[str]]) -> float:
    """Return the best share of the words' weight that one of the passages, each its index terms, has.

    Of no words it is 0.
    """
    total = math.fsum(word.weight for word in words)
    if not total:
        return 0.0
    return max((covered(words, terms) / total for terms in passages), default=0.0)


def covered(words: Iterable[Weighed], terms: frozenset[str]) -> float:
    """Return the weight of the words that a text with these index terms has."""
    return math.fsum(word.weight for word in words if word.is_in(terms))


def refusal(evidence: Evidence, score_gate: float) -> AnswerReason | None:
    """Return why no answer is tried; None: one is."""
    if evidence.best_score < score_gate:
        return AnswerReason.SCORE_GATE
    return None if _is_supported(evidence) else AnswerReason.NOT_COVERED


def _is_supported(evidence: Evidence) -> bool:
    if evidence.coverage is None:
        return True
    if evidence.best_cosine is None:
        return evidence.coverage >= MIN_COVERAGE
    return evidence.coverage + max(0.0, evidence.best_cosine) >= MIN_SUPPORT


def _weight(unit: Unit, having: Mapping[str, int], chunk_count: int) -> float:
    # Alternatives are spellings of one word, and of several positions the rarest tells most.
    n = min((max(having.get(term, 0) for term in terms) for terms in unit.positions), default=0)
    return math.log(1 + (max(MIN_CHUNKS, chunk_count, n) - n + 0.5) / (n + 0.5))
