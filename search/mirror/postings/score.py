"""Okapi bm25 over arrays, equal to FTS5's `bm25()` for an OR of the same units.

    score(chunk) = Σ idf · tf · (k1 + 1) / (tf + k1 · (1 − b + b · length / average length))
    idf = ln((N − n + 0.5) / (n + 0.5)), at least 1e-6;  tf = Σ weight of column · count in column

S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009; constants and
the floor as in https://sqlite.org/fts5.html#the_bm25_function and its source.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Protocol

import numpy as np

from search.mirror.files import MirrorDamaged
from search.mirror.postings.entries import K1, ChunkTable, Postings, idf

# Lists this long are added only if they can still change the best rows.
_LONG = 1_000
# The cost of looking a row up in a list, in entries added to an array of all rows.
_LOOKUP = 8
# Relative difference of sums in another order and in float32.
_ROUNDING = 1e-4


class Contribution(Protocol):
    """The contribution of one unit to the score of each chunk that has it."""

    @property
    def highest(self) -> float:
        """An upper bound of its scores."""
        ...

    def __len__(self) -> int:
        """Return the number of chunks that have it."""
        ...

    @property
    def rows(self) -> np.ndarray:
        """(n,) int64, ascending, rows of the chunks that have it."""
        ...

    def all_scores(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (n,) rows, ascending, and (n,) float64 scores, none negative."""
        ...

    def rough_scores(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the same with scores of half the precision, float32, for a choice with a margin."""
        ...

    def at(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (m,) bool, which of the `(m,)` rows have it, and the scores of those, in order."""
        ...

    def has(self, rows: np.ndarray) -> np.ndarray:
        """Return (m,) bool, which of the `(m,)` rows have it."""
        ...


@dataclass(frozen=True, slots=True)
class PrecomputedContribution:
    """A contribution with scores computed in advance."""

    #: (n,) int64, ascending.
    rows: np.ndarray
    #: (n,) float64.
    scores: np.ndarray
    highest: float

    @staticmethod
    def of(rows: np.ndarray, scores: np.ndarray) -> "PrecomputedContribution":
        """Create a contribution from its columns."""
        return PrecomputedContribution(rows, scores, float(scores.max(initial=0.0)))

    def __len__(self) -> int:
        return len(self.rows)

    def all_scores(self) -> tuple[np.ndarray, np.ndarray]:
        return self.rows, self.scores

    rough_scores = all_scores

    def at(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if not len(self.rows):
            return np.zeros(len(rows), bool), np.empty(0)
        places = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        has = self.rows[places] == rows
        return has, self.scores[places[has]]

    def has(self, rows: np.ndarray) -> np.ndarray:
        return self.at(rows)[0]


@dataclass(frozen=True, slots=True)
class WeightedContribution:
    """A contribution whose scores are multiplied by a weight."""

    contribution: Contribution
    weight: float

    def __len__(self) -> int:
        return len(self.contribution)

    @property
    def rows(self) -> np.ndarray:
        return self.contribution.rows

    @property
    def highest(self) -> float:
        return self.weight * self.contribution.highest

    def all_scores(self) -> tuple[np.ndarray, np.ndarray]:
        rows, scores = self.contribution.all_scores()
        return rows, self.weight * scores

    def rough_scores(self) -> tuple[np.ndarray, np.ndarray]:
        rows, scores = self.contribution.rough_scores()
        return rows, np.float32(self.weight) * scores

    def at(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        has, scores = self.contribution.at(rows)
        return has, self.weight * scores

    def has(self, rows: np.ndarray) -> np.ndarray:
        return self.contribution.has(rows)


@dataclass(frozen=True, slots=True)
class WordContribution:
    """The contribution of a word, scored on demand: common words are needed at few of their rows only."""

    postings: Postings
    chunks: ChunkTable
    #: Weights of breadcrumb and text.
    weights: tuple[float, float]
    idf: float
    # Kept once computed, as the lists of common words recur in queries and take longest.
    _rough: list[np.ndarray] = field(default_factory=list, init=False, compare=False)

    def __len__(self) -> int:
        return len(self.postings.packed)

    @property
    def rows(self) -> np.ndarray:
        return self.postings.rows

    @property
    def highest(self) -> float:
        """Return the highest score, or the limit for a chunk of this word alone until that is known."""
        if self._rough:
            return float(self._rough[0].max(initial=0.0)) * (1 + _ROUNDING)
        return self.idf * (K1 + 1.0)

    def all_scores(self) -> tuple[np.ndarray, np.ndarray]:
        rows = self.postings.rows
        return rows, self._scores(rows, self.postings)

    def rough_scores(self) -> tuple[np.ndarray, np.ndarray]:
        rows = self.postings.rows
        if not self._rough:
            self._rough.append(self._scores(rows, self.postings).astype(np.float32))
        return rows, self._rough[0]

    def at(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        has, found = self.postings.at(rows)
        return has, self._scores(rows[has], found)

    def has(self, rows: np.ndarray) -> np.ndarray:
        return self.postings.at(rows)[0]

    def _scores(self, rows: np.ndarray, postings: Postings) -> np.ndarray:
        in_breadcrumb, in_text = self.weights
        frequency = in_breadcrumb * postings.in_breadcrumb + in_text * postings.in_text
        scores: np.ndarray = self.idf * ((frequency * (K1 + 1.0)) / (frequency + self.chunks.damping[rows]))
        return scores


def sums_at(rows: np.ndarray, contributions: Sequence[Contribution], n_rows: int) -> np.ndarray:
    """Return (n,) float64, the sum of `contributions`, of a table of `n_rows`, at each of `rows`."""
    if sum(map(len, contributions)) < _LOOKUP * len(rows) * len(contributions):
        sums = np.zeros(n_rows)
        for each in contributions:
            having, scores = each.all_scores()
            sums[having] += scores
        found: np.ndarray = sums[rows]
        return found
    sums = np.zeros(len(rows))
    for each in contributions:
        has, scores = each.at(rows)
        sums[has] += scores
    return sums


def rows_of_all(contributions: Sequence[Contribution]) -> np.ndarray:
    """Return the rows, ascending, that all `contributions` have."""
    shortest, *others = sorted(contributions, key=len)
    rows = shortest.rows
    for other in others:
        rows = rows[other.has(rows)]
    return rows


def rows_of_best(contributions: Sequence[Contribution], passes: np.ndarray, limit: int) -> np.ndarray:
    """Return rows that pass, ascending, including the `limit` best and ties with the last of them.

    `passes` is (n,) bool by row. Lists are added from the shortest on; the remaining ones are skipped once
    they couldn't lift a row without any earlier list among the best: H. Turtle and J. Flood, "Query
    Evaluation: Strategies and Optimizations", Information Processing & Management 31 (1995). Common words
    have the longest.
    """
    lists = sorted(contributions, key=len)
    highest = [each.highest for each in lists]
    # What the lists from each place on can add to a row.
    rest = [*accumulate(reversed(highest))][::-1]
    sums, is_found = np.zeros(len(passes), np.float32), np.zeros(len(passes), bool)
    added = 0.0
    for each, most, after in zip(lists, highest, rest, strict=True):
        left = after * (1 + _ROUNDING)
        if added > left and len(each) >= _LONG:
            rows = np.flatnonzero(is_found & passes)
            if len(rows) >= limit:
                known = sums[rows]
                least = float(np.partition(known, len(rows) - limit)[len(rows) - limit]) * (1 - _ROUNDING)
                if least > left:
                    return rows[known + left >= least]
        having, scores = each.rough_scores()
        sums[having] += scores
        is_found[having] = True
        added += most
    return np.flatnonzero(is_found & passes)


def take_best(
    rows: np.ndarray, sums: np.ndarray, ids: np.ndarray, limit: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the best `limit` of `rows`, by their sums, then by their `ids`, and their sums."""
    if len(rows) > limit > 0:
        last = np.partition(sums, len(rows) - limit)[len(rows) - limit]
        kept = sums >= last  # includes all ties with the last one
        rows, sums = rows[kept], sums[kept]
    order = np.lexsort((ids[rows], -sums))[: max(0, limit)]
    return rows[order], sums[order]


def word_contribution(
    chunks: ChunkTable, weights: tuple[float, float], alternatives: Sequence[Postings]
) -> Contribution:
    """Return the contribution of a word with these alternatives; `weights` are those of breadcrumb and text.

    Raises MirrorDamaged.
    """
    if not alternatives:
        return PrecomputedContribution.of(np.empty(0, np.int64), np.empty(0))
    postings = alternatives[0] if len(alternatives) == 1 else Postings.union(alternatives)
    if len(postings) > chunks.chunk_count or postings.last_row >= len(chunks.damping):
        raise MirrorDamaged("A posting list names chunks that there are not.")
    return WordContribution(postings, chunks, weights, idf(chunks.chunk_count, len(postings)))


def phrase_contribution(matches: Sequence[tuple[int, float]]) -> Contribution:
    """Return the contribution of a phrase; `matches` are (row, bm25), rows ascending, lower is better."""
    rows, scores = np.array(matches, np.float64).reshape(-1, 2).T
    return PrecomputedContribution.of(rows.astype(np.int64), -scores)
