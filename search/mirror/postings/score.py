"""Okapi bm25 over arrays, number for number what FTS5's `bm25()` gives for an OR of the same units.

    score(chunk) = Σ idf · tf · (k1 + 1) / (tf + k1 · (1 − b + b · length / average length))
    idf = ln((N − n + 0.5) / (n + 0.5)), at least 1e-6;  tf = Σ weight of column · count in column

S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009; constants and
the floor as in https://sqlite.org/fts5.html#the_bm25_function and its source.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from search.mirror.errors import MirrorDamaged
from search.mirror.postings.entries import Postings
from search.mirror.postings.read import K1, ChunkTable, idf

# A list this long is not added up before it is known that it can change who is best.
_LONG = 1_000
# Looking a row up in a list takes the time of adding so many of its entries to an array of all rows.
_LOOKUP = 8
# By so much sums may differ that were added in another order, and as float32.
_ROUNDING = 1e-4


class Contribution(Protocol):
    """What one unit adds to the score of each chunk that has it."""

    #: No score is above it.
    highest: float

    def __len__(self) -> int:
        """Return how many chunks have it."""
        ...

    @property
    def rows(self) -> np.ndarray:
        """(n,) int64, ascending, of those that have it."""
        ...

    def everywhere(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (n,) rows, ascending, and (n,) float64 scores, none negative."""
        ...

    def at(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (m,) bool, which of the `(m,)` rows have it, and the scores of those that do in order."""
        ...


@dataclass(frozen=True, slots=True)
class Scored:
    """A contribution whose scores are known."""

    #: (n,) int64, ascending.
    rows: np.ndarray
    #: (n,) float64.
    scores: np.ndarray
    highest: float

    @staticmethod
    def of(rows: np.ndarray, scores: np.ndarray) -> "Scored":
        """Make one of its columns."""
        return Scored(rows, scores, float(scores.max(initial=0.0)))

    def __len__(self) -> int:
        return len(self.rows)

    def everywhere(self) -> tuple[np.ndarray, np.ndarray]:
        return self.rows, self.scores

    def at(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if not len(self.rows):
            return np.zeros(len(rows), bool), np.empty(0)
        places = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        has = self.rows[places] == rows
        return has, self.scores[places[has]]


@dataclass(frozen=True, slots=True)
class Word:
    """A word, which is scored where it is asked for: common ones are looked up at few of their rows."""

    postings: Postings
    chunks: ChunkTable
    #: Of breadcrumb and text.
    weights: tuple[float, float]
    idf: float

    def __len__(self) -> int:
        return len(self.postings)

    @property
    def rows(self) -> np.ndarray:
        return self.postings.rows

    @property
    def highest(self) -> float:
        """Return what it would add to a chunk that is nothing but this word over and over."""
        return self.idf * (K1 + 1.0)

    def everywhere(self) -> tuple[np.ndarray, np.ndarray]:
        rows = self.postings.rows
        return rows, self._scores(rows, self.postings)

    def at(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        has, found = self.postings.at(rows)
        return has, self._scores(rows[has], found)

    def _scores(self, rows: np.ndarray, postings: Postings) -> np.ndarray:
        in_breadcrumb, in_text = self.weights
        frequency = in_breadcrumb * postings.in_breadcrumb + in_text * postings.in_text
        return self.idf * ((frequency * (K1 + 1.0)) / (frequency + self.chunks.damping[rows]))


def sums_at(rows: np.ndarray, contributions: Sequence[Contribution], n_rows: int) -> np.ndarray:
    """Return (n,) float64, what `contributions`, of a table of `n_rows`, add up to at each of `rows`."""
    if sum(map(len, contributions)) < _LOOKUP * len(rows) * len(contributions):
        sums = np.zeros(n_rows)
        for each in contributions:
            having, scores = each.everywhere()
            sums[having] += scores
        return sums[rows]
    sums = np.zeros(len(rows))
    for each in contributions:
        has, scores = each.at(rows)
        sums[has] += scores
    return sums


def rows_of_all(contributions: Sequence[Contribution]) -> np.ndarray:
    """Return the rows, ascending, that every one of `contributions` adds to."""
    shortest, *others = sorted(contributions, key=len)
    rows, _ = shortest.everywhere()
    for other in others:
        has, _ = other.at(rows)
        rows = rows[has]
    return rows


def rows_of_best(contributions: Sequence[Contribution], passes: np.ndarray, limit: int) -> np.ndarray:
    """Return rows that pass, ascending, among them the `limit` best and what ties with the last of them.

    `passes` is (n,) bool by row. Once the lists that are left couldn't lift a row that none of the others has
    among the best, they are not added up: H. Turtle and J. Flood, "Query Evaluation: Strategies and
    Optimizations", Information Processing & Management 31 (1995). Those of common words are the longest.
    """
    lists = sorted(contributions, key=len)
    sums, is_found = np.zeros(len(passes), np.float32), np.zeros(len(passes), bool)
    for place, each in enumerate(lists):
        if place and len(each) >= _LONG:
            rows = np.flatnonzero(is_found & passes)
            left = math.fsum(other.highest for other in lists[place:]) * (1 + _ROUNDING)
            if len(rows) >= limit:
                known = sums[rows]
                least = float(np.partition(known, len(rows) - limit)[len(rows) - limit]) * (1 - _ROUNDING)
                if least > left:
                    return rows[known + left >= least]
        having, scores = each.everywhere()
        sums[having] += scores
        is_found[having] = True
    return np.flatnonzero(is_found & passes)


def of_word(
    chunks: ChunkTable, weights: tuple[float, float], alternatives: Sequence[Postings]
) -> Contribution:
    """Weigh one word, of which any of `alternatives` will do; `weights` are those of breadcrumb and text.

    Raises MirrorDamaged.
    """
    if not alternatives:
        return Scored.of(np.empty(0, np.int64), np.empty(0))
    postings = alternatives[0] if len(alternatives) == 1 else Postings.united(alternatives)
    if len(postings) > chunks.chunk_count or postings.last_row >= len(chunks.damping):
        raise MirrorDamaged("A posting list names chunks that there are not.")
    return Word(postings, chunks, weights, idf(chunks.chunk_count, len(postings)))


def of_phrase(matches: Sequence[tuple[int, float]]) -> Contribution:
    """Take over what FTS5 scored, lower being better; `matches` are (row, bm25), rows ascending."""
    rows = np.fromiter((row for row, _ in matches), np.int64, len(matches))
    return Scored.of(rows, -np.fromiter((score for _, score in matches), np.float64, len(matches)))
